//! Validates labels, and the selectors of workloads and budgets.

use serde_json::Value;

use super::At;
use super::text;
use crate::http::failure::Cause;

/// Validates the labels of an object or a template.
pub(crate) fn labels(at: &At<'_>, causes: &mut Vec<Cause>) {
    for (key, value) in at.value.as_object().into_iter().flatten() {
        let problem = text::label_key(key);
        causes.extend(problem.map(|why| Cause::invalid(at.path(), &key.as_str().into(), why)));
        let problem = text::label_value(value.as_str().unwrap_or_default());
        causes.extend(problem.map(|why| Cause::invalid(at.path(), value, &why)));
    }
}

/// Validates a label selector in a spec.
pub(super) fn selector(at: &At<'_>, causes: &mut Vec<Cause>) {
    labels(&at.field("matchLabels"), causes);
    let expressions = at.field("matchExpressions");
    for expression in expressions.items() {
        let (operator, values) = (expression.field("operator"), expression.field("values"));
        match operator.text() {
            "In" | "NotIn" if values.len() == 0 => {
                causes.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "In" | "NotIn" => {}
            "Exists" | "DoesNotExist" if values.len() > 0 => {
                causes.push(
                    values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
                );
            }
            "Exists" | "DoesNotExist" => {}
            _ => causes.push(operator.invalid_text("not a valid selector operator")),
        }
        let key = expression.field("key");
        causes.extend(text::label_key(key.text()).map(|why| key.invalid_text(why)));
        for value in values.items() {
            causes.extend(text::label_value(value.text()).map(|why| value.invalid(&why)));
        }
    }
}

/// Returns true if a selector is empty, and therefore selects everything.
pub(super) fn is_empty(selector: &Value) -> bool {
    let part = |field: &str| match &selector[field] {
        Value::Object(map) => map.len(),
        Value::Array(list) => list.len(),
        _ => 0,
    };
    part("matchLabels") + part("matchExpressions") == 0
}

/// Returns true if a selector selects these labels. An unset selector selects nothing.
pub(crate) fn selects(selector: &Value, labels: &Value) -> bool {
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let wanted = selector["matchLabels"].as_object().into_iter().flatten();
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    let holds = |expression: &Value| {
        let found = label(expression["key"].as_str().unwrap_or_default());
        let listed = || {
            let values = expression["values"].as_array();
            values.is_some_and(|values| values.iter().any(|value| value.as_str() == found))
        };
        match expression["operator"].as_str().unwrap_or_default() {
            "In" => found.is_some() && listed(),
            "NotIn" => found.is_none() || !listed(),
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => false,
        }
    };
    selector.is_object()
        && wanted.into_iter().all(|(key, value)| label(key) == value.as_str())
        && expressions.into_iter().all(holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_selector_matches_if_all_its_terms_match() {
        let labels = json!({"app": "web", "tier": "front"});
        let expression = |operator: &str, key: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        let table = [
            (json!({"matchLabels": {"app": "web"}}), true),
            (json!({"matchLabels": {"app": "web", "tier": "back"}}), false),
            (json!({}), true),
            (Value::Null, false),
            (expression("In", "app", json!(["web", "x"])), true),
            (expression("In", "none", json!(["web"])), false),
            (expression("NotIn", "none", json!(["web"])), true),
            (expression("Exists", "tier", json!([])), true),
            (expression("DoesNotExist", "tier", json!([])), false),
        ];
        for (selector, expected) in table {
            assert_eq!(selects(&selector, &labels), expected, "{selector}");
        }
    }
}
