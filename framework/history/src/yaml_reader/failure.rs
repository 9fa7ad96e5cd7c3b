//! The error of a type that is read, which the parser turns into its own.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

/// Why a type could not be read.
///
/// An error of the parser has a place in the text, which this type does not know. So the parser keeps its error, the type returns
/// [`Failure::OfParser`], and the parser goes on with the error that it has kept.
#[derive(Debug)]
pub(super) enum Failure {
    /// The parser has kept the error.
    OfParser,
    Custom(String),
    InvalidType {
        unexpected: String,
        expected: String,
    },
    InvalidValue {
        unexpected: String,
        expected: String,
    },
    InvalidLength {
        length: usize,
        expected: String,
    },
    UnknownVariant {
        variant: String,
        expected: &'static [&'static str],
    },
    UnknownField {
        field: String,
        expected: &'static [&'static str],
    },
    MissingField(&'static str),
    DuplicateField(&'static str),
}

impl Failure {
    /// Keeps the error of a call of the parser in `kept`.
    pub(super) fn keep<T, E>(result: Result<T, E>, kept: &mut Option<E>) -> Result<T, Self> {
        result.map_err(|error| {
            *kept = Some(error);
            Self::OfParser
        })
    }

    /// Returns the error with which the parser goes on. The parser adds the place.
    pub(super) fn into_error<E: Error>(self, kept: Option<E>) -> E {
        match self {
            Self::OfParser => kept.unwrap_or_else(|| E::custom("the parser failed")),
            Self::Custom(message) => E::custom(message),
            Self::InvalidType { unexpected, expected } => {
                E::invalid_type(Unexpected::Other(&unexpected), &expected.as_str())
            }
            Self::InvalidValue { unexpected, expected } => {
                E::invalid_value(Unexpected::Other(&unexpected), &expected.as_str())
            }
            Self::InvalidLength { length, expected } => E::invalid_length(length, &expected.as_str()),
            Self::UnknownVariant { variant, expected } => E::unknown_variant(&variant, expected),
            Self::UnknownField { field, expected } => E::unknown_field(&field, expected),
            Self::MissingField(field) => E::missing_field(field),
            Self::DuplicateField(field) => E::duplicate_field(field),
        }
    }
}

impl Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Custom(message.to_string())
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::InvalidType { unexpected: unexpected.to_string(), expected: expected.to_string() }
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::InvalidValue { unexpected: unexpected.to_string(), expected: expected.to_string() }
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::InvalidLength { length, expected: expected.to_string() }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::UnknownVariant { variant: variant.to_owned(), expected }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::UnknownField { field: field.to_owned(), expected }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::MissingField(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::DuplicateField(field)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Failure {}
