//! Wrong rules about the behaviour of some releases: each runs with the profile of such a release.

use std::sync::Arc;
use std::time::Duration;

use capsize_rules::api::ResourceBindingSpec;
use capsize_rules::{Behaviour, Ready, Rules, no_execute_taints};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;

use crate::Mutant;

fn like_1_18() -> Behaviour {
    Behaviour::of("1.18")
}

/// Release 1.18, but members that stay not ready get a taint that evicts, as releases until 1.13 do.
struct Eager;

impl Rules for Eager {
    fn behaviour(&self) -> Behaviour {
        like_1_18()
    }

    fn no_execute_taints(
        &self,
        ready: Ready<'_>,
        since: Timestamp,
        timeout: Duration,
        taints: &[Taint],
        now: Timestamp,
    ) -> Vec<Taint> {
        no_execute_taints(ready, since, timeout, taints, now)
    }
}

/// Release 1.18, but evictions do not wait for each other.
struct UnpacedEvictions;

impl Rules for UnpacedEvictions {
    fn behaviour(&self) -> Behaviour {
        like_1_18()
    }

    fn eviction_pause(&self, _: Option<f64>) -> Duration {
        Duration::ZERO
    }
}

/// Release 1.19, but the priorities of waiting workloads do not count.
struct UnrankedQueue;

impl Rules for UnrankedQueue {
    fn behaviour(&self) -> Behaviour {
        Behaviour::of("1.19")
    }

    fn queue_priority(&self, _: &ResourceBindingSpec) -> i32 {
        0
    }
}

/// All mutants of this file.
pub(crate) fn all() -> Vec<Mutant> {
    let eager = Mutant::new(
        "members_are_tainted_without_the_flag",
        "tainting/blip-without-eviction",
        "TAINT-06",
        || Arc::new(Eager),
    );
    let unpaced = Mutant::new("evictions_are_not_paced", "eviction/one-after-another", "EVICTION-13", || {
        Arc::new(UnpacedEvictions)
    });
    let unranked = Mutant::new(
        "priorities_of_waiting_workloads_do_not_count",
        "placement/higher-priority-first",
        "PLACEMENT-19",
        || Arc::new(UnrankedQueue),
    );
    let as_of = |profile, mutant| Mutant { profile, ..mutant };
    vec![as_of("reference-1.18", eager), as_of("reference-1.18", unpaced), as_of("reference-1.19", unranked)]
}
