//! Histories whose recorder was not exact: what is sure is held or violated, the rest undecided.

use capsize_judge::guarantee::{Outcome, Verdict};
use serde_json::json;

use crate::outcomes::{breaks, holds, ids};
use crate::story::{Story, StoryOutcome};

/// From now on, what a cluster tells may be so many seconds old.
fn seen_after(story: Story, on: &str, latency: f64) -> Story {
    story.mark(json!({"observer": {"on": on, "latency": latency}}))
}

/// m1 fails at 10 s and is told `at` then, seen up to `latency` late. It must be told between 12.9 s and 19 s.
fn observed(at: f64, latency: f64) -> StoryOutcome {
    let story = seen_after(Story::new(), "control-plane", latency).fault("refuse", "m1", "begin");
    story.at(at).ready("m1", "False").taint("m1", "not-ready", "NoSchedule").until(at + 0.1)
}

pub(crate) fn undecided(id: &str, verdicts: &[Verdict]) {
    assert_eq!(ids(verdicts, Outcome::is_violated), [""; 0]);
    let doubted = ids(verdicts, |outcome| matches!(outcome, Outcome::Undecided { .. }));
    assert!(doubted.contains(&id), "{id} is not among what is undecided: {doubted:?}");
}

#[test]
fn a_bound_from_below_is_undecided_where_it_lies_within_what_is_known() {
    breaks("HEALTH-01", &observed(12.8, 0.0));
    holds("HEALTH-01", &observed(13.5, 0.0));
    // Seen late, it was earlier still. The threshold counts from a mark, which is exact.
    breaks("HEALTH-01", &observed(12.8, 0.02));
    undecided("HEALTH-01", &observed(13.5, 2.0));
    holds("HEALTH-01", &observed(13.5, 0.2));
}

#[test]
fn a_bound_from_above_is_undecided_where_it_lies_within_what_is_known() {
    let exact = json!({"observer": {"on": "control-plane", "latency": 0.3, "clockOffset": -0.1}});
    let observed = |at: f64| {
        let story = Story::new().mark(exact.clone()).fault("refuse", "m1", "begin").at(at);
        story.ready("m1", "False").taint("m1", "not-ready", "NoSchedule").until(at)
    };
    holds("HEALTH-01", &observed(18.8));
    undecided("HEALTH-01", &observed(18.95));
    undecided("HEALTH-01", &observed(19.3));
    breaks("HEALTH-01", &observed(19.5));
}

#[test]
fn what_has_not_come_is_missed_only_when_it_would_have_been_seen() {
    let silent = |until: f64| {
        seen_after(Story::new(), "control-plane", 2.0).fault("refuse", "m1", "begin").until(until)
    };
    assert!(ids(&silent(20.9), Outcome::is_violated).is_empty());
    breaks("HEALTH-01", &silent(21.1));
}

#[test]
fn what_is_not_due_when_the_history_ends_counts_for_nothing() {
    let open = Story::new().fault("refuse", "m1", "begin").until(18.9);
    let observed = open.iter().find(|verdict| verdict.spec.id == "HEALTH-01").unwrap();
    assert!(matches!(observed.outcome, Outcome::NotExercised), "{:?}", observed.outcome);
}

#[test]
fn an_inexact_member_makes_nothing_uncertain_that_others_tell() {
    let story = seen_after(Story::new(), "m3", 60.0).fault("refuse", "m1", "begin");
    breaks("HEALTH-01", &story.until(19.1));
}

#[test]
fn an_excuse_may_come_as_late_as_it_can_be_observed() {
    // m3 is dropped for no reason that is seen yet; that it is leaving is seen two seconds later.
    let dropped =
        |latency: f64| seen_after(Story::new(), "control-plane", latency).assign(&["m2", "m3"]).at(12.0);
    breaks("PLACEMENT-01", &dropped(0.0).until(13.0));
    assert!(ids(&dropped(5.0).until(13.0), Outcome::is_violated).is_empty());
    breaks("PLACEMENT-01", &dropped(5.0).until(15.1));
}

#[test]
fn a_clock_that_was_set_back_makes_every_later_time_undecided() {
    let story = Story::new().fault("refuse", "m1", "begin").at(3.0).ready("m1", "False").at(3.1);
    undecided("HEALTH-01", &story.taint("m1", "not-ready", "NoSchedule").until(500.0));
    // What time has no part in is judged still.
    let both = Story::new().at(3.0).taint("m1", "not-ready", "NoSchedule");
    breaks("TAINT-05", &both.taint("m1", "unreachable", "NoSchedule").until(4.0));
}

#[test]
fn an_entry_a_little_out_of_order_is_taken_to_be_as_old_as_it_may_be() {
    let observed = |before: f64, at: f64| {
        let story = Story::new().fault("refuse", "m1", "begin").at(before).ready("m2", "True").at(at);
        story.ready("m1", "False").taint("m1", "not-ready", "NoSchedule").until(13.3)
    };
    holds("HEALTH-01", &observed(13.0, 12.95));
    undecided("HEALTH-01", &observed(12.95, 12.86));
}

#[test]
fn nothing_is_late_where_faults_are_not_marked() {
    let failed = |story: Story| story.at(20.0).ready("m1", "False").until(40.0);
    undecided("TAINT-01", &failed(Story::unmarked()));
    assert!(ids(&failed(Story::new()), Outcome::is_violated).contains(&"TAINT-01"));
}

#[test]
fn what_was_under_way_when_a_history_began_is_left_alone() {
    let failed = |story: Story| story.at(20.0).ready("m1", "False").until(40.0);
    // The end of a fault whose beginning is not there.
    let before = failed(Story::new().fault("refuse", "m2", "end"));
    assert_eq!(ids(&before, Outcome::is_violated), [""; 0]);
    let after = Story::new().at(20.0).ready("m1", "False").at(40.0).fault("refuse", "m2", "end").until(41.0);
    assert_eq!(ids(&after, Outcome::is_violated), [""; 0]);
}

#[test]
fn silence_is_no_violation_where_faults_are_not_marked() {
    let unmarked = Story::unmarked().pulls("m1").at(12.0).ready("m1", "Unknown");
    let unmarked = unmarked.taint("m1", "unreachable", "NoSchedule").until(13.0);
    assert!(ids(&unmarked, Outcome::is_violated).is_empty());
    let marked = Story::new().fault("refuse", "m2", "begin").fault("refuse", "m2", "end").pulls("m1");
    let marked = marked.at(12.0).ready("m1", "Unknown").taint("m1", "unreachable", "NoSchedule");
    breaks("HEALTH-02", &marked.until(13.0));
}
