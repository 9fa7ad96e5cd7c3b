//! Tests that the judge and the reports never panic, whatever times a history has.

use std::time::Duration;

use capsize_history::{Entry, Kind, LONGEST};
use capsize_judge::judge::judge;
use capsize_judge::profile::Profile;
use capsize_report::{COLUMNS, Case, Report};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::perturbed_recordings::{RECORDINGS, recorded};

/// Time stamps: the oldest and the latest possible one, some between them, and a text that is no time.
const STAMPS: [&str; 7] = [
    "-009999-01-02T01:59:59Z",
    "0001-01-01T00:00:00Z",
    "1970-01-01T00:00:00Z",
    "2026-11-22T07:00:05Z",
    "2262-04-12T00:00:00Z",
    "9999-12-30T22:00:00Z",
    "soon",
];

/// Possible and impossible errors of a clock, in seconds.
const SECONDS: [f64; 8] = [0.0, -1.0, 1e-9, 0.5, 3e9, -3e9, 1e300, f64::MAX];

/// A change of one entry of a recording.
#[derive(Clone, Debug)]
enum EntryChange {
    /// The recorder's clock showed this time.
    At(f64),
    /// Every time stamp in the object is set to this one.
    Stamps(&'static str),
    /// A mark of this sort with this number of seconds comes before the entry.
    Mark(u8, f64),
    /// Every toleration and timeout in the object is set to this number of seconds.
    Lasts(i64),
}

fn wrong() -> impl Strategy<Value = EntryChange> {
    let longest = LONGEST.as_secs_f64();
    prop_oneof![
        prop_oneof![Just(0.0), Just(longest), 0.0..100.0, 0.0..longest].prop_map(EntryChange::At),
        select(&STAMPS[..]).prop_map(EntryChange::Stamps),
        (0..5_u8, select(&SECONDS[..])).prop_map(|(sort, seconds)| EntryChange::Mark(sort, seconds)),
        prop_oneof![Just(i64::MIN), Just(0), Just(i64::MAX)].prop_map(EntryChange::Lasts),
    ]
}

fn mark(sort: u8, seconds: f64) -> Value {
    match sort {
        0 => json!({"observer": {"on": "m2", "latency": seconds, "clockOffset": seconds}}),
        1 => json!({"fault": "skew", "state": "begin", "seconds": seconds}),
        2 => json!({"fault": "skew", "state": "end", "seconds": seconds}),
        3 => json!({"fault": "slow", "state": "begin", "seconds": seconds}),
        _ => json!({"fault": "slow", "state": "end", "seconds": seconds}),
    }
}

fn replace(value: &mut Value, with: &impl Fn(&str, &mut Value)) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, field)| {
            with(name, field);
            replace(field, with);
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, with)),
        _ => {}
    }
}

fn is_stamp(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() >= 20 && text.as_bytes()[4] == b'-' && text.ends_with('Z'))
}

fn apply(entries: &mut Vec<Entry>, place: usize, wrong: &EntryChange) {
    let place = place % entries.len();
    let at = entries[place].at;
    match (wrong, &mut entries[place].kind) {
        (EntryChange::At(seconds), _) => entries[place].at = Duration::from_secs_f64(*seconds).min(LONGEST),
        (EntryChange::Mark(sort, seconds), _) => {
            let Value::Object(mark) = mark(*sort, *seconds) else { return };
            entries.insert(place, Entry::mark(at, mark));
        }
        (EntryChange::Stamps(stamp), Kind::Event { object, .. }) => {
            let mut value = object.value();
            replace(&mut value, &|_, field| {
                if is_stamp(field) {
                    *field = json!(stamp);
                }
            });
            *object = value.into();
        }
        (EntryChange::Lasts(seconds), Kind::Event { object, .. }) => {
            let mut value = object.value();
            replace(&mut value, &|name, field| {
                if name.ends_with("Seconds") {
                    *field = json!(seconds);
                }
            });
            *object = value.into();
        }
        (_, Kind::Mark(_)) => {}
    }
}

/// The text of all reports.
fn reported(entries: Vec<Entry>, profile: Profile) -> String {
    let judgement = judge(entries.into_iter().map(Ok::<_, ()>), profile).unwrap();
    let report = Report {
        command: "check".to_owned(),
        cases: vec![Case::judged("any".to_owned(), "any".to_owned(), judgement)],
        ..Report::default()
    };
    [capsize_report::checked(&report, COLUMNS), capsize_report::json(&report), capsize_report::junit(&report)]
        .concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_history_with_any_times_is_judged_and_reported(
        which in 0..RECORDINGS.len(),
        wrongs in proptest::collection::vec((any::<usize>(), wrong()), 1..8),
    ) {
        let (name, target) = RECORDINGS[which];
        let (mut entries, profile) = recorded(name, target);
        wrongs.iter().for_each(|(place, wrong)| apply(&mut entries, *place, wrong));
        prop_assert!(!reported(entries, profile).is_empty());
    }

    #[test]
    fn a_history_whose_clock_goes_back_far_is_judged_and_reported(
        which in 0..RECORDINGS.len(), place in 1..100_usize, to in 0.0..100.0,
    ) {
        let (name, target) = RECORDINGS[which];
        let (mut entries, profile) = recorded(name, target);
        let place = place % entries.len();
        for entry in &mut entries[..place] {
            entry.at += LONGEST - Duration::from_secs(1000);
        }
        entries[place].at = Duration::from_secs_f64(to);
        prop_assert!(!reported(entries, profile).is_empty());
    }
}
