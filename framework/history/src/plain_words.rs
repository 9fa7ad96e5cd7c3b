//! Replaces the words of the YAML and JSON readers by words for people who write files.

use crate::format::misspelt;

/// Longer lists of known words are left out: they hide the mistake.
const LONGEST_LIST: usize = 12;

/// The message of a reader in words for people.
pub(crate) fn plain_words(message: &str) -> String {
    let number = message.strip_prefix("invalid ").and_then(expected_number);
    if let Some(number) = number {
        return format!("expected {number}");
    }
    let mismatch = message.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((found, name)) = mismatch {
        return format!("expected {}, and this is {}", expected_number(name).unwrap_or(name), shape(found));
    }
    if message.contains("did not find expected key") {
        return "the indentation of this line fits none of the lines before it".to_owned();
    }
    let replaced = [
        ("tabs disallowed", "a tab cannot indent a line: use spaces"),
        ("expected mapping start", "expected fields, such as `{name: value}`"),
        ("expected sequence start", "expected a list, such as `[one, two]`"),
        (
            "end of mapping",
            "expected one field only: an entry of a list has one word, and a `-` begins the next entry",
        ),
        (
            "mapping end",
            "expected one field only: an entry of a list has one word, and a `-` begins the next entry",
        ),
        ("duration format", "expected a length of time, such as `30s` or `5m`"),
    ];
    if let Some((_, plain)) = replaced.iter().find(|(words, _)| message.contains(words)) {
        return (*plain).to_owned();
    }
    match message.split_once(", expected ") {
        Some((what, known)) if what.starts_with("unknown ") => unknown(what, known),
        _ => message.to_owned(),
    }
}

/// The value that was found, as a reader describes it.
fn shape(found: &str) -> &str {
    match found {
        "sequence" => "a list",
        "map" => "a group of fields",
        "unit value" | "null" => "nothing",
        other => other.strip_prefix("string ").unwrap_or(other),
    }
}

/// The kind of number that the name of a type stands for.
fn expected_number(name: &str) -> Option<&'static str> {
    Some(match name {
        "u8" => "a whole number from 0 to 255",
        "u16" | "u32" | "u64" | "usize" | "u128" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" | "i128" => "a whole number",
        "f32" | "f64" => "a number",
        "bool" | "boolean" => "`true` or `false`",
        _ => return None,
    })
}

/// Describes an unknown word, and names known words.
/// The text names the known word that was probably meant, or all known words if these are few.
fn unknown(what: &str, known: &str) -> String {
    let word = what.split('`').nth(1).unwrap_or_default();
    let list = known.trim_start_matches("one of ");
    let all: Vec<&str> = list.split([',', ' ']).map(|each| each.trim_matches('`')).collect();
    let all: Vec<&str> = all.into_iter().filter(|each| !each.is_empty() && *each != "or").collect();
    if let Some(meant) = misspelt(word, &all) {
        return format!("{what}: did you mean `{meant}`?");
    }
    match all.len() {
        0..=LONGEST_LIST => format!("{what}, expected {known}"),
        count => format!("{what}, which is none of the {count} known words"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_ends_in_the_words_of_a_library() {
        let cases = [
            ("invalid u64", "expected a whole number from 0 on"),
            ("invalid u8", "expected a whole number from 0 to 255"),
            (
                "tabs disallowed within this context (block indentation)",
                "a tab cannot indent a line: use spaces",
            ),
            (
                "while parsing a block mapping, did not find expected key",
                "the indentation of this line fits none of the lines before it",
            ),
            ("expected mapping start", "expected fields, such as `{name: value}`"),
            (
                "unknown variant `NoExcute`, expected one of NoSchedule, PreferNoSchedule, NoExecute",
                "unknown variant `NoExcute`: did you mean `NoExecute`?",
            ),
            (
                "unknown field `x`, expected `fleet` or `when`",
                "unknown field `x`, expected `fleet` or `when`",
            ),
            ("a sentence of our own", "a sentence of our own"),
            (r#"invalid type: string "x", expected f64"#, r#"expected a number, and this is "x""#),
            ("invalid type: sequence, expected a name", "expected a name, and this is a list"),
        ];
        for (message, plain) in cases {
            assert_eq!(plain_words(message), plain);
        }
        let many: Vec<String> = (0..40).map(|number| format!("Feature{number:03}")).collect();
        let message = format!("unknown variant `Foo`, expected one of {}", many.join(", "));
        assert_eq!(plain_words(&message), "unknown variant `Foo`, which is none of the 40 known words");
    }
}
