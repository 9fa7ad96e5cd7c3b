//! A program of an implementation, as a profile says how it is started. Starting it is left to others.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Timings, Zones};

/// One program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Program {
    /// What it is called in messages.
    pub name: String,
    /// The program and its arguments. `{{kubeconfig}}` stands for the path of a kubeconfig of the control plane, `{{port}}`
    /// for a port that is free, and the name of a timing, like `{{failureThreshold}}`, or of a flag about zones, like
    /// `{{nodeEvictionRate}}`, for that of the profile.
    pub command: Vec<String>,
    /// It is ready when a request for this path at its port is answered with 200; where nothing is said, at once.
    #[serde(default)]
    pub ready: Option<String>,
    /// Its port speaks TLS, with a certificate that nobody vouches for.
    #[serde(default)]
    pub tls: bool,
}

impl Program {
    /// The command with what its marks stand for. Timings are written in milliseconds, as `3000ms`.
    ///
    /// # Errors
    /// A mark that stands for nothing.
    pub fn filled(
        &self,
        (timings, zones): (&Timings, Option<&Zones>),
        kubeconfig: &str,
        port: u16,
    ) -> Result<Vec<String>, String> {
        let flags = zones.map(Zones::flags).unwrap_or_default();
        let value = |name: &str| match name {
            "kubeconfig" => Some(kubeconfig.to_owned()),
            "port" => Some(port.to_string()),
            // As a number is written that may be a whole one.
            name => match flags.get(name).and_then(Value::as_f64) {
                Some(number) => Some(number.to_string()),
                None => timings.get(name).map(|length| format!("{}ms", length.as_millis())),
            },
        };
        self.command.iter().map(|part| fill(part, value)).collect()
    }
}

fn fill(part: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = part;
    while let Some((before, marked)) = rest.split_once("{{") {
        let (name, after) =
            marked.split_once("}}").ok_or_else(|| format!("`{part}` has `{{{{` without `}}}}`"))?;
        filled.push_str(before);
        let name = name.trim();
        let unknown = || {
            format!(
                "`{{{{{name}}}}}` stands for nothing: kubeconfig, port, or a timing or flag of the profile"
            )
        };
        filled.push_str(&value(name).ok_or_else(unknown)?);
        rest = after;
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn flags_about_zones_are_written_as_numbers() {
        let command = ["--rate={{nodeEvictionRate}}", "--large={{ largeClusterSizeThreshold }}"];
        let program =
            Program { name: "it".into(), command: command.map(Into::into).into(), ready: None, tls: false };
        let zones = Zones {
            eviction_pause: Duration::from_secs(10),
            secondary_eviction_pause: Duration::from_secs(100),
            large: 50,
            unhealthy_percent: 55,
        };
        let timings = serde_json::from_value(serde_json::json!({
            "statusUpdateFrequency": "10s", "failureThreshold": "0s", "successThreshold": "0s",
            "monitorPeriod": "5s", "monitorGracePeriod": "40s", "failoverEvictionTimeout": "0s",
            "gracefulEvictionTimeout": "0s", "notReadyTolerationSeconds": "0s",
            "unreachableTolerationSeconds": "0s", "refusedProbe": "0s", "recheck": "0s", "takeover": "0s",
            "latency": "0s", "skew": "0s",
        }));
        let timings: Timings = timings.expect("all are there");
        let filled = |zones| program.filled((&timings, zones), "", 1);
        assert_eq!(filled(Some(&zones)).as_deref(), Ok(&["--rate=0.1".to_owned(), "--large=50".into()][..]));
        assert!(filled(None).is_err_and(|why| why.starts_with("`{{nodeEvictionRate}}` stands for nothing")));
    }
}
