//! Validates names, labels, ports and other texts, with the messages of a real server.

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const KEY_NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
    with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
    used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
    'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const QUALIFIED: &str = "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start \
    and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation \
    is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
    'example.com/MyName')";

// There are no regular expressions here. All threads share the caches of regular expressions, so the caches would change
// the random hash keys of a simulation.

/// Returns true if `text` consists of alphanumeric characters and of characters in `inner`.
/// The characters in `inner` are not allowed at the ends of `text`.
fn is_word(text: &str, alphanumeric: fn(&u8) -> bool, inner: &[u8]) -> bool {
    let ends = text.bytes().next().zip(text.bytes().last());
    ends.is_some_and(|(first, last)| alphanumeric(&first) && alphanumeric(&last))
        && text.bytes().all(|byte| alphanumeric(&byte) || inner.contains(&byte))
}

/// Returns true if the text is a DNS label of any length.
pub(crate) fn is_dns_label(text: &str) -> bool {
    is_word(text, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit(), b"-")
}

/// Returns true if the text is a DNS subdomain of any length.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns_label)
}

fn is_key_name(text: &str) -> bool {
    is_word(text, u8::is_ascii_alphanumeric, b"-_.")
}

fn no_longer_than(text: &str, longest: usize) -> Option<String> {
    (text.len() > longest).then(|| format!("must be no more than {longest} bytes"))
}

fn unless(good: bool, message: &str) -> Option<String> {
    (!good).then(|| message.to_owned())
}

/// The reasons why text is not a DNS label.
pub(crate) fn label(text: &str) -> Vec<String> {
    no_longer_than(text, 63).into_iter().chain(unless(is_dns_label(text), LABEL)).collect()
}

/// The reasons why text is not a DNS subdomain.
pub(crate) fn subdomain(text: &str) -> Vec<String> {
    no_longer_than(text, 253).into_iter().chain(unless(is_subdomain(text), SUBDOMAIN)).collect()
}

/// The reasons why text cannot be a segment of a path.
pub(crate) fn path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|part| text.contains(**part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// The reason why text is not a key of a label.
pub(crate) fn label_key(key: &str) -> Option<&'static str> {
    let (prefix, name) = match key.split_once('/') {
        Some((_, name)) if name.contains('/') => return Some(QUALIFIED),
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    match prefix {
        Some("") => return Some("prefix part must be non-empty"),
        Some(prefix) if !is_subdomain(prefix) => return Some(PREFIX),
        _ => {}
    }
    if name.is_empty() {
        return Some("name part must be non-empty");
    }
    if name.len() > 63 {
        return Some("name part must be no more than 63 bytes");
    }
    (!is_key_name(name)).then_some(KEY_NAME)
}

const PREFIX: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
    '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation \
    is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// The reason why text is not a value of a label.
pub(crate) fn label_value(value: &str) -> Option<String> {
    no_longer_than(value, 63).or_else(|| unless(value.is_empty() || is_key_name(value), LABEL_VALUE))
}

/// The reason why text is not a key of a config map or a secret.
pub(crate) fn config_key(key: &str) -> Option<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match key {
        "." | ".." => Some(format!("must not be '{key}'")),
        key if key.starts_with("..") => Some("must not start with '..'".into()),
        key => no_longer_than(key, 253)
            .or_else(|| unless(!key.is_empty() && key.bytes().all(allowed), CONFIG_KEY)),
    }
}

/// The reasons why text is not a name of a port.
pub(crate) fn port_name(name: &str) -> Vec<String> {
    let rules = [
        (name.len() <= 15, "must be no more than 15 characters"),
        (
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (name.bytes().any(|byte| byte.is_ascii_lowercase()), "must contain at least one letter (a-z)"),
        (!name.contains("--"), "must not contain consecutive hyphens"),
        (!name.starts_with('-') && !name.ends_with('-'), "must not begin or end with a hyphen"),
    ];
    rules.iter().filter_map(|(good, message)| unless(*good, message)).collect()
}

/// Returns true if a number is a valid port.
pub(crate) fn is_port(number: i64) -> bool {
    (1..=65_535).contains(&number)
}

/// The message for a number that is not a valid port.
pub(crate) const PORT_RANGE: &str = "must be between 1 and 65535, inclusive";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_a_wrong_form_is_refused_with_the_reason() {
        type Rule = fn(&str) -> bool;
        let good: [(&str, Rule, &[&str], &[&str]); 6] = [
            ("label", |text| label(text).is_empty(), &["a", "a-1", "1"], &["", "A", "a.b", "-a", "a-"]),
            ("subdomain", |text| subdomain(text).is_empty(), &["a.b-c"], &["a..b", "A", ""]),
            ("segment", |text| path_segment(text).is_empty(), &["system:x"], &["a/b", "..", "a%"]),
            ("key", |text| label_key(text).is_none(), &["a", "a.b/C_d"], &["", "/a", "a/b/c", "A/b", "a b"]),
            ("value", |text| label_value(text).is_none(), &["", "A.b_c-d"], &["a b", "-a"]),
            ("port", |text| port_name(text).is_empty(), &["http", "a-1"], &["80", "a--b", "-a", "HTTP"]),
        ];
        for (name, rule, good, bad) in good {
            good.iter().for_each(|text| assert!(rule(text), "{name} {text:?}"));
            bad.iter().for_each(|text| assert!(!rule(text), "{name} {text:?}"));
        }
        assert!(config_key("a.b").is_none() && config_key("a/b").is_some() && config_key("..").is_some());
    }
}
