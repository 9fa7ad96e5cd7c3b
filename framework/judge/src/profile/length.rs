//! Reads and writes lengths of time in profiles, such as `30s` or `5m`.
//!
//! A length is a century at most, so that sums of lengths do not overflow.

use std::time::Duration;

use serde::de::Error;

use capsize_history::LONGEST;

/// Returns the length, unless it exceeds a century.
///
/// # Errors
/// A custom error if the length exceeds a century.
fn checked<E: Error>(length: Duration) -> Result<Duration, E> {
    if length <= LONGEST { Ok(length) } else { Err(E::custom("this is longer than a century")) }
}

/// Reads and writes a timing that every profile has.
pub(super) mod required {
    use std::time::Duration;

    use jiff::fmt::serde::unsigned_duration::friendly::compact::required as text;
    use serde::{Deserializer, Serializer};

    use super::checked;

    /// Writes the length as text.
    ///
    /// # Errors
    /// The error of the serializer.
    pub(in super::super) fn serialize<S: Serializer>(length: &Duration, to: S) -> Result<S::Ok, S::Error> {
        text::serialize(length, to)
    }

    /// Reads the length from text.
    ///
    /// # Errors
    /// The error of the deserializer, or an error if the length exceeds a century.
    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        checked(text::deserialize(from)?)
    }
}

/// Reads and writes a timing that a profile may omit.
pub(super) mod optional {
    use std::time::Duration;

    use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as text;
    use serde::{Deserializer, Serializer};

    use super::checked;

    /// Writes the length as text, if there is one.
    ///
    /// # Errors
    /// The error of the serializer.
    #[expect(clippy::ref_option, reason = "serde asks for it")]
    pub(in super::super) fn serialize<S: Serializer>(
        length: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        text::serialize(length, to)
    }

    /// Reads the length from text, if there is one.
    ///
    /// # Errors
    /// The error of the deserializer, or an error if the length exceeds a century.
    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        text::deserialize(from)?.map(checked).transpose()
    }
}
