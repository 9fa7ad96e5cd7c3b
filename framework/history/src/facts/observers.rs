//! How exactly times are known: the marks of the recorder about its watches, and jumps of its clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexSet;

use crate::format::digest::ByDigest;
use crate::format::{Entry, FOREVER, Kind, Observer};

/// How far entries may be out of order. A clock that goes back farther was set.
const DISORDER: Duration = Duration::from_millis(100);

/// The uncertainty of an observed time.
/// The event may have happened earlier or later than the recorded time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uncertainty {
    /// How much earlier the event may have happened.
    pub early: Duration,
    /// How much later the event may have happened.
    pub late: Duration,
}

impl Uncertainty {
    /// The time of the event is not known at all.
    pub const UNKNOWN: Self = Self { early: FOREVER, late: FOREVER };

    /// The narrowest interval that contains both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { early: self.early.max(other.early), late: self.late.max(other.late) }
    }

    /// An interval that is wider by `off` in both directions.
    #[must_use]
    pub fn wider(self, off: Duration) -> Self {
        Self { early: self.early.saturating_add(off), late: self.late.saturating_add(off) }
    }

    /// The uncertainty of the time between the two events.
    #[must_use]
    pub fn and(self, since: Self) -> Self {
        Self { early: self.early.saturating_add(since.late), late: self.late.saturating_add(since.early) }
    }
}

/// The time in which a recorder receives a new list after it received nothing for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The beginning of the list.
    pub begin: Duration,
    /// The end of the list; [`FOREVER`] until the recorder marks it.
    pub end: Duration,
    /// How much earlier the changes in the list may have happened.
    pub silence: Duration,
}

/// The observers of the clusters, as the recorder marks them.
#[derive(Clone, Debug, Default)]
pub struct Observers {
    /// The uncertainty of each cluster that is not observed exactly.
    uncertainties: BTreeMap<String, Uncertainty>,
    /// The largest of these uncertainties, cached because it is read often.
    widest: Uncertainty,
    observed: IndexSet<Arc<str>, ByDigest>,
    last: Duration,
    /// The gaps of each cluster in the order of time.
    gaps: BTreeMap<String, Vec<Gap>>,
    /// Whether the recorder's clock was set back: times before and after that cannot be compared.
    set_back: bool,
}

impl Observers {
    /// When `entry` happened, and how exactly that is known.
    /// Time does not go back: an entry that is out of order gets the time of the entry before it.
    pub fn place(&mut self, entry: &Entry) -> (Duration, Uncertainty) {
        let behind = self.last.saturating_sub(entry.at);
        self.set_back |= behind > DISORDER;
        self.last = self.last.max(entry.at);
        let mut uncertainty = match &entry.kind {
            Kind::Event { on, .. } => {
                if !self.observed.contains(on) {
                    self.observed.insert(Arc::clone(on));
                }
                self.of(on)
            }
            Kind::Mark(mark) => {
                self.set_observer(Observer::of(mark).ok().flatten());
                self.of("")
            }
        };
        uncertainty.early = uncertainty.early.saturating_add(behind);
        (self.last, uncertainty)
    }

    fn set_observer(&mut self, observer: Option<Observer>) {
        let Some(Observer { on, latency, clock_offset }) = observer else { return };
        self.observed.insert(on.as_str().into());
        let uncertainty = Uncertainty { early: latency.saturating_add(clock_offset), late: clock_offset };
        let gaps = self.gaps.entry(on.clone()).or_default();
        if let Some(gap) = gaps.last_mut().filter(|gap| gap.end == FOREVER) {
            gap.end = self.last;
        }
        // The recorder marks that it receives nothing, and then how old the changes in the new list may be. The first list
        // follows no earlier observation, and shows the changes of an unknown time.
        let silence = uncertainty.early;
        let was_silent = self.uncertainties.get(&on).is_some_and(|before| before.early > silence);
        if was_silent && !silence.is_zero() && silence <= self.last {
            gaps.push(Gap { begin: self.last, end: FOREVER, silence });
        }
        if uncertainty == Uncertainty::default() {
            self.uncertainties.remove(&on);
        } else {
            self.uncertainties.insert(on, uncertainty);
        }
        self.widest = self
            .uncertainties
            .values()
            .fold(Uncertainty::default(), |widest, uncertainty| widest.or(*uncertainty));
    }

    /// Returns true if the cluster `on` is observed.
    /// An event of the cluster was recorded then, or the recorder marks the cluster as observed. The absence of an
    /// object in an unobserved cluster proves nothing.
    #[must_use]
    pub fn observes(&self, on: &str) -> bool {
        self.observed.contains(on)
    }

    /// The uncertainty of observations in the cluster `on`.
    #[must_use]
    pub fn of(&self, on: &str) -> Uncertainty {
        if self.set_back {
            Uncertainty::UNKNOWN
        } else {
            self.uncertainties.get(on).copied().unwrap_or_default()
        }
    }

    /// The gaps in the observation of the cluster `on`.
    pub fn gaps(&self, on: &str) -> impl Iterator<Item = &Gap> {
        self.gaps.get(on).into_iter().flatten()
    }

    /// Returns true if a list after a silence of the cluster `on` was observed at `at`.
    /// One version in such a list may show several changes.
    #[must_use]
    pub fn is_in_gap(&self, on: &str, at: Duration) -> bool {
        self.gaps(on).any(|gap| gap.begin <= at && at <= gap.end)
    }

    /// The largest uncertainty of all clusters.
    #[must_use]
    pub fn widest(&self) -> Uncertainty {
        self.of("").or(self.widest)
    }
}
