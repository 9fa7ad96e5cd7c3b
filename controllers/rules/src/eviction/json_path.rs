//! Reads a value of an object by a path as in kubectl: `{.a.b[0]['c']}`, with text around it.
//!
//! k8s.io/client-go `util/jsonpath`, without filters, ranges, recursion and escapes, which are refused.

use serde_json::Value;

/// One step into an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'a> {
    Field(&'a str),
    /// An index; negative values count from the end.
    Index(i64),
    All,
}

/// Returns the text of `template` with each path in braces replaced by the value in `object`.
///
/// # Errors
/// A path is not supported, or there is no value at it.
pub fn json_path(template: &str, object: &Value) -> Result<String, String> {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once('{') {
        let (path, after) = after.split_once('}').ok_or_else(|| format!("unclosed action in {template}"))?;
        text.push_str(before);
        let values = steps(path.trim())?.into_iter().try_fold(vec![object], take)?;
        let values: Vec<String> = values.into_iter().map(printed).collect();
        text.push_str(&values.join(" "));
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

fn steps(path: &str) -> Result<Vec<Step<'_>>, String> {
    let mut rest = path.strip_prefix(['$', '@']).unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() && rest != "." {
        if let Some(after) = rest.strip_prefix('[') {
            let (inside, after) =
                after.split_once(']').ok_or_else(|| format!("unterminated array in {path}"))?;
            steps.push(subscript(inside).ok_or_else(|| format!("[{inside}] in {path} is not understood"))?);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (field, after) = after.split_at(end);
            match field {
                "" => return Err(format!("{path} is not understood")),
                "*" => steps.push(Step::All),
                _ => steps.push(Step::Field(field)),
            }
            rest = after;
        } else {
            return Err(format!("{path} is not understood"));
        }
    }
    Ok(steps)
}

fn subscript(inside: &str) -> Option<Step<'_>> {
    if inside == "*" {
        return Some(Step::All);
    }
    let quoted = inside.strip_prefix('\'').and_then(|inside| inside.strip_suffix('\''));
    quoted.map(Step::Field).or_else(|| inside.parse().ok().map(Step::Index))
}

fn take<'a>(values: Vec<&'a Value>, step: Step<'_>) -> Result<Vec<&'a Value>, String> {
    let mut taken = Vec::new();
    for value in values {
        match (step, value) {
            (Step::Field(field), Value::Object(map)) => {
                taken.push(map.get(field).ok_or_else(|| format!("{field} is not found"))?);
            }
            (Step::Index(index), Value::Array(list)) => {
                let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
                let index = if index < 0 { index.saturating_add(length) } else { index };
                let element = usize::try_from(index).ok().and_then(|index| list.get(index));
                taken.push(element.ok_or_else(|| format!("array index out of bounds: {index}"))?);
            }
            (Step::All, Value::Array(list)) => taken.extend(list),
            (Step::All, Value::Object(map)) => taken.extend(map.values()),
            (step, _) => return Err(format!("{step:?} leads into a value without parts")),
        }
    }
    Ok(taken)
}

fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_to_its_value() {
        let object = json!({"replicas": 3, "phase": "Running", "jobs": [{"id": "a"}, {"id": "b"}], "k/y": {"z": true}});
        let cases = [
            ("{.replicas}", "3"),
            ("{ $.phase }", "Running"),
            ("{.jobs[0].id}", "a"),
            ("{.jobs[-1].id}", "b"),
            ("{.jobs[*].id}", "a b"),
            ("{.jobs.*.id}", "a b"),
            ("{['k/y'].z}", "true"),
            ("{.jobs[1]}", r#"{"id":"b"}"#),
            ("at-{.replicas}-of-{.phase}", "at-3-of-Running"),
            ("plain", "plain"),
        ];
        for (path, expected) in cases {
            assert_eq!(json_path(path, &object).as_deref(), Ok(expected), "{path}");
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_is_an_error() {
        let object = json!({"replicas": 3, "jobs": []});
        let paths = [
            "{.missing}",
            "{.replicas.more}",
            "{.jobs[0]}",
            "{.jobs[",
            "{..id}",
            "{.jobs..id}",
            "{.jobs[?(@.id)]}",
            "{x}",
        ];
        for path in paths {
            assert!(json_path(path, &object).is_err(), "{path}");
        }
    }
}
