//! Tells what differs between two histories: for people, and for programs.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use capsize_judge::diff::{Comparison, Difference};
use capsize_judge::text::span;

/// For people, at most 80 columns where names allow.
#[must_use]
pub fn differences(comparison: &Comparison) -> String {
    let Comparison { titles: [first, second], parts, alike, differences } = comparison;
    let mut text = format!("1: {first}\n2: {second}\n");
    for (member, part) in parts {
        let _ = writeln!(text, "{part} in 2 plays the part of {member} in 1");
    }
    for difference in differences {
        let _ = writeln!(text, "\n{}", line(difference));
    }
    let _ = match differences.len() {
        0 => writeln!(text, "\nno difference: {alike} things happened in both, at the same times"),
        1 => writeln!(text, "\n1 difference; {alike} things happened in both"),
        count => writeln!(text, "\n{count} differences; {alike} things happened in both"),
    };
    text
}

fn line(difference: &Difference) -> String {
    let Difference { track, what, at, allowed } = difference;
    let since = |at: Duration| format!("{} after the first disturbance", span(at));
    match at {
        [Some(first), Some(second)] => format!(
            "{track} {what}\n  1: {}\n  2: {}; they may be {} apart",
            since(*first),
            since(*second),
            span(*allowed)
        ),
        [Some(first), None] => format!("{track} {what}\n  1: {}\n  2: never", since(*first)),
        [None, Some(second)] => format!("{track} {what}\n  1: never\n  2: {}", since(*second)),
        [None, None] => format!("{track} {what}"),
    }
}

/// For programs.
#[must_use]
pub fn differences_json(comparison: &Comparison) -> String {
    let seconds = |at: &Option<Duration>| at.map(|at| at.as_secs_f64());
    let differences = comparison.differences.iter().map(|Difference { track, what, at, allowed }| {
        json!({
            "member": track.member,
            "workload": track.workload.as_ref().map(ToString::to_string),
            "what": what.to_string(),
            "at": at.iter().map(seconds).collect::<Vec<_>>(),
            "allowed": allowed.as_secs_f64(),
        })
    });
    let told = json!({
        "diff": "v1",
        "titles": comparison.titles,
        "parts": comparison.parts,
        "alike": comparison.alike,
        "differences": differences.collect::<Vec<Value>>(),
    });
    format!("{told:#}\n")
}
