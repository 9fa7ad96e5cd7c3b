//! The budget of a failover, compared with the times in the code of the real controllers.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use capsize::{check, targets};
use capsize_judge::budget::{Budget, FailoverTimes, Failure, Range};
use capsize_judge::profile::Profile;

fn budget(profile: &Profile, failure: Failure) -> FailoverTimes {
    let budget = Budget::new(profile, 1);
    *budget.failovers.iter().find(|each| each.failure == failure).expect("members of the target fail so")
}

/// The limits in seconds, without the latency.
fn seconds(range: Range) -> (u64, Option<u64>) {
    (range.lower.as_secs(), range.upper.as_ref().map(Duration::as_secs))
}

/// A shipped profile in which a refused probe fails at once.
fn quick(name: &str) -> Profile {
    let mut profile = targets::find(name).unwrap();
    profile.timings.set_text("refusedProbe=0s").unwrap();
    profile
}

/// The duration of the transition of a target whose description begins with `what`.
fn transition(profile: &Profile, what: &str) -> (u64, Option<u64>) {
    let budget = Budget::new(profile, 1);
    let found = budget.transitions.iter().find(|(transition, _)| transition.what.starts_with(what));
    seconds(found.unwrap_or_else(|| panic!("{what} is not in the budget")).1)
}

#[test]
fn each_transition_takes_as_long_as_the_real_controllers_take() {
    let (old, new) = (quick("karmada-1.5"), quick("karmada-1.18"));
    let rows = [
        (&old, "the member refuses", (30, Some(40))),
        (&old, "packets to the member vanish", (0, None)),
        (&new, "packets to the member vanish", (74, Some(84))),
        (&old, "NotReady → taint NoExecute", (300, Some(310))),
        (&old, "taint NoExecute → eviction", (299, Some(300))),
        (&old, "eviction → the old copy", (0, Some(660))),
        (&new, "eviction → the old copy", (0, Some(600))),
        (&old, "a member that refused", (30, Some(40))),
        (&old, "Ready → taint NoExecute", (0, Some(5))),
    ];
    for (profile, what, takes) in rows {
        assert_eq!(transition(profile, what), takes, "{} {what}", profile.name);
    }
}

#[test]
fn a_failover_of_1_5_evicts_after_629_to_650_seconds() {
    let failover = budget(&quick("karmada-1.5"), Failure::Refused).moved.unwrap();
    assert_eq!(seconds(failover.evicted), (629, Some(650)));
    assert_eq!(seconds(failover.given_up), (629, Some(650 + 660)));
    assert_eq!(failover.applied.latency, Duration::from_secs(6), "one a step, and two to apply");
    let mut test_bed = quick("karmada-1.5");
    for setting in ["failoverEvictionTimeout=30s", "notReadyTolerationSeconds=2s"] {
        test_bed.timings.set_text(setting).unwrap();
    }
    assert_eq!(seconds(budget(&test_bed, Failure::Refused).moved.unwrap().evicted), (61, Some(82)));
}

#[test]
fn members_that_report_by_themselves_fail_only_by_silence() {
    for name in ["ocm", "reference-nodes-1.16"] {
        let profile = targets::find(name).unwrap();
        let budget = Budget::new(&profile, 1);
        let failures: Vec<Failure> = budget.failovers.iter().map(|each| each.failure).collect();
        assert_eq!(failures, [Failure::SilentAgent], "{name}");
        assert!(budget.transitions.iter().all(|(each, _)| !each.what.contains("refuse")), "{name}");
    }
}

#[test]
fn a_silent_agent_is_evicted_from_after_it_is_detected() {
    let failover = budget(&targets::find("ocm").unwrap(), Failure::SilentAgent);
    assert_eq!(seconds(failover.detected), (0, Some(300)));
    assert_eq!(seconds(failover.moved.unwrap().evicted), (0, Some(300)));
}

#[test]
fn without_anybody_to_taint_a_member_nothing_is_evicted() {
    let mut profile = targets::find("karmada-1.18").unwrap();
    profile.features.remove(&capsize_judge::profile::Feature::ClusterTaintPolicies);
    assert_eq!(budget(&profile, Failure::Refused).moved, None);
}

#[test]
fn the_black_hole_that_nobody_noticed_might_have_lasted_longer() {
    let history =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/karmada-1.18.2/duplicated-partitioned.jsonl");
    let profile = check::with_settings_of(&history, &targets::find("karmada-1.18").unwrap()).unwrap();
    assert_eq!(seconds(budget(&profile, Failure::BlackHole).detected), (65, Some(66)));
    let output = Command::new(env!("CARGO_BIN_EXE_capsize"))
        .args(["budget", "--target", "karmada-1.18", "--settings-of"])
        .arg(&history)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(printed.contains("1 min 5 s to 1 min 6 s"), "{printed}");
    let wide = printed.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
}

#[test]
fn a_longer_queue_takes_longer() {
    let profile = targets::find("karmada-1.18").unwrap();
    let evicted =
        |workloads| Budget::new(&profile, workloads).failovers[0].moved.unwrap().evicted.upper.unwrap();
    // One eviction in two seconds, because nothing is tolerated there; three at a time.
    assert_eq!(evicted(100) - evicted(1), Duration::from_secs(2 * 33));
}
