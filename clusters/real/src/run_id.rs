//! The identity of a run, a random mark on all its resources; cleanup removes nothing without it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};

/// The length of an identity, in hexadecimal digits.
const DIGITS: usize = 32;

/// The identity of a run: 128 random bits, so that no two runs share one, on any machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// A text that is not an identity.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no identity of a run, which has {DIGITS} hexadecimal digits")]
pub struct NoRunId(String);

impl RunId {
    /// Draws a new one. It does not depend on the seed, because runs with the same seed are different runs.
    pub(crate) fn random() -> io::Result<Self> {
        let mut bytes = [0; DIGITS / 2];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Its digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunId {
    type Error = NoRunId;

    fn try_from(text: String) -> Result<Self, NoRunId> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == DIGITS && text.bytes().all(is_digit) {
            true => Ok(Self(text)),
            false => Err(NoRunId(text)),
        }
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_random_and_is_read_as_it_is_written() {
        let (one, other) = (RunId::random().unwrap(), RunId::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(RunId::try_from(one.to_string()).unwrap(), one);
    }

    #[test]
    fn a_text_of_another_form_is_no_identity() {
        for text in ["", "a", "*", &"g".repeat(DIGITS), &"A".repeat(DIGITS), &"0".repeat(DIGITS + 1)] {
            assert!(RunId::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
