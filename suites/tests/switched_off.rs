//! One controller of the reference switched off at a time: some scenario must notice.

use capsize::reference::Reference;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_framework::report::Status;
use capsize_framework::run::{Target, run_case};

#[test]
fn no_controller_can_be_done_without() {
    let rows = [
        ("cluster-status", "tainting/blip"),
        ("cluster", "tainting/blip"),
        ("cluster-monitor", "eviction/partition"),
        ("cluster-monitor", "tainting/silent-agent"),
        ("cluster-taint-policy", "tainting/by-a-policy"),
        ("namespace-sync", "namespaces/everywhere"),
        ("detector", "eviction/partition"),
        ("scheduler", "eviction/partition"),
        ("binding", "eviction/partition"),
        ("execution", "eviction/partition"),
        ("work-status", "eviction/partition"),
        ("taint-manager", "eviction/partition"),
        ("graceful-eviction", "eviction/replacement-slow"),
        ("application-failover", "application/gracefully"),
        ("cluster-scheduler", "eviction/cluster-scoped"),
        ("cluster-binding", "eviction/cluster-scoped"),
        ("cluster-taint-manager", "eviction/cluster-scoped"),
        ("cluster-graceful-eviction", "eviction/cluster-scoped"),
        ("cluster-application-failover", "application/cluster-scoped"),
        ("dependencies-distributor", "dependencies/move-with-the-workload"),
        ("hpa-scale-target-marker", "autoscaling/members-say-how-many"),
        ("deployment-replicas-syncer", "autoscaling/members-say-how-many"),
        ("workload-rebalancer", "placement/rebalanced"),
        ("service-export", "services/addresses-follow"),
        ("endpoint-slice", "services/addresses-follow"),
        ("service-import", "services/addresses-are-withdrawn"),
    ];
    let (cases, profile) = (conformance::cases().unwrap(), targets::find("reference").unwrap());
    let unnoticed = rows.iter().filter(|(controller, id)| {
        let case = cases.iter().find(|case| case.id() == *id).expect("there is such a case");
        let implementation = Reference::without(controller);
        let outcome =
            run_case(case, Target { profile: &profile, implementation: &implementation }, Seed(1), false);
        outcome.case.status != Status::Failed
    });
    assert_eq!(unnoticed.collect::<Vec<_>>(), Vec::<&(&str, &str)>::new());
}
