//! Judges the recordings of real systems: the expected verdicts of every recorded history.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod recorded;

use std::path::Path;

use capsize::check::check;
use capsize_judge::guarantee::Outcome;

use recorded::{ids, name, recordings};

/// The violations in recordings; `docs/real-systems.md` has the reasons.
/// No other guarantee is violated.
const VIOLATED: [(&str, &str); 30] = [
    ("karmada-1.13.10/divided-weighted", "EVICTION-03"),
    ("karmada-1.13.10/replacement-never-ready", "STATUS-01"),
    ("karmada-1.18.2/divided-weighted", "EVICTION-03"),
    ("karmada-1.18.2/tolerates-forever", "STATUS-01"),
    ("karmada-1.18.2/user-taint", "STATUS-01"),
    ("karmada-1.5.0/divided-weighted", "EVICTION-02"),
    ("karmada-1.5.0/divided-weighted", "EVICTION-08"),
    ("karmada-1.5.0/divided-weighted", "LIVENESS-01"),
    ("karmada-1.5.0/tolerates-forever", "STATUS-01"),
    ("nodes-1.36/freeze-then-one-node-at-rate-one", "NODE-02"),
    ("ocm/all-lost", "HEALTH-09"),
    ("ocm/all-lost", "EVICTION-17"),
    ("ocm/all-lost", "PLACEMENT-17"),
    ("ocm/all-lost", "PLACEMENT-18"),
    ("ocm/all-lost", "STATUS-04"),
    ("ocm/all-lost", "STATUS-05"),
    ("ocm/api-down", "STATUS-05"),
    ("ocm/back-in-time", "STATUS-04"),
    ("ocm/back-in-time", "STATUS-05"),
    ("ocm/balance-without-faults", "PLACEMENT-01"),
    ("ocm/balance-without-faults", "STATUS-05"),
    ("ocm/balance-without-faults", "AVAILABILITY-01"),
    ("ocm/chosen-again", "PLACEMENT-18"),
    ("ocm/chosen-again", "STATUS-04"),
    ("ocm/chosen-again", "STATUS-05"),
    ("ocm/lease-lost", "STATUS-04"),
    ("ocm/lease-lost", "STATUS-05"),
    ("ocm/no-toleration", "STATUS-05"),
    ("ocm/taint-by-a-person", "STATUS-05"),
    ("ocm/taint-by-a-person", "AVAILABILITY-01"),
];

/// The guarantees that the recordings of a scenario must exercise.
/// The number is the least number of exercised guarantees.
const EXERCISED: [(&str, &[&str], usize); 21] = [
    ("divided-weighted", &["HEALTH-01", "TAINT-01", "TOLERATION-01", "PLACEMENT-01"], 8),
    ("duplicated-partitioned", &["PLACEMENT-02"], 1),
    ("duplicated-refused", &["HEALTH-01", "TAINT-03", "EVICTION-01", "EVICTION-03", "PLACEMENT-02"], 10),
    ("replacement-never-ready", &["EVICTION-02", "EVICTION-03"], 10),
    ("short-blip", &["HEALTH-01"], 2),
    ("tolerates-forever", &["TOLERATION-01", "TAINT-01", "TAINT-03"], 5),
    ("user-taint", &["TOLERATION-01", "EVICTION-01", "EVICTION-03"], 5),
    ("back-within-toleration", &["NODE-01", "NODE-02", "NODE-05", "TOLERATION-02"], 11),
    ("freeze-then-one-node", &["NODE-02", "NODE-04", "NODE-08", "TOLERATION-01"], 11),
    ("freeze-then-one-node-at-rate-one", &["NODE-02", "NODE-04"], 9),
    ("one-node-silent", &["HEALTH-02", "NODE-01", "NODE-02", "NODE-08", "TOLERATION-01"], 11),
    ("pressure-and-cordon", &["NODE-06", "NODE-07"], 3),
    ("taint-by-a-person", &["TOLERATION-01"], 3),
    ("zone-goes-partly", &["NODE-01", "NODE-04"], 8),
    ("all-lost", &["HEALTH-08", "HEALTH-09", "EVICTION-17", "PLACEMENT-17", "PLACEMENT-18"], 35),
    ("api-down", &["HEALTH-02", "TAINT-02", "TOLERATION-01"], 28),
    ("back-in-time", &["HEALTH-08", "TAINT-03", "TOLERATION-02"], 22),
    ("balance-without-faults", &["PLACEMENT-01", "AVAILABILITY-01", "TAINT-09"], 25),
    ("chosen-again", &["HEALTH-08", "TAINT-11", "PLACEMENT-18"], 35),
    ("lease-lost", &["HEALTH-08", "TAINT-11", "TOLERATION-01", "AVAILABILITY-02"], 35),
    ("no-toleration", &["HEALTH-08", "TOLERATION-01", "STATUS-04"], 32),
];

#[test]
fn every_recording_is_judged_and_only_what_is_known_is_violated() {
    let mut violated = Vec::new();
    for path in recordings() {
        let judgement = check(&path, None).unwrap();
        let of_this = ids(&judgement.verdicts, Outcome::is_violated);
        violated.extend(of_this.into_iter().map(|id| (name(&path), id)));
    }
    assert_eq!(violated, VIOLATED.map(|(path, id)| (path.to_owned(), id)));
}

#[test]
fn every_recording_puts_to_the_test_what_it_was_made_for() {
    for path in recordings() {
        let judgement = check(&path, None).unwrap();
        let exercised = ids(&judgement.verdicts, |outcome| {
            matches!(outcome, Outcome::Held { .. } | Outcome::Violated { .. })
        });
        let scenario = judgement.scenario.as_deref().unwrap();
        let (_, wanted, least) =
            EXERCISED.iter().find(|(name, ..)| *name == scenario).expect("a scenario of the table");
        assert!(wanted.iter().all(|id| exercised.contains(id)), "{}: {exercised:?}", name(&path));
        assert!(exercised.len() >= *least, "{}: {exercised:?}", name(&path));
    }
}

#[test]
fn the_stale_health_of_1_18_is_reported_with_the_running_replicas() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/karmada-1.18.2/divided-weighted.jsonl");
    let judgement = check(&path, None).unwrap();
    let verdict = judgement.verdicts.iter().find(|verdict| verdict.spec.id == "EVICTION-03").unwrap();
    let Outcome::Violated { evidence, .. } = &verdict.outcome else { panic!("{:?}", verdict.outcome) };
    assert_eq!(evidence[0].at.as_millis(), 12_713);
    assert_eq!(evidence[0].seen, "the old copy is deleted; m2 has 2 of 3 ready");
    assert_eq!(evidence[0].witness.as_ref().unwrap().name(), "karmada-es-m1/div-696d69898d");
}

#[test]
fn the_zone_that_stays_frozen_at_a_rate_of_one_is_reported_with_its_known_cause() {
    let path = "recordings/nodes-1.36/freeze-then-one-node-at-rate-one.jsonl";
    let judgement = check(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path), None).unwrap();
    let verdict = judgement.verdicts.iter().find(|verdict| verdict.spec.id == "NODE-02").unwrap();
    let Outcome::Violated { evidence, .. } = &verdict.outcome else { panic!("{:?}", verdict.outcome) };
    assert_eq!(evidence[0].subject.to_string(), "n5");
    assert!(evidence[0].seen.ends_with("kubernetes/kubernetes#104639"), "{}", evidence[0].seen);
}

#[test]
fn an_outage_that_nobody_noticed_stands_beside_one_that_was_noticed_in_seconds() {
    let numbers = |scenario: &str| {
        let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/karmada-1.18.2");
        check(&recordings.join(format!("{scenario}.jsonl")), None).unwrap().numbers
    };
    let black_holed = &numbers("duplicated-partitioned").outages[0];
    assert_eq!((black_holed.lasted.unwrap().as_secs(), black_holed.detected), (45, None));
    let refused = &numbers("duplicated-refused").outages[0];
    // The mark of the fault is at 2.915 s, the condition at 6.175 s.
    assert_eq!(refused.detected.unwrap().as_millis() / 100, 32);
}
