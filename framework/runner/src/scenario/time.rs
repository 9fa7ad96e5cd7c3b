//! Lengths of time as users write them: `45s`, `1.5s`, `2 x failureThreshold`, `bound`.
//!
//! Timings of the target stay symbolic until a run, which reads their values from the profile.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error as _};

use capsize_judge::profile::Timings;

/// A length of time: fixed, or a multiple of a timing of the target.
#[derive(Clone, Debug, PartialEq)]
pub enum Length {
    /// A fixed length, as `1.5s` or `5m`.
    Fixed(Duration),
    /// A multiple of a timing: `2 x failureThreshold`, or `failureThreshold` alone.
    Timing {
        /// The factor.
        times: f64,
        /// The timing, by its name in histories and profiles.
        name: String,
    },
}

impl Length {
    /// The length for a target with these timings, or `None` if the target has no such timing.
    #[must_use]
    pub fn resolve(&self, timings: &Timings) -> Option<Duration> {
        match self {
            Self::Fixed(duration) => Some(*duration),
            Self::Timing { times, name } => timings.get(name).map(|one| one.mul_f64(*times)),
        }
    }
}

/// Why a text is not a length of time.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum LengthError {
    /// A negative number.
    #[error("a length of time cannot be negative, but `{0}` is")]
    Negative(String),
    /// No unit, an unknown unit, or no number.
    #[error(
        "`{0}` is not a length of time: write a number with ms, s, m or h (`45s`, `1.5m`), or a multiple of a timing (`2 x failureThreshold`)"
    )]
    Unreadable(String),
    /// An unknown timing.
    #[error("there is no timing `{name}`; the timings are {}", Timings::NAMES.join(", "))]
    UnknownTiming {
        /// The name in the file.
        name: String,
    },
    /// More than a year.
    #[error("`{0}` is longer than a year")]
    TooLong(String),
}

/// Longer than any failover, and short enough that sums of such lengths cannot overflow.
const LONGEST_S: f64 = 366.0 * 86_400.0;

impl FromStr for Length {
    type Err = LengthError;

    fn from_str(text: &str) -> Result<Self, LengthError> {
        let text = text.trim();
        if text.starts_with('-') {
            return Err(LengthError::Negative(text.into()));
        }
        let unreadable = || LengthError::Unreadable(text.into());
        if text.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return timing(1.0, text);
        }
        let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(unreadable)?;
        let number: f64 = text[..unit_at].parse().map_err(|_| unreadable())?;
        let unit = text[unit_at..].trim_start();
        let seconds = match unit {
            "ms" => number / 1000.0,
            "s" => number,
            "m" => number * 60.0,
            "h" => number * 3600.0,
            _ => {
                let name = unit.strip_prefix("x ").ok_or_else(unreadable)?;
                return timing(number, name.trim());
            }
        };
        if seconds > LONGEST_S {
            return Err(LengthError::TooLong(text.into()));
        }
        // The value is rounded to microseconds, because 0.1 has no exact binary form.
        Ok(Self::Fixed(Duration::from_micros((seconds * 1e6).round() as u64)))
    }
}

fn timing(times: f64, name: &str) -> Result<Length, LengthError> {
    if !Timings::NAMES.contains(&name) {
        return Err(LengthError::UnknownTiming { name: name.into() });
    }
    if times > 1000.0 {
        return Err(LengthError::TooLong(format!("{times} x {name}")));
    }
    Ok(Length::Timing { times, name: name.into() })
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(duration) => write!(f, "{duration:?}"),
            Self::Timing { times, name } => write!(f, "{times} x {name}"),
        }
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// How long an expectation waits before the case fails.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Within {
    /// `bound`: as long as the target may take, by its timings.
    #[default]
    Bound,
    /// This length of time.
    Length(Length),
}

impl<'de> Deserialize<'de> for Within {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "bound" {
            return Ok(Self::Bound);
        }
        text.parse().map(Self::Length).map_err(D::Error::custom)
    }
}

/// How long the replicas of a workload take to become ready in a member.
#[derive(Clone, Debug, PartialEq)]
pub enum StartUpTime {
    /// `never`.
    Never,
    /// This length of time after their creation.
    After(Length),
}

impl<'de> Deserialize<'de> for StartUpTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "never" {
            return Ok(Self::Never);
        }
        text.parse().map(Self::After).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_lengths_are_parsed() {
        let fixed = [
            ("45s", 45_000),
            ("1.5s", 1500),
            ("5m", 300_000),
            ("0.5h", 1_800_000),
            ("200ms", 200),
            ("0s", 0),
            ("0.1s", 100),
        ];
        for (text, ms) in fixed {
            assert_eq!(text.parse(), Ok(Length::Fixed(Duration::from_millis(ms))), "{text}");
        }
        let timing = |times, name: &str| Ok(Length::Timing { times, name: name.into() });
        assert_eq!("2 x failureThreshold".parse(), timing(2.0, "failureThreshold"));
        assert_eq!("0.5 x monitorPeriod".parse(), timing(0.5, "monitorPeriod"));
        assert_eq!("gracefulEvictionTimeout".parse(), timing(1.0, "gracefulEvictionTimeout"));
    }

    #[test]
    fn an_invalid_length_is_refused_with_the_reason() {
        let cases = [
            ("-5s", "cannot be negative"),
            ("-2 x failureThreshold", "cannot be negative"),
            ("5", "write a number with ms, s, m or h"),
            ("5 parsecs", "write a number with"),
            ("", "write a number with"),
            ("1.2.3s", "write a number with"),
            (".s", "write a number with"),
            ("5d", "write a number with"),
            ("2xfailureThreshold", "write a number with"),
            ("2 x patience", "there is no timing `patience`"),
            ("soon", "there is no timing `soon`"),
            ("999999h", "longer than a year"),
            ("1e9 x failureThreshold", "write a number with"),
            ("5000 x failureThreshold", "longer than a year"),
        ];
        for (text, why) in cases {
            let error = text.parse::<Length>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
