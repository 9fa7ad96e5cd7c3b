//! Checks of names, keys and paths. Each function returns the reasons why a text is invalid.
//!
//! Rules and messages: k8s.io/apimachinery `pkg/util/validation/validation.go`; github.com/go-openapi/jsonpointer.

/// The maximum length of the value of a label, and of the name of a policy.
/// Templates have the name of their policy as the value of a label.
pub(super) const LABEL_VALUE_LENGTH: usize = 63;

const CLUSTER_NAME_LENGTH: usize = 48;
const SUBDOMAIN_LENGTH: usize = 253;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Returns the reasons why this is no name of a cluster.
/// The name of a cluster is a short label, because the name of a namespace ends with it.
pub(super) fn not_a_cluster_name(name: &str) -> Vec<String> {
    if name.len() > CLUSTER_NAME_LENGTH {
        return vec![too_long(CLUSTER_NAME_LENGTH)];
    }
    unless(is_label(name), LABEL)
}

/// Checks the key of a label or an annotation: a name, with or without a domain in front.
pub(super) fn not_a_key(key: &str) -> Vec<String> {
    let (domain, name) = match key.split('/').collect::<Vec<_>>().as_slice() {
        [name] => (None, *name),
        [domain, name] => (Some(*domain), *name),
        _ => {
            let with_domain = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a qualified name {NAME} {with_domain}")];
        }
    };
    let in_domain = domain.into_iter().flat_map(|domain| match domain {
        "" => vec![empty()],
        domain if domain.len() > SUBDOMAIN_LENGTH => vec![too_long(SUBDOMAIN_LENGTH)],
        domain => unless(domain.split('.').all(is_label), SUBDOMAIN),
    });
    let in_name = match name {
        "" => vec![empty(), NAME.into()],
        name if name.len() > LABEL_VALUE_LENGTH => vec![too_long(LABEL_VALUE_LENGTH)],
        name => unless(is_name(name), NAME),
    };
    let in_domain = in_domain.map(|why| format!("prefix part {why}"));
    in_domain.chain(in_name.into_iter().map(|why| format!("name part {why}"))).collect()
}

/// Checks the value of a label.
pub(super) fn not_a_label_value(value: &str) -> Vec<String> {
    if value.len() > LABEL_VALUE_LENGTH {
        return vec![too_long(LABEL_VALUE_LENGTH)];
    }
    unless(value.is_empty() || is_name(value), VALUE)
}

/// Checks a JSON pointer: empty, or a path that begins with a slash.
pub(super) fn not_a_pointer(path: &str) -> Vec<String> {
    unless(path.is_empty() || path.starts_with('/'), r#"JSON pointer must be empty or start with a "/"#)
}

/// The reason for a text that is too long.
fn too_long(most: usize) -> String {
    format!("must be no more than {most} characters")
}

fn empty() -> String {
    "must be non-empty".into()
}

fn unless(right: bool, why: &str) -> Vec<String> {
    if right { Vec::new() } else { vec![why.into()] }
}

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= LABEL_VALUE_LENGTH && is_framed(text, inner, "-")
}

fn is_name(text: &str) -> bool {
    is_framed(text, |c| c.is_ascii_alphanumeric(), "-_.")
}

/// Whether a text begins and ends with such characters, and contains only these and those in `within`.
fn is_framed(text: &str, such: impl Fn(char) -> bool, within: &str) -> bool {
    text.starts_with(&such) && text.ends_with(&such) && text.chars().all(|c| such(c) || within.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keys_values_and_paths_are_validated() {
        type Check = fn(&str) -> Vec<String>;
        let long = "a".repeat(64);
        let [longest, prefixed] = [126, 127].map(|parts| format!("{}/a", "a.".repeat(parts) + "a"));
        let cases: [(Check, &str, &str); 26] = [
            (not_a_cluster_name, "member1", ""),
            (not_a_cluster_name, "Member", "a lowercase RFC 1123 label must"),
            (not_a_cluster_name, "a.b", "a lowercase RFC 1123 label must"),
            (not_a_cluster_name, &long[..48], ""),
            (not_a_cluster_name, &long[..49], "must be no more than 48 characters"),
            (not_a_key, "tier", ""),
            (not_a_key, "example.com/Tier_1", ""),
            (not_a_key, "", "name part must be non-empty"),
            (not_a_key, "/tier", "prefix part must be non-empty"),
            (not_a_key, "a/b/c", "a qualified name must"),
            (not_a_key, "tier~1", "name part must consist of"),
            (not_a_key, "Example.com/tier", "prefix part a lowercase RFC 1123 subdomain must"),
            (not_a_key, &longest, ""),
            (not_a_key, &prefixed, "prefix part must be no more than 253 characters"),
            (not_a_key, &format!("{}/a", &long[..63]), ""),
            (not_a_key, &long[..63], ""),
            (not_a_key, &long, "name part must be no more than 63 characters"),
            (not_a_label_value, "", ""),
            (not_a_label_value, "a.B-c_1", ""),
            (not_a_label_value, "-a", "a valid label must be"),
            (not_a_label_value, &long[..63], ""),
            (not_a_label_value, &long, "must be no more than 63 characters"),
            (not_a_pointer, "", ""),
            (not_a_pointer, "/spec/replicas", ""),
            (not_a_pointer, "spec", "JSON pointer must be empty or start with"),
            (not_a_pointer, "a/b", "JSON pointer must be empty or start with"),
        ];
        for (check, text, expected) in cases {
            match (check(text).first(), expected) {
                (None, "") => {}
                (Some(why), expected) if !expected.is_empty() && why.starts_with(expected) => {}
                (why, _) => panic!("{text:?}: {why:?}"),
            }
        }
    }
}
