//! Summarizes many outages, of one run or of many, by percentiles.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::{Outage, WorkloadNumbers};

/// The milestones after a member fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Milestone {
    /// The control plane no longer considers the member ready.
    Detected,
    /// The member has a taint that evicts.
    Tainted,
    /// The eviction of a workload has begun.
    Evicted,
    /// The workload is completely assigned to other members.
    Placed,
    /// The workload is ready there.
    Served,
    /// The member no longer has its copy.
    Gone,
}

impl Milestone {
    /// All milestones, in their order.
    pub const ALL: [Self; 6] =
        [Self::Detected, Self::Tainted, Self::Evicted, Self::Placed, Self::Served, Self::Gone];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Detected => "detected",
            Self::Tainted => "tainted",
            Self::Evicted => "evicted",
            Self::Placed => "placed",
            Self::Served => "served",
            Self::Gone => "gone",
        }
    }
}

/// The distribution of durations: their number, the median, the 95th percentile, and the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// The number of durations.
    pub count: u64,
    /// The median.
    pub p50: Duration,
    /// The 95th percentile.
    pub p95: Duration,
    /// The longest.
    pub max: Duration,
}

/// The summary of many outages. It keeps no outage.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The number of outages.
    pub outages: u64,
    /// The number of outages that ended before their detection.
    pub undetected: u64,
    /// The longest of the undetected outages.
    pub longest_undetected: Duration,
    /// The sum of the numbers of all workloads.
    pub workloads: WorkloadNumbers,
    times: BTreeMap<(Milestone, String), Times>,
}

/// A histogram of milliseconds with a precision of one percent, and the exact longest duration.
#[derive(Clone, Debug)]
struct Times {
    all: Histogram<u64>,
    max: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self { all: Histogram::new(2).expect("two digits are allowed"), max: Duration::ZERO }
    }
}

impl Summary {
    pub(super) fn add_outage(&mut self, outage: &Outage) {
        self.outages += 1;
        if let (None, Some(lasted)) = (outage.detected, outage.lasted) {
            self.undetected += 1;
            self.longest_undetected = self.longest_undetected.max(lasted);
        }
        let mut note = |milestone, time: Option<Duration>| {
            if let Some(time) = time {
                self.times.entry((milestone, outage.fault.clone())).or_default().note(time);
            }
        };
        note(Milestone::Detected, outage.detected);
        note(Milestone::Tainted, outage.tainted);
        for each in &outage.moves {
            note(Milestone::Evicted, each.evicted);
            note(Milestone::Placed, each.placed);
            note(Milestone::Served, each.served);
            note(Milestone::Gone, each.gone);
        }
    }

    /// Adds the summary of another run.
    pub fn add(&mut self, other: &Self) {
        self.outages += other.outages;
        self.undetected += other.undetected;
        self.longest_undetected = self.longest_undetected.max(other.longest_undetected);
        self.workloads.add(&other.workloads);
        for (key, times) in &other.times {
            self.times.entry(key.clone()).or_default().add(times);
        }
    }

    /// Returns the times until each milestone, over all faults.
    #[must_use]
    pub fn overall(&self) -> Vec<(Milestone, Percentiles)> {
        let mut all: BTreeMap<Milestone, Times> = BTreeMap::new();
        for ((milestone, _), times) in &self.times {
            all.entry(*milestone).or_default().add(times);
        }
        all.iter().map(|(milestone, times)| (*milestone, times.spread())).collect()
    }

    /// Returns the times until each milestone, by the kind of fault.
    pub fn by_fault(&self) -> impl Iterator<Item = (Milestone, &str, Percentiles)> {
        self.times.iter().map(|((milestone, fault), times)| (*milestone, fault.as_str(), times.spread()))
    }
}

impl Times {
    fn note(&mut self, time: Duration) {
        self.max = self.max.max(time);
        // The histogram resizes itself; durations above 584 million years are not counted.
        let _ = self.all.record(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    }

    fn add(&mut self, other: &Self) {
        self.max = self.max.max(other.max);
        // The histogram resizes itself.
        let _ = self.all.add(&other.all);
    }

    fn spread(&self) -> Percentiles {
        let at = |quantile| Duration::from_millis(self.all.value_at_quantile(quantile)).min(self.max);
        Percentiles { count: self.all.len(), p50: at(0.5), p95: at(0.95), max: self.max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outage(fault: &str, detected: Option<u64>, lasted: u64) -> Outage {
        let mut outage = Outage::new("m1".into(), fault.into(), Duration::ZERO, Vec::new());
        outage.detected = detected.map(Duration::from_millis);
        outage.lasted = Some(Duration::from_millis(lasted));
        outage
    }

    #[test]
    fn the_spread_of_two_runs_is_that_of_all_their_outages() {
        let mut summaries = [Summary::default(), Summary::default()];
        for millis in 1..=100 {
            summaries[millis as usize % 2].add_outage(&outage("refuse", Some(millis), 1000));
        }
        summaries[0].add_outage(&outage("partition", None, 45_000));
        let [mut all, second] = summaries;
        all.add(&second);
        let spread = Percentiles {
            count: 100,
            p50: Duration::from_millis(50),
            p95: Duration::from_millis(95),
            max: Duration::from_millis(100),
        };
        assert_eq!(all.overall(), [(Milestone::Detected, spread)]);
        assert_eq!((all.outages, all.undetected, all.longest_undetected), (101, 1, Duration::from_secs(45)));
    }
}
