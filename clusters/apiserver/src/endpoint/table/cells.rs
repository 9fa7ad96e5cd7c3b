//! Shared helpers for cells: ages, selectors, lists, and unset values.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

/// A string field; empty if it is not set.
pub(super) fn str_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A number field; 0 if it is not set.
pub(super) fn int_of(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// The items of a list field; none if it is not set.
pub(super) fn items(value: &Value) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
    value.as_array().map_or(&[][..], Vec::as_slice).iter()
}

/// The number of entries of a list or map field.
pub(super) fn count(value: &Value) -> i64 {
    let count = match value {
        Value::Array(list) => list.len(),
        Value::Object(map) => map.len(),
        _ => 0,
    };
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A string field, or `otherwise` if it is not set.
pub(super) fn or<'a>(value: &'a Value, otherwise: &'a str) -> &'a str {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or(otherwise)
}

/// A string field, or `<none>`.
pub(super) fn or_none(value: &Value) -> &str {
    or(value, "<none>")
}

/// A value that is text or a number, as text.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The name of an object.
pub(super) fn name(object: &Value) -> Value {
    str_of(&object["metadata"]["name"]).into()
}

/// The time since an object was created.
pub(super) fn age(object: &Value, now: Timestamp) -> Value {
    since(&object["metadata"]["creationTimestamp"], now).into()
}

/// The duration from a time to now.
pub(super) fn since(time: &Value, now: Timestamp) -> String {
    match time.as_str() {
        None | Some("") => "<unknown>".to_owned(),
        Some(text) => match capsize_clock::parse_time(text) {
            Some(time) => human(now.duration_since(time)),
            None => "<invalid>".to_owned(),
        },
    }
}

/// The duration between two times.
pub(super) fn between(from: &Value, to: &Value) -> Option<String> {
    let time = |value: &Value| value.as_str()?.parse::<Timestamp>().ok();
    Some(human(time(to)?.duration_since(time(from)?)))
}

/// A duration in the one or two largest units, as kubectl prints it.
pub(super) fn human(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{small_unit}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 192 => two(days, "d", hours % 24, "h"),
        _ if days < 730 => format!("{days}d"),
        _ if days < 2920 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

/// The terms of a map of labels as a selector.
fn pairs(labels: Option<&Map<String, Value>>) -> Vec<(String, String)> {
    let labels = labels.into_iter().flatten();
    labels.map(|(key, value)| (key.clone(), format!("{key}={}", str_of(value)))).collect()
}

fn joined(mut requirements: Vec<(String, String)>) -> String {
    requirements.sort();
    requirements.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

/// A map of labels as text, or `<none>`.
pub(super) fn labels(labels: &Value) -> String {
    let text = joined(pairs(labels.as_object()));
    if text.is_empty() { "<none>".to_owned() } else { text }
}

/// A label selector as text; empty if it selects everything.
pub(super) fn selector_text(selector: &Value) -> String {
    let mut requirements = pairs(selector["matchLabels"].as_object());
    for expression in items(&selector["matchExpressions"]) {
        let key = str_of(&expression["key"]);
        let mut values: Vec<&str> = items(&expression["values"]).map(str_of).collect();
        values.sort_unstable();
        let values = values.join(",");
        let text = match str_of(&expression["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return "<error>".to_owned(),
        };
        requirements.push((key.to_owned(), text));
    }
    joined(requirements)
}

/// A label selector as text, or `<none>`.
pub(super) fn selector(selector: &Value) -> String {
    let text = selector_text(selector);
    if text.is_empty() { "<none>".to_owned() } else { text }
}

/// The names and the images of the containers of a pod spec.
pub(super) fn containers(spec: &Value) -> [Value; 2] {
    ["name", "image"].map(|field| {
        let all: Vec<&str> = items(&spec["containers"]).map(|container| str_of(&container[field])).collect();
        all.join(",").into()
    })
}

/// The first `most` entries of `list`, and the number of further entries.
pub(super) fn with_more(list: &[String], most: usize) -> String {
    let shown = list.iter().take(most).cloned().collect::<Vec<_>>().join(",");
    if list.len() > most { format!("{shown} + {} more...", list.len() - most) } else { shown }
}

/// The status of the condition of that type; empty if there is none.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let found = items(&object["status"]["conditions"]).find(|condition| condition["type"] == kind);
    found.map_or("", |condition| str_of(&condition["status"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn durations_have_at_most_two_units() {
        let table = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (8 * 3600 + 60, "8h"),
            (48 * 3600, "2d"),
            (49 * 3600, "2d1h"),
            (8 * 86_400, "8d"),
            (730 * 86_400, "2y"),
            (731 * 86_400, "2y1d"),
            (3000 * 86_400, "8y"),
        ];
        for (seconds, expected) in table {
            assert_eq!(human(SignedDuration::from_secs(seconds)), expected, "{seconds}");
        }
    }

    #[test]
    fn selectors_are_sorted_by_their_keys() {
        let chosen = json!({"matchLabels": {"b": "1"}, "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["y", "x"]}, {"key": "c", "operator": "DoesNotExist"}]});
        assert_eq!(selector(&chosen), "a in (x,y),b=1,!c");
        assert_eq!(selector(&Value::Null), "<none>");
    }
}
