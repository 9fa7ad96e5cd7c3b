//! A program of an implementation, as its profile or kit describes it. The runner starts it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Timings, Zones};

/// One program of an implementation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Program {
    /// The name in messages.
    pub name: String,
    /// The program and its arguments, with placeholders; see [`Program::filled`].
    pub command: Vec<String>,
    /// The path that its port answers with 200 once the program is ready.
    /// Without a path, the program is ready at once.
    #[serde(default)]
    pub ready: Option<String>,
    /// Its port uses TLS. The certificate is not checked.
    #[serde(default)]
    pub tls: bool,
    /// The program is an agent, and runs once for each member in pull mode.
    /// It goes on when the controllers are killed.
    #[serde(default)]
    pub per_pull_member: bool,
    /// The common name of a self-signed certificate, with placeholders.
    /// The certificate is made for each start of the program. The texts of objects have it as
    /// `{{identity.certificate}}`, and its key as `{{identity.key}}`.
    #[serde(default)]
    pub identity: Option<String>,
    /// The names of the user's definitions that are also installed in the agent's member.
    #[serde(default)]
    pub member_definitions: Vec<String>,
    /// Objects that are applied to the member of an agent before the agent starts, in this order.
    /// Their texts have placeholders, too.
    #[serde(default)]
    pub member_objects: Vec<Value>,
    /// Objects that are applied to the control plane when the program is ready, in this order.
    /// Their texts have placeholders, too.
    #[serde(default)]
    pub objects: Vec<Value>,
}

impl Program {
    /// Returns the command with all placeholders replaced.
    /// `known` returns the values of the placeholders that depend on the run. Others are the names of timings and
    /// flags:
    ///
    /// - `{{failureThreshold}}` is a timing in milliseconds, as `3000ms`;
    /// - `{{failureThreshold.seconds}}` is the number of seconds, as `3`;
    /// - `{{evictionPace.rate}}` is how often the time fits into a second, as `0.5`;
    /// - `{{nodeEvictionRate}}` is a flag about zones.
    ///
    /// # Errors
    /// An unknown placeholder.
    pub fn filled(
        &self,
        settings: (&Timings, Option<&Zones>),
        known: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<String>, String> {
        let value = |name: &str| known(name).or_else(|| setting(settings, name));
        self.command.iter().map(|part| fill(part, value)).collect()
    }

    /// Returns `objects` of the program with all placeholders in their texts replaced.
    ///
    /// # Errors
    /// An unknown placeholder.
    pub fn filled_objects(
        objects: &[Value],
        settings: (&Timings, Option<&Zones>),
        known: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<Value>, String> {
        let value = |name: &str| known(name).or_else(|| setting(settings, name));
        objects.iter().map(|object| fill_object(object, &value)).collect()
    }

    /// Returns the common name of the program's certificate with all placeholders replaced, if it has one.
    ///
    /// # Errors
    /// An unknown placeholder.
    pub fn filled_identity(
        &self,
        settings: (&Timings, Option<&Zones>),
        known: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<String>, String> {
        let value = |name: &str| known(name).or_else(|| setting(settings, name));
        self.identity.as_ref().map(|name| fill(name, value)).transpose()
    }
}

/// The value of a timing or of a flag about zones.
fn setting((timings, zones): (&Timings, Option<&Zones>), name: &str) -> Option<String> {
    let flags = zones.map(Zones::flags).unwrap_or_default();
    // A whole number must be written without a fraction.
    if let Some(number) = flags.get(name).and_then(Value::as_f64) {
        return Some(number.to_string());
    }
    match name.split_once('.') {
        None => timings.get(name).map(|length| format!("{}ms", length.as_millis())),
        Some((name, "seconds")) => timings.get(name).map(|length| length.as_secs_f64().to_string()),
        Some((name, "rate")) => timings.get(name).map(|length| length.as_secs_f64().recip().to_string()),
        Some(_) => None,
    }
}

fn fill_object(object: &Value, value: &impl Fn(&str) -> Option<String>) -> Result<Value, String> {
    Ok(match object {
        // A text that is nothing but a placeholder for a number stays a text: objects with numbers give them themselves.
        Value::String(text) => Value::String(fill(text, value)?),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| fill_object(item, value)).collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let filled = fields.iter().map(|(name, field)| Ok((name.clone(), fill_object(field, value)?)));
            Value::Object(filled.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
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
            if Timings::NAMES.contains(&name.trim_end_matches(".seconds").trim_end_matches(".rate")) {
                return format!("`{{{{{name}}}}}` has no value: the profile does not set this timing");
            }
            format!(
                "`{{{{{name}}}}}` is not a placeholder: use kubeconfig, kubeconfig.text, port, NAME.port of another program, \
                 folder, certificates, caBundle, a timing or flag of the profile, member and member.kubeconfig in an agent, \
                 or identity.certificate and identity.key in an object of a program with an identity"
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

    use serde_json::json;

    use super::*;

    fn program(command: &[&str], objects: Vec<Value>) -> Program {
        let command = command.iter().map(|part| (*part).to_owned()).collect();
        Program { name: "it".into(), command, objects, ..Program::default() }
    }

    fn timings() -> Timings {
        serde_json::from_value(json!({
            "statusUpdateFrequency": "10s", "failureThreshold": "1500ms", "successThreshold": "0s",
            "monitorPeriod": "5s", "monitorGracePeriod": "40s", "failoverEvictionTimeout": "0s",
            "gracefulEvictionTimeout": "0s", "notReadyTolerationSeconds": "0s",
            "unreachableTolerationSeconds": "0s", "refusedProbe": "0s", "recheck": "0s", "takeover": "0s",
            "latency": "0s", "skew": "0s", "evictionPace": "2s",
        }))
        .expect("all are there")
    }

    #[test]
    fn flags_about_zones_are_written_as_numbers() {
        let program =
            program(&["--rate={{nodeEvictionRate}}", "--large={{ largeClusterSizeThreshold }}"], vec![]);
        let zones = Zones {
            eviction_pause: Duration::from_secs(10),
            secondary_eviction_pause: Duration::from_secs(100),
            large: 50,
            unhealthy_percent: 55,
        };
        let timings = timings();
        let filled = |zones| program.filled((&timings, zones), &|_| None);
        assert_eq!(filled(Some(&zones)).as_deref(), Ok(&["--rate=0.1".to_owned(), "--large=50".into()][..]));
        assert!(
            filled(None).is_err_and(|why| why.starts_with("`{{nodeEvictionRate}}` is not a placeholder"))
        );
    }

    #[test]
    fn timings_are_written_in_milliseconds_in_seconds_and_as_rates() {
        let parts = [
            "{{failureThreshold}} {{failureThreshold.seconds}}",
            "{{monitorPeriod.seconds}} {{evictionPace.rate}}",
        ];
        let filled = program(&parts, vec![]).filled((&timings(), None), &|_| None);
        assert_eq!(filled.as_deref(), Ok(&["1500ms 1.5".to_owned(), "5 0.5".into()][..]));
        let unknown = program(&["{{failureThreshold.hours}}"], vec![]).filled((&timings(), None), &|_| None);
        assert!(unknown.is_err());
    }

    #[test]
    fn texts_of_objects_are_filled_at_any_depth() {
        let known = |name: &str| (name == "webhook.port").then(|| "8443".to_owned());
        let objects = vec![json!({"a": [{"url": "https://localhost:{{webhook.port}}/x", "count": 2}]})];
        let filled = Program::filled_objects(&objects, (&timings(), None), &known);
        assert_eq!(filled, Ok(vec![json!({"a": [{"url": "https://localhost:8443/x", "count": 2}]})]));
    }

    #[test]
    fn the_name_of_an_identity_has_placeholders() {
        let identity = |text: Option<&str>| {
            let agent = Program { identity: text.map(str::to_owned), ..program(&[], vec![]) };
            let known = |name: &str| (name == "member").then(|| "m1".to_owned());
            agent.filled_identity((&timings(), None), &known)
        };
        assert_eq!(identity(Some("agent-of-{{member}}")), Ok(Some("agent-of-m1".into())));
        assert_eq!(identity(None), Ok(None));
        assert!(identity(Some("{{nobody}}")).is_err_and(|why| why.contains("identity.key")));
    }
}
