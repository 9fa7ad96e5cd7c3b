//! Compares what a program reports about itself in its log with its command and its target.
//!
//! The programs of Kubernetes log all flags from verbosity 1 on, as `FLAG: --node-monitor-period="5s"`
//! (`k8s.io/component-base/cli/flag`, `PrintFlags`), and their release as `version="v1.36.2"`. Karmada's programs log no flags, and
//! their release as `version.Info{GitVersion:"v1.18.2"`.

use capsize_judge::profile::Profile;
use jiff::SignedDuration;

use crate::targets;

/// The release of a target.
#[derive(Clone)]
pub(super) struct TargetRelease {
    implementation: String,
    version: String,
}

impl From<&Profile> for TargetRelease {
    fn from(profile: &Profile) -> Self {
        let (implementation, version) = (profile.implementation.clone(), profile.version.clone());
        Self { implementation, version }
    }
}

impl TargetRelease {
    /// Returns a sentence about the release in `log`, if that release contradicts the target.
    /// The release must not be that of the target, and there must be a target for it. A release that no target covers
    /// is accepted, because it may be tried with the target of an older release.
    pub(super) fn contradicted(&self, log: &str) -> Option<String> {
        let reported = reported_release(log)?;
        let minor = |version: &str| version.split('.').take(2).collect::<Vec<_>>().join(".");
        let own = minor(reported);
        if own == minor(&self.version) || own.starts_with("0.") {
            return None;
        }
        let target = targets::find(&format!("{}-{own}", self.implementation)).ok()?;
        let target = format!("{}-{}", target.implementation, target.version);
        Some(format!(
            "it reports the release {reported} in its log, and the target is the release {}: use `--target {target}`, or programs of \
             the release {0}",
            self.version
        ))
    }
}

/// The first release in `log`, without the `v`.
fn reported_release(log: &str) -> Option<&str> {
    let marks = ["GitVersion:\"v", "version=\"v"];
    let rest = log.lines().find_map(|line| marks.iter().find_map(|mark| Some(line.split_once(mark)?.1)))?;
    rest.split('"').next().filter(|version| version.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// The first flag of `command` with another value in `log`, as a sentence.
/// Only durations and numbers are compared, because a program may write lists and texts differently.
pub(super) fn overruled(command: &[String], log: &str) -> Option<String> {
    let given = command.iter().filter_map(|argument| argument.strip_prefix("--")?.split_once('='));
    given.filter_map(|(name, value)| Some((name, value, reported(log, name)?))).find_map(
        |(name, value, reported)| {
            let (ours, theirs) = (Quantity::read(value)?, Quantity::read(reported)?);
            (ours != theirs).then(|| {
                format!(
                    "it reports --{name}={reported} in its log, and the profile says {value}: start it without the wrapper or the \
                     configuration file that changes the flag, or state the value in the profile"
                )
            })
        },
    )
}

/// The last value of a flag in `log`.
fn reported<'a>(log: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = log.lines().rev();
    lines.find_map(|line| {
        let (_, flag) = line.split_once("FLAG: --")?;
        flag.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"')
    })
}

/// The value of a flag. Go writes a duration of 60 s as `1m0s`.
#[derive(PartialEq)]
enum Quantity {
    Duration(SignedDuration),
    Number(f64),
}

impl Quantity {
    fn read(text: &str) -> Option<Self> {
        let number = text.parse().ok().map(Self::Number);
        number.or_else(|| text.parse().ok().map(Self::Duration))
    }
}

#[cfg(test)]
mod tests {
    use super::{TargetRelease, overruled};

    const LOG: &str = "
I1128 05:00:00.000001       1 flags.go:64] FLAG: --controllers=\"[taint-eviction-controller]\"
I1128 05:00:00.000002       1 flags.go:64] FLAG: --node-eviction-rate=\"0.1\"
I1128 05:00:00.000003       1 flags.go:64] FLAG: --node-monitor-grace-period=\"1m0s\"
I1128 05:00:00.000004       1 flags.go:64] FLAG: --node-monitor-period=\"5s\"
";

    #[test]
    fn a_flag_with_another_value_in_the_log_is_named() {
        let rows: [(&str, Option<&str>); 8] = [
            ("--node-monitor-period=5s", None),
            ("--node-monitor-period=5000ms", None),
            ("--node-monitor-period=1s", Some("it reports --node-monitor-period=5s")),
            ("--node-monitor-grace-period=60s", None),
            ("--node-monitor-grace-period=8s", Some("it reports --node-monitor-grace-period=1m0s")),
            ("--node-eviction-rate=0.100", None),
            ("--controllers=taint-eviction-controller", None),
            ("--not-reported=1s", None),
        ];
        for (argument, expected) in rows {
            let found = overruled(&["kube-controller-manager".into(), argument.into()], LOG);
            match expected {
                None => assert_eq!(found, None, "{argument}"),
                Some(expected) => assert!(found.unwrap().starts_with(expected), "{argument}"),
            }
        }
    }

    #[test]
    fn a_release_that_has_a_target_of_its_own_is_refused_with_its_name() {
        let karmada =
            |version: &str| format!("karmada-webhook version: version.Info{{GitVersion:\"{version}\", x}}");
        let nodes = |version: &str| format!("\"Starting\" version=\"{version}\"");
        let rows: [(&str, &str, String, Option<&str>); 9] = [
            ("karmada", "1.18", karmada("v1.18.2"), None),
            ("karmada", "1.18", karmada("v1.13.10"), Some("--target karmada-1.13")),
            ("karmada", "1.18", karmada("v1.19.0-rc.0"), Some("--target karmada-1.19")),
            ("karmada", "1.16", karmada("v1.18.2"), Some("--target karmada-1.18")),
            ("karmada", "1.19", karmada("v1.27.0"), None),
            ("karmada", "1.18", karmada("v0.0.0-master+$Format:%H$"), None),
            ("karmada", "1.18", "version.Info{GitVersion:\"unknown\"}".into(), None),
            ("kube-controller-manager", "1.36", nodes("v1.36.2"), None),
            (
                "kube-controller-manager",
                "1.36",
                nodes("v1.35.0"),
                Some("--target kube-controller-manager-1.35"),
            ),
        ];
        for (implementation, version, log, expected) in rows {
            let target = TargetRelease { implementation: implementation.into(), version: version.into() };
            let found = target.contradicted(&log);
            match expected {
                None => assert_eq!(found, None, "{log}"),
                Some(expected) => assert!(found.unwrap().contains(expected), "{log}"),
            }
        }
    }
}
