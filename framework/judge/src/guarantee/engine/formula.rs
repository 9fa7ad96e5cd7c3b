//! Bounds as expressions over the timings: evaluated where something is judged, printed where it is explained.

use std::fmt;
use std::time::Duration;

use crate::profile::Timings;
use capsize_history::FOREVER;

/// Evictions that are worked on at the same time.
pub(crate) const EVICTION_WORKERS: u32 = 3;

/// A length of time, as an expression over the timings of a target.
#[derive(Clone, Copy, Debug)]
pub enum Formula {
    /// So many seconds.
    Seconds(u64),
    /// The timing of this name.
    Timing(&'static str),
    /// All of them together.
    Sum(&'static [Formula]),
    /// The first without the second, and nothing where that is longer.
    Less(&'static Formula, &'static Formula),
    /// So many times the same.
    Times(u32, &'static Formula),
    /// So many times `each` as whole `period`s fill `time`.
    Filling {
        /// What is filled.
        time: &'static Formula,
        /// By what.
        period: &'static Formula,
        /// What is taken that many times.
        each: &'static Formula,
    },
    /// From one look at eviction tasks to the next, where they are looked at without an event.
    Poll,
    /// What a queue of evictions adds, in which each workload is looked at so many times: when the taint appears, and once
    /// more at its deadline if it has one.
    Queue(u32),
}

/// What a formula is evaluated for.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The timings of the target.
    pub timings: &'a Timings,
    /// Workloads in the queue of evictions.
    pub workloads: usize,
}

impl Formula {
    /// Its value, [`FOREVER`] at most; `None` where there is no limit, because the target has no such timing.
    #[must_use]
    pub fn value(&self, given: Given<'_>) -> Option<Duration> {
        let timings = given.timings;
        let value = match self {
            Self::Seconds(seconds) => Duration::from_secs(*seconds),
            Self::Timing(name) => timings.get(name)?,
            Self::Sum(all) => {
                let mut values = all.iter().map(|each| each.value(given));
                values.try_fold(Duration::ZERO, |sum, each| Some(sum.saturating_add(each?)))?
            }
            Self::Less(from, what) => from.value(given)?.saturating_sub(what.value(given)?),
            Self::Times(count, each) => each.value(given)?.saturating_mul(*count),
            Self::Filling { time, period, each } => {
                let (time, period) = (time.value(given)?, period.value(given)?);
                let periods = time.as_nanos().div_ceil(period.as_nanos().max(1));
                each.value(given)?.saturating_mul(u32::try_from(periods).unwrap_or(u32::MAX))
            }
            Self::Poll => match timings.eviction_polls {
                0 => Duration::ZERO,
                polls => timings.graceful_eviction_timeout / polls,
            },
            Self::Queue(looks) => {
                let rounds = u32::try_from(given.workloads).unwrap_or(u32::MAX).div_ceil(EVICTION_WORKERS);
                match timings.eviction_pace {
                    Some(pace) => pace.saturating_mul(rounds.saturating_mul(*looks)),
                    None => timings.latency.saturating_mul(rounds.saturating_sub(1)),
                }
            }
        };
        Some(value.min(FOREVER))
    }

    /// Its value for these timings, with no queue.
    #[must_use]
    pub fn of(&self, timings: &Timings) -> Option<Duration> {
        self.value(Given { timings, workloads: 0 })
    }

    /// The timings that it names.
    pub fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Timing(name) => vec![name],
            Self::Sum(all) => all.iter().flat_map(Self::names).collect(),
            Self::Less(one, other) => [one.names(), other.names()].concat(),
            Self::Times(_, each) => each.names(),
            Self::Filling { time, period, each } => [time.names(), period.names(), each.names()].concat(),
            Self::Seconds(_) | Self::Poll | Self::Queue(_) => Vec::new(),
        }
    }

    /// Put into parentheses where it stands beside something.
    fn part(&self) -> String {
        match self {
            Self::Sum(_) | Self::Less(..) => format!("({self})"),
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
            Self::Less(from, what) => write!(f, "{} - {}", from.part(), what.part()),
            Self::Times(count, each) => write!(f, "{count} x {}", each.part()),
            Self::Filling { time, period, each } => {
                write!(f, "ceil({} / {}) x {}", time.part(), period.part(), each.part())
            }
            Self::Poll => f.write_str("gracefulEvictionTimeout / evictionPolls"),
            Self::Queue(looks) => write!(f, "{looks} x evictionPace (or latency) for every three workloads"),
        }
    }
}
