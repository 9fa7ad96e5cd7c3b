//! Compares the order of revisions in a recording and in a replay, whose numbers differ.

use serde_json::Value;

/// Collects pairs of corresponding revisions of objects.
/// The revisions of lists are those of the store, and are left out.
pub(crate) fn pair(recorded: &Value, answered: &Value, pairs: &mut Vec<(u64, u64)>) {
    let revision =
        |value: &Value| value["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
    if let (Some(recorded), Some(answered), true) =
        (revision(recorded), revision(answered), recorded["items"].is_null())
    {
        pairs.push((recorded, answered));
    }
    match (recorded, answered) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().filter_map(|(key, a)| Some((a, b.get(key)?))).for_each(|(a, b)| pair(a, b, pairs));
        }
        (Value::Array(a), Value::Array(b)) => a.iter().zip(b).for_each(|(a, b)| pair(a, b, pairs)),
        _ => {}
    }
}

/// The pairs whose order differs, or that are equal in only one of the two.
pub(crate) fn disorder(pairs: &[(u64, u64)]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, (recorded, answered)) in pairs.iter().enumerate() {
        for (other_recorded, other_answered) in &pairs[..index] {
            if recorded.cmp(other_recorded) != answered.cmp(other_answered) {
                found.push(format!(
                    "revisions {other_recorded}, {recorded} became {other_answered}, {answered}"
                ));
            }
        }
    }
    found
}
