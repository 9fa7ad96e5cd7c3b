//! One rule of what is written to members, and of what becomes of copies there, made wrong at a time: a scenario notices.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use capsize::reference::Reference;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_controllers::api::{
    AggregatedStatus, GracefulEvictionTask, ResourceBindingSpec, Suspension, TargetCluster,
};
use capsize_controllers::rules::{Rules, TaskFate, UnhealthySince, carriers, task_fate, unhealthy_since};
use capsize_framework::report::Status;
use capsize_framework::run::{Target, run_case};
use jiff::Timestamp;
use serde_json::{Map, Value};

/// Fails unless `rules` fail the case called `id`.
fn fails(rules: impl Rules + 'static, id: &str) {
    let cases = conformance::cases().unwrap();
    let case = cases.iter().find(|case| case.id() == id).expect("there is such a case");
    let profile = targets::find("reference").unwrap();
    let implementation = Reference::deciding_by(Arc::new(rules));
    let outcome =
        run_case(case, Target { profile: &profile, implementation: &implementation }, Seed(1), false);
    assert_eq!(outcome.case.status, Status::Failed, "{id} does not notice");
}

#[test]
fn what_is_to_go_directly_stays() {
    struct Mutant;
    impl Rules for Mutant {
        fn carriers<'a>(&self, spec: &'a ResourceBindingSpec) -> BTreeSet<&'a str> {
            let leaving = spec.graceful_eviction_tasks.iter().map(|task| task.from_cluster.as_str());
            carriers(spec).into_iter().chain(leaving).collect()
        }
    }
    fails(Mutant, "eviction/directly");
}

#[test]
fn a_new_copy_does_not_wait_for_the_end_of_the_old_one() {
    struct Mutant;
    impl Rules for Mutant {
        fn awaits_purge(&self, _: &ResourceBindingSpec, _: &BTreeSet<&str>) -> bool {
            false
        }
    }
    fails(Mutant, "eviction/directly-from-the-dead");
}

#[test]
fn nobody_is_asked_whether_the_old_copy_may_go() {
    struct Mutant;
    impl Rules for Mutant {
        fn task_fate(
            &self,
            task: &GracefulEvictionTask,
            replaced: bool,
            timeout: Duration,
            now: Timestamp,
        ) -> TaskFate {
            let task = GracefulEvictionTask { suppress_deletion: None, ..task.clone() };
            task_fate(&task, replaced, timeout, now)
        }
    }
    fails(Mutant, "application/never");
}

#[test]
fn ill_health_is_never_forgiven() {
    struct Mutant;
    impl Rules for Mutant {
        fn unhealthy_since(
            &self,
            before: &UnhealthySince,
            spec: &ResourceBindingSpec,
            reports: &[AggregatedStatus],
            now: Timestamp,
        ) -> UnhealthySince {
            let mut since = unhealthy_since(before, spec, reports, now);
            since.extend(before.clone());
            since
        }
    }
    fails(Mutant, "application/recovers-in-time");
}

#[test]
fn a_new_copy_is_not_told_of_the_old_one() {
    struct Mutant;
    impl Rules for Mutant {
        fn injected_state(&self, _: &ResourceBindingSpec, _: &str) -> BTreeMap<String, String> {
            BTreeMap::new()
        }
    }
    fails(Mutant, "application/directly-with-its-state");
}

#[test]
fn nothing_of_the_members_is_kept() {
    struct Mutant;
    impl Rules for Mutant {
        fn retained(&self, wanted: &Map<String, Value>, _: &Value) -> Map<String, Value> {
            wanted.clone()
        }
    }
    fails(Mutant, "delivery/drift");
}

#[test]
fn every_member_gets_all_completions() {
    struct Mutant;
    impl Rules for Mutant {
        fn completions(&self, _: &ResourceBindingSpec, _: &Value) -> Option<BTreeMap<String, i32>> {
            None
        }
    }
    fails(Mutant, "delivery/job");
}

#[test]
fn dispatching_goes_on_though_it_is_suspended() {
    struct Mutant;
    impl Rules for Mutant {
        fn is_dispatch_suspended(&self, _: Option<&Suspension>, _: &str) -> bool {
            false
        }
    }
    fails(Mutant, "delivery/suspended");
}

#[test]
fn what_others_need_is_not_delivered() {
    struct Mutant;
    impl Rules for Mutant {
        fn work_targets(&self, spec: &ResourceBindingSpec) -> Vec<TargetCluster> {
            spec.clusters.clone()
        }
    }
    fails(Mutant, "delivery/required-by-another");
}
