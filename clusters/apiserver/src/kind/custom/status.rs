//! The status of a CRD: the acceptance of its names, and its conditions.

use serde_json::{Value, json};

use super::approval::{self, Approval};

/// A condition of a definition: its type, status, reason and message.
type Condition = (&'static str, bool, &'static str, String);

/// Returns the accepted names of a definition, and the reason and message of a conflict.
/// `before` are the names that were accepted earlier.
fn accept(definition: &Value, before: &Value, others: &[&Value]) -> (Value, Option<(&'static str, String)>) {
    const RESOURCES: [&str; 3] = ["plural", "singular", "shortNames"];
    let names = |names: &Value, field: &str| -> Vec<Value> {
        match &names[field] {
            Value::Array(list) => list.clone(),
            Value::Null => Vec::new(),
            name => vec![name.clone()],
        }
    };
    let taken = |fields: &[&str]| -> Vec<Value> {
        let of = |other: &&Value| -> Vec<Value> {
            fields.iter().flat_map(|field| names(&other["spec"]["names"], field)).collect()
        };
        others.iter().flat_map(of).collect()
    };
    let (resources, kinds) = (taken(&RESOURCES), taken(&["kind", "listKind"]));
    let checks = [
        ("plural", "PluralConflict", &resources),
        ("singular", "SingularConflict", &resources),
        ("shortNames", "ShortNamesConflict", &resources),
        ("kind", "KindConflict", &kinds),
        ("listKind", "ListKindConflict", &kinds),
    ];
    let wanted = &definition["spec"]["names"];
    let mut accepted = before.clone();
    let mut conflict = None;
    for (field, reason, taken) in checks {
        let known = names(before, field);
        let clash =
            names(wanted, field).into_iter().find(|name| taken.contains(name) && !known.contains(name));
        match clash {
            // The last conflict is reported.
            Some(name) => conflict = Some((reason, format!("{name} is already in use"))),
            None if wanted[field].is_null() => {
                accepted.as_object_mut().map(|names| names.remove(field));
            }
            None => accepted[field] = wanted[field].clone(),
        }
    }
    if !wanted["categories"].is_null() {
        accepted["categories"] = wanted["categories"].clone();
    }
    (accepted, conflict)
}

/// Updates the status of a CRD.
/// `others` are the CRDs of its group whose names are accepted. Returns true if the CRD is served.
pub(super) fn update(definition: &mut Value, others: &[&Value], now: &Value) -> bool {
    let before = match &definition["status"]["acceptedNames"] {
        names @ Value::Object(_) => names.clone(),
        _ => json!({"plural": "", "kind": ""}),
    };
    let (accepted, conflict) = accept(definition, &before, others);
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
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let mut stored = definition["status"]["storedVersions"].as_array().cloned().unwrap_or_default();
    for version in versions.filter(|version| version["storage"] == true) {
        if !stored.contains(&version["name"]) {
            stored.push(version["name"].clone());
        }
    }
    let status = &mut definition["status"];
    status["acceptedNames"] = accepted;
    status["storedVersions"] = Value::Array(stored);
    let approval = approval::of(definition).map(|(approval, message)| {
        let holds = approval == Approval::Approved;
        ("KubernetesAPIApprovalPolicyConformant", holds, approval.reason(), message)
    });
    for (kind, holds, reason, message) in conditions.into_iter().chain(approval) {
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

/// Returns true if a condition of a definition is true.
pub(super) fn is_true(definition: &Value, kind: &str) -> bool {
    condition(definition, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Returns true if a definition has a condition of this type with this reason.
pub(super) fn has_reason(definition: &Value, wanted: &Value) -> bool {
    let found = wanted["type"].as_str().and_then(|kind| condition(definition, kind));
    found.is_some_and(|found| found["reason"] == wanted["reason"])
}

/// Sets a condition; other conditions keep their order.
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
        assert_eq!(reasons, ["ListKindConflict", "NotAccepted"]);
        assert_eq!(
            second["status"]["acceptedNames"],
            json!({"plural": "gadgets", "kind": "", "singular": "gadget"})
        );
        assert!(update(&mut second, &[], &json!("now")));
        assert_eq!(second["status"]["acceptedNames"]["kind"], "Widget");
    }
}
