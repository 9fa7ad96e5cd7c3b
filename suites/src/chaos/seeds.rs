//! Which seeds are run.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use thiserror::Error;

/// Seeds from the first up to and without the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seeds(pub(crate) Range<u64>);

/// A text that names no seeds.
#[derive(Clone, Debug, Error)]
#[error("write the first and the one after the last, as 0..1000")]
pub(crate) struct NoSeeds;

impl FromStr for Seeds {
    type Err = NoSeeds;

    fn from_str(text: &str) -> Result<Self, NoSeeds> {
        let (first, end) = text.split_once("..").ok_or(NoSeeds)?;
        let number = |text: &str| text.trim().parse().map_err(|_| NoSeeds);
        let range = number(first)?..number(end)?;
        if range.is_empty() { Err(NoSeeds) } else { Ok(Self(range)) }
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.0.start, self.0.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_range_that_is_not_empty() {
        assert_eq!("3..20".parse::<Seeds>().unwrap().0, 3..20);
        for wrong in ["", "3", "..", "3..3", "4..3", "a..b", "0..-1"] {
            assert!(wrong.parse::<Seeds>().is_err(), "{wrong}");
        }
    }
}
