//! Tests of profiles: their errors, the choice for a history, and the changes by a header.

use std::time::Duration;

use capsize_history::Mark;
use capsize_judge::profile::{Feature, Profile, Profiles};
use serde_json::{Value, json};

use crate::history_builder::PROFILE;

fn mark(value: Value) -> Mark {
    let Value::Object(mark) = value else { panic!("a mark is an object") };
    mark
}

#[test]
fn an_error_in_a_profile_is_reported_with_its_line_and_column() {
    let cases = [
        (PROFILE.replace("  skew: 100ms", "  skew: soon"), "49:9"),
        (PROFILE.replace("skew", "shew"), "49:3"),
        (PROFILE.replace("HealthProbes", "Telepathy"), "8:5"),
        (PROFILE.replace("start: external", "start: tomorrow"), "6:8"),
        (PROFILE.replace("  latency: 1s\n", ""), "48:3"),
    ];
    for (text, place) in cases {
        let error = Profile::parse("mine.yaml", &text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("mine.yaml:{place}: ")), "not at {place}: {error}");
    }
}

fn of(implementation: &str, from: &str) -> Profile {
    let profile = Profile::parse("test.yaml", PROFILE).unwrap();
    let name = format!("{implementation}-{from}");
    Profile { name, implementation: implementation.into(), from: from.into(), ..profile }
}

#[test]
fn a_history_gets_the_latest_profile_that_is_not_newer_than_its_release() {
    let profiles =
        Profiles::new(["1.4", "1.6", "1.14", "1.16"].map(|from| of("karmada", from)).into_iter().collect());
    let cases = [
        ("v1.5.0", "karmada-1.4"),
        ("v1.6.0", "karmada-1.6"),
        ("v1.13.10", "karmada-1.6"),
        ("v1.14.0-rc.1", "karmada-1.14"),
        ("v1.18.2", "karmada-1.16"),
        ("2.0", "karmada-1.16"),
    ];
    for (version, name) in cases {
        let header = mark(json!({"history": "v1", "implementation": "karmada", "version": version}));
        assert_eq!(profiles.of(&header).unwrap().name, name, "{version}");
    }
    let observed = |header: Value| profiles.of(&mark(header)).unwrap_err().to_string();
    let known = "(karmada-1.4, karmada-1.6, karmada-1.14, karmada-1.16)";
    assert_eq!(
        observed(json!({"implementation": "karmada", "version": "v1.3.0"})),
        format!("no profile is shipped for karmada v1.3.0: name one with --target {known}")
    );
    assert_eq!(
        observed(json!({"history": "v1"})),
        format!("the header names no implementation: name a target with --target {known}")
    );
}

#[test]
fn a_header_sets_times_and_switches() {
    let header = json!({
        "seconds": {"failureThreshold": 0.5, "whateverElse": 1},
        "automaticNoExecute": false,
        "clusterTaintPolicies": true,
    });
    let profile = of("karmada", "1.13").overlaid(&mark(header)).unwrap();
    assert_eq!(profile.timings.failure_threshold, Duration::from_millis(500));
    assert_eq!(profile.timings.success_threshold, Duration::from_secs(3));
    assert!(profile.has(Feature::ClusterTaintPolicies) && !profile.has(Feature::AutomaticNoExecute));
}

#[test]
fn a_misspelt_timing_of_a_header_is_refused_with_a_suggestion() {
    for (name, meant) in [
        ("failureTreshold", "failureThreshold"),
        ("graceful_eviction_timeout", "gracefulEvictionTimeout"),
        ("nodeMonitorperiod", "nodeMonitorPeriod"),
    ] {
        let header = json!({"seconds": {name: 1}});
        let error = of("karmada", "1.13").overlaid(&mark(header)).unwrap_err().to_string();
        assert!(error.contains(&format!("did you mean `{meant}`?")), "{error}");
    }
}

#[test]
fn a_header_with_a_setting_of_another_type_is_refused() {
    let cases = [
        (json!({"seconds": 3}), "`seconds` of the header is 3: it should be an object of numbers"),
        (
            json!({"seconds": {"failureThreshold": "3s"}}),
            "`seconds.failureThreshold` of the header is \"3s\": it should be a number of seconds, zero or more",
        ),
        (
            json!({"automaticNoExecute": "yes"}),
            "`automaticNoExecute` of the header is \"yes\": it should be true or false",
        ),
    ];
    for (header, message) in cases {
        assert_eq!(of("karmada", "1.13").overlaid(&mark(header)).unwrap_err().to_string(), message);
    }
}
