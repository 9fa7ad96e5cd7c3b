//! The error messages of Go for text that is not JSON.

use serde_json::Error;

/// The message of Go's reader for an error.
/// It follows from the kind of the error and its place in `text`.
pub(crate) fn message(error: &Error, text: &[u8]) -> String {
    if error.is_eof() || text.is_empty() {
        return "unexpected end of JSON input".into();
    }
    let at = place(error, text);
    let Some(found) = text.get(at) else { return "unexpected end of JSON input".into() };
    let shown = match found {
        b'\'' => r"'\''".to_owned(),
        b'"' => r#"'"'"#.to_owned(),
        byte if byte.is_ascii_control() => format!("'{}'", char::from(*byte).escape_default()),
        byte => format!("'{}'", char::from(*byte)),
    };
    let error_text = error.to_string();
    let context = match error_text.split(" at line ").next().unwrap_or_default() {
        "expected value" => "looking for beginning of value".to_owned(),
        "key must be a string" => "looking for beginning of object key string".to_owned(),
        "expected `:`" => "after object key".to_owned(),
        "expected `,` or `}`" => "after object key:value pair".to_owned(),
        "expected `,` or `]`" => "after array element".to_owned(),
        "trailing characters" => "after top-level value".to_owned(),
        "trailing comma" if *found == b'}' => "looking for beginning of object key string".to_owned(),
        "trailing comma" => "looking for beginning of value".to_owned(),
        "expected ident" => return format!("invalid character {shown} {}", in_literal(text, at)),
        "invalid number" => "in numeric literal".to_owned(),
        "invalid escape" => "in string escape code".to_owned(),
        "recursion limit exceeded" => return "exceeded max depth".to_owned(),
        text if text.starts_with("control character") => "in string literal".to_owned(),
        text => return text.to_owned(),
    };
    format!("invalid character {shown} {context}")
}

/// The offset of the byte at which the error is.
fn place(error: &Error, text: &[u8]) -> usize {
    let before = error.line().saturating_sub(1);
    let lines = text.split_inclusive(|byte| *byte == b'\n').take(before);
    lines.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1)
}

/// Returns the place of a wrong byte in Go's words.
/// The place is inside `null`, `true` or `false`, or at the beginning of a value.
fn in_literal(text: &[u8], at: usize) -> String {
    for word in ["null", "true", "false"] {
        for length in (1..word.len()).rev() {
            let begins = at.checked_sub(length).and_then(|start| text.get(start..at));
            if begins == Some(&word.as_bytes()[..length]) {
                return format!("in literal {word} (expecting '{}')", &word[length..=length]);
            }
        }
    }
    "looking for beginning of value".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_json_gets_the_messages_of_go() {
        let table = [
            ("", "unexpected end of JSON input"),
            (r#"{"a""#, "unexpected end of JSON input"),
            ("{not json", "invalid character 'n' looking for beginning of object key string"),
            ("not json", "invalid character 'o' in literal null (expecting 'u')"),
            ("x", "invalid character 'x' looking for beginning of value"),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            (r#"{"a":1 "b"}"#, "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{}\n{}", "invalid character '{' after top-level value"),
            (r#"{"a":1,}"#, "invalid character '}' looking for beginning of object key string"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
        ];
        for (text, expected) in table {
            let error = serde_json::from_str::<serde_json::Value>(text).unwrap_err();
            assert_eq!(message(&error, text.as_bytes()), expected, "{text}: {error}");
        }
    }
}
