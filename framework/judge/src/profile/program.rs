//! A program of an implementation, as its profile describes it. The runner starts it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Timings, Zones};

/// One program of an implementation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Program {
    /// The name in messages.
    pub name: String,
    /// The program and its arguments. `{{kubeconfig}}` stands for the path of a kubeconfig of the control plane, and
    /// `{{port}}` for a free port. The name of a timing, like `{{failureThreshold}}`, or of a flag about zones, like
    /// `{{nodeEvictionRate}}`, stands for the value in the profile.
    pub command: Vec<String>,
    /// The path that its port answers with 200 once the program is ready; without it, the program is ready at once.
    #[serde(default)]
    pub ready: Option<String>,
    /// Its port uses TLS with a self-signed certificate.
    #[serde(default)]
    pub tls: bool,
}

impl Program {
    /// Returns the command with all placeholders replaced. Timings are written in milliseconds, as `3000ms`.
    ///
    /// # Errors
    /// An unknown placeholder.
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
            // A whole number must be written without a fraction.
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
                "`{{{{{name}}}}}` is not a placeholder: use kubeconfig, port, or a timing or flag of the profile"
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
        assert!(
            filled(None).is_err_and(|why| why.starts_with("`{{nodeEvictionRate}}` is not a placeholder"))
        );
    }
}
