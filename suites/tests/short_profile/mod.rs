//! The profile of the controllers of Capsize with short timings, for tests that wait in real time.

/// The profile with the shortest timings.
const PROFILE: &str = include_str!("../../targets/capsize-controllers.yaml");

/// A timing, its value in the profile, and its value for tests.
pub(crate) type Timing = (&'static str, &'static str, &'static str);

/// The timings that are shorter in every test, because the cases wait for them.
const SHORTER: [Timing; 4] = [
    ("failureThreshold", "3s", "1s"),
    ("successThreshold", "3s", "1s"),
    ("failoverEvictionTimeout", "6s", "1s"),
    ("notReadyTolerationSeconds", "5s", "2s"),
];

/// Returns the profile with the start section `start`, with short timings, and with `more` changes.
pub(crate) fn short_profile(start: &str, more: &[Timing]) -> String {
    let (before, rest) = PROFILE.split_once("start:\n").unwrap();
    let (_, after) = rest.split_once("features:\n").unwrap();
    let mut profile = format!("{before}{start}\nfeatures:\n{after}");
    for (timing, shipped, changed) in SHORTER.iter().chain(more) {
        let line = format!("{timing}: {shipped}\n");
        assert!(profile.contains(&line), "{line}");
        profile = profile.replace(&line, &format!("{timing}: {changed}\n"));
    }
    profile
}
