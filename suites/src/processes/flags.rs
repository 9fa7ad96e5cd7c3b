//! Compares the flags that a program reports in its log with the flags of its command.
//!
//! The programs of Kubernetes log all flags from verbosity 1 on, as `FLAG: --node-monitor-period="5s"`
//! (`k8s.io/component-base/cli/flag`, `PrintFlags`). Karmada's programs report nothing.

use jiff::SignedDuration;

/// The first flag of `command` with another value in `log`, as a sentence. Only durations and numbers are compared,
/// because a program may write lists and texts differently.
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
    use super::overruled;

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
}
