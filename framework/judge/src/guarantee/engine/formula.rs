//! Expressions over the timings: evaluated by guarantees, and printed by `explain` and `budget`.

use std::fmt;
use std::time::Duration;

use crate::profile::Timings;
use capsize_history::FOREVER;

/// The number of workers that process evictions at the same time.
pub(crate) const EVICTION_WORKERS: u32 = 3;

/// A length of time, as an expression over the timings of a target.
#[derive(Clone, Copy, Debug)]
pub enum Formula {
    /// A number of seconds.
    Seconds(u64),
    /// The timing with this name.
    Timing(&'static str),
    /// The sum of all parts.
    Sum(&'static [Formula]),
    /// The first minus the second, or zero if the second is longer.
    Minus(&'static Formula, &'static Formula),
    /// A multiple.
    Times(u32, &'static Formula),
    /// `each`, multiplied by the number of `period`s that fill `time`, rounded up.
    Filling {
        /// The time to fill.
        time: &'static Formula,
        /// The period that fills it.
        period: &'static Formula,
        /// The length that is multiplied.
        each: &'static Formula,
    },
    /// The period at which eviction tasks are polled; zero if events trigger the check.
    Poll,
    /// The time that a queue of evictions adds.
    /// Each workload is processed this many times: when the taint appears, and once more at its deadline if it has one.
    Queue(u32),
}

/// The input of a formula.
#[derive(Clone, Copy, Debug)]
pub struct FormulaInput<'a> {
    /// The timings of the target.
    pub timings: &'a Timings,
    /// The number of workloads in the queue of evictions.
    pub workloads: usize,
}

impl Formula {
    /// Evaluates the formula, up to [`FOREVER`].
    /// Returns `None` if there is no limit because the target lacks a timing.
    #[must_use]
    pub fn value(&self, input: FormulaInput<'_>) -> Option<Duration> {
        let timings = input.timings;
        let value = match self {
            Self::Seconds(seconds) => Duration::from_secs(*seconds),
            Self::Timing(name) => timings.get(name)?,
            Self::Sum(all) => {
                let mut values = all.iter().map(|each| each.value(input));
                values.try_fold(Duration::ZERO, |sum, each| Some(sum.saturating_add(each?)))?
            }
            Self::Minus(from, what) => from.value(input)?.saturating_sub(what.value(input)?),
            Self::Times(count, each) => each.value(input)?.saturating_mul(*count),
            Self::Filling { time, period, each } => {
                let (time, period) = (time.value(input)?, period.value(input)?);
                let periods = time.as_nanos().div_ceil(period.as_nanos().max(1));
                each.value(input)?.saturating_mul(u32::try_from(periods).unwrap_or(u32::MAX))
            }
            Self::Poll => match timings.eviction_polls {
                0 => Duration::ZERO,
                polls => timings.graceful_eviction_timeout / polls,
            },
            Self::Queue(looks) => {
                let rounds = u32::try_from(input.workloads).unwrap_or(u32::MAX).div_ceil(EVICTION_WORKERS);
                match timings.eviction_pace {
                    Some(pace) => pace.saturating_mul(rounds.saturating_mul(*looks)),
                    None => timings.latency.saturating_mul(rounds.saturating_sub(1)),
                }
            }
        };
        Some(value.min(FOREVER))
    }

    /// Evaluates the formula for these timings, with an empty queue.
    #[must_use]
    pub fn of(&self, timings: &Timings) -> Option<Duration> {
        self.value(FormulaInput { timings, workloads: 0 })
    }

    /// The names of the timings that the formula contains by name.
    /// The timings that `Poll` and `Queue` use are left out: `evictionPolls`, `gracefulEvictionTimeout`, `evictionPace`
    /// and `latency`.
    pub fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Timing(name) => vec![name],
            Self::Sum(all) => all.iter().flat_map(Self::names).collect(),
            Self::Minus(one, other) => [one.names(), other.names()].concat(),
            Self::Times(_, each) => each.names(),
            Self::Filling { time, period, each } => [time.names(), period.names(), each.names()].concat(),
            Self::Seconds(_) | Self::Poll | Self::Queue(_) => Vec::new(),
        }
    }

    /// The text of the formula as a part of another, with parentheses if necessary.
    fn part(&self) -> String {
        match self {
            Self::Sum(_) | Self::Minus(..) => format!("({self})"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seconds(seconds) => write!(f, "{seconds} s"),
            Self::Timing(name) => f.write_str(name),
            Self::Sum(all) => f.write_str(&all.iter().map(Self::part).collect::<Vec<_>>().join(" + ")),
            Self::Minus(from, what) => write!(f, "{} - {}", from.part(), what.part()),
            Self::Times(count, each) => write!(f, "{count} x {}", each.part()),
            Self::Filling { time, period, each } => {
                write!(f, "ceil({} / {}) x {}", time.part(), period.part(), each.part())
            }
            Self::Poll => f.write_str("gracefulEvictionTimeout / evictionPolls"),
            Self::Queue(looks) => write!(f, "{looks} x evictionPace (or latency) for every three workloads"),
        }
    }
}
