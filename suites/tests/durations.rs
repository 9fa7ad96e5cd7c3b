//! Checks that long durations of scenarios are multiples of timings.
//! For this reason, targets with short timings end their cases soon.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::time::Duration;

use capsize_runner::scenario::Length;
use serde_json::Value;

mod files;

use files::{root, texts};

/// A scenario may spend at most this time on one step, whatever the timings of the target are.
const LONGEST_FIXED: Duration = Duration::from_secs(120);

/// The least time that a slow program needs to react.
/// A program is slow if it is slower than the reference, or if the machine is busy.
const SHORTEST_REACTION: Duration = Duration::from_secs(5);

/// Karmada asks members every five minutes which kinds they serve, and no flag changes that.
/// So the wait has a fixed length.
const DISCOVERY: &str = "6m";

/// Calls `on` with the key and the value of each field in `value`.
/// The fields of objects and settings are left out.
fn fields<'a>(value: &'a Value, on: &mut dyn FnMut(&'a str, &'a Value)) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                on(key, value);
                if !matches!(key.as_str(), "object" | "timings" | "tolerations") {
                    fields(value, on);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(item, on)),
        _ => {}
    }
}

/// The fixed length in `value`, if it is one.
fn fixed(value: &Value) -> Option<Duration> {
    match value.as_str()?.parse() {
        Ok(Length::Fixed(length)) => Some(length),
        _ => None,
    }
}

/// The longest time for which a pod of the scenario tolerates a taint, as the pod itself says.
fn longest_toleration(scenario: &Value) -> Duration {
    let mut longest = 0;
    fields(scenario, &mut |key, value| {
        let tolerations = value.as_array().filter(|_| key == "tolerations");
        let seconds = tolerations.into_iter().flatten().filter_map(|it| it["seconds"].as_u64());
        longest = seconds.fold(longest, u64::max);
    });
    Duration::from_secs(longest)
}

/// The durations of the scenario that no timing scales, although a target may need less or more time.
fn wrong_durations(text: &str) -> Vec<String> {
    let scenario: Value = serde_saphyr::from_str(text).unwrap();
    let longest = LONGEST_FIXED.max(longest_toleration(&scenario));
    let mut wrong = Vec::new();
    fields(&scenario, &mut |key, value| {
        let Some(length) = fixed(value) else { return };
        let is_wrong = match key {
            "within" => !length.is_zero() && length < SHORTEST_REACTION,
            "wait" => length > longest && value != DISCOVERY,
            "for" | "at" | "down" | "up" | "takes" | "startUp" | "notBefore" => length > longest,
            _ => false,
        };
        if is_wrong {
            wrong.push(format!("{key}: {}", value.as_str().unwrap_or_default()));
        }
    });
    wrong
}

#[test]
fn no_scenario_has_a_fixed_duration_that_a_timing_should_scale() {
    let scenarios = texts(&root().join("suites/conformance"), &["yaml"]);
    assert!(scenarios.len() > 100, "the scenarios were moved");
    let wrong: Vec<String> = scenarios
        .iter()
        .flat_map(|(path, text)| {
            wrong_durations(text).into_iter().map(move |wrong| format!("{}: {wrong}", path.display()))
        })
        .collect();
    let advice = "write a multiple of a timing, as `0.5 x gracefulEvictionTimeout` or `2 x latency`";
    assert!(wrong.is_empty(), "{advice}:\n{}", wrong.join("\n"));
}

#[test]
fn long_waits_and_short_limits_are_found() {
    let steps = |steps: &str| wrong_durations(&format!("then: [{steps}]"));
    assert_eq!(steps("wait: 10m"), ["wait: 10m"]);
    assert_eq!(steps("{kept: {on: m1, for: 3m}}, {placed: {within: 1s}}"), ["for: 3m", "within: 1s"]);
    assert_eq!(steps("{faults: [{at: 3m, for: 1m, fault: {refuse: {cluster: m1}}}]}"), ["at: 3m"]);
    assert!(steps("wait: 6m, wait: 2m, {placed: {within: 0s}}, {kept: {for: 2 x monitorPeriod}}").is_empty());
    // A wait for the end of a toleration is as long as the toleration.
    assert!(steps("{pods: {tolerations: [{seconds: 200}]}}, {notEvicted: {for: 198s}}").is_empty());
}
