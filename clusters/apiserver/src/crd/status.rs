//! The status of a definition: whether its names are free, and whether it is served.

use serde_json::{Value, json};

/// A condition of a definition: its type, status, reason and message.
type Condition = (&'static str, bool, &'static str, String);

/// What is in the way of a name: the reason that the condition gives, and what it says.
fn conflict(definition: &Value, others: &[&Value]) -> Option<(&'static str, String)> {
    let names = |definition: &Value, field: &str| -> Vec<Value> {
        match &definition["spec"]["names"][field] {
            Value::Array(list) => list.clone(),
            Value::Null => Vec::new(),
            name => vec![name.clone()],
        }
    };
    let resources = |definition: &Value| {
        ["plural", "singular", "shortNames"]
            .iter()
            .flat_map(|field| names(definition, field))
            .collect::<Vec<_>>()
    };
    let kinds = |definition: &Value| {
        ["kind", "listKind"].iter().flat_map(|field| names(definition, field)).collect::<Vec<_>>()
    };
    let taken_resources: Vec<_> = others.iter().flat_map(|other| resources(other)).collect();
    let taken_kinds: Vec<_> = others.iter().flat_map(|other| kinds(other)).collect();
    let checks = [
        ("plural", "PluralConflict", &taken_resources),
        ("singular", "SingularConflict", &taken_resources),
        ("shortNames", "ShortNamesConflict", &taken_resources),
        ("kind", "KindConflict", &taken_kinds),
        ("listKind", "ListKindConflict", &taken_kinds),
    ];
    checks.into_iter().find_map(|(field, reason, taken)| {
        let name = names(definition, field).into_iter().find(|name| taken.contains(name))?;
        Some((reason, format!("{name} is already in use")))
    })
}

/// Brings the status of a definition up to date. `others` are the established definitions of its group. Says whether
/// it is served.
pub(super) fn update(definition: &mut Value, others: &[&Value], now: &Value) -> bool {
    let conflict = conflict(definition, others);
    let served = conflict.is_none() || is_true(definition, "Established");
    let conditions: [Condition; 2] = match conflict {
        None => [
            ("NamesAccepted", true, "NoConflicts", "no conflicts found".into()),
            ("Established", true, "InitialNamesAccepted", "the initial names have been accepted".into()),
        ],
        Some((reason, message)) => [
            ("NamesAccepted", false, reason, message),
            ("Established", served, "NotAccepted", "not all names are accepted".into()),
        ],
    };
    if !definition["status"].is_object() {
        definition["status"] = json!({});
    }
    let spec = definition["spec"].clone();
    let status = &mut definition["status"];
    if conditions[0].1 {
        status["acceptedNames"] = spec["names"].clone();
    }
    let versions = spec["versions"].as_array().into_iter().flatten();
    let mut stored = status["storedVersions"].as_array().cloned().unwrap_or_default();
    for version in versions.filter(|version| version["storage"] == true) {
        if !stored.contains(&version["name"]) {
            stored.push(version["name"].clone());
        }
    }
    status["storedVersions"] = Value::Array(stored);
    for (kind, holds, reason, message) in conditions {
        if is_true(definition, kind) != holds || condition(definition, kind).is_none() {
            let status = if holds { "True" } else { "False" };
            let condition = json!({"type": kind, "status": status, "reason": reason, "message": message,
                "lastTransitionTime": now});
            set_condition(definition, condition);
        }
    }
    served
}

fn condition<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    definition["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// Whether a condition of a definition holds.
pub(super) fn is_true(definition: &Value, kind: &str) -> bool {
    condition(definition, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Sets a condition; those of other types stay in their order.
pub(super) fn set_condition(definition: &mut Value, condition: Value) {
    let conditions = &mut definition["status"]["conditions"];
    let mut list = conditions.as_array().cloned().unwrap_or_default();
    match list.iter_mut().find(|present| present["type"] == condition["type"]) {
        Some(present) => *present = condition,
        None => list.push(condition),
    }
    *conditions = Value::Array(list);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(plural: &str, kind: &str) -> Value {
        json!({"spec": {"names": {"plural": plural, "kind": kind, "listKind": format!("{kind}List"),
            "singular": kind.to_lowercase()}, "versions": [{"name": "v1", "storage": true}]}})
    }

    #[test]
    fn a_definition_whose_kind_is_taken_is_not_served() {
        let first = definition("widgets", "Widget");
        let mut second = definition("gadgets", "Widget");
        second["spec"]["names"]["singular"] = "gadget".into();
        assert!(!update(&mut second, &[&first], &json!("now")));
        let reasons: Vec<_> =
            second["status"]["conditions"].as_array().unwrap().iter().map(|c| &c["reason"]).collect();
        assert_eq!(reasons, ["KindConflict", "NotAccepted"]);
        assert!(update(&mut second, &[], &json!("now")));
        assert_eq!(second["status"]["acceptedNames"]["kind"], "Widget");
    }
}
