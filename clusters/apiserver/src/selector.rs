//! Label and field selectors: their syntax, and what they select.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::events::core_path;
use crate::failure::Failure;
use crate::kinds::Kind;

/// What a list or a watch is narrowed to. Empty selects everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldRequirement>,
}

#[derive(Clone, Debug)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Exists,
    Absent,
    In(BTreeSet<String>),
    /// Holds for objects without the key too.
    NotIn(BTreeSet<String>),
    Above(i64),
    Below(i64),
}

#[derive(Clone, Debug)]
struct FieldRequirement {
    path: Vec<String>,
    value: String,
    equal: bool,
}

impl Selector {
    /// Reads both selectors of a request for `kind`.
    ///
    /// # Errors
    /// A bad request where the syntax is wrong or the kind has no such selectable field.
    pub(crate) fn parse(labels: &str, fields: &str, kind: &Kind) -> Result<Self, Failure> {
        Ok(Self { labels: parse_labels(labels)?, fields: parse_fields(fields, kind)? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The name that a field selector narrows to, where it does.
    pub(crate) fn name(&self) -> Option<&str> {
        let by_name = |r: &&FieldRequirement| r.equal && r.path == ["metadata", "name"];
        self.fields.iter().find(by_name).map(|requirement| requirement.value.as_str())
    }

    /// Whether `object` is selected.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.labels.iter().all(|requirement| requirement.holds(labels[&requirement.key].as_str()))
            && self.fields.iter().all(|requirement| requirement.holds(object))
    }
}

impl Requirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Test::Above(bound) => number().is_some_and(|number| number > *bound),
            Test::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

impl FieldRequirement {
    fn holds(&self, object: &Value) -> bool {
        let found = self.path.iter().try_fold(object, |at, step| at.get(step));
        let equal = match found {
            None | Some(Value::Null) => self.value.is_empty() || self.is_false_flag(),
            Some(Value::String(text)) => *text == self.value,
            Some(other) => self.value == format!("{other}"),
        };
        equal == self.equal
    }

    /// A flag that is not set reads as `false`.
    fn is_false_flag(&self) -> bool {
        self.value == "false"
            && matches!(self.path.last().map(String::as_str), Some("unschedulable" | "hostNetwork"))
    }
}

/// The fields of built-in kinds that can be selected by, beside `metadata.name` and `metadata.namespace`.
fn selectable(kind: &Kind) -> &'static [&'static str] {
    match (&*kind.group, &*kind.plural) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "events") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("", "replicationcontrollers") | ("apps", "replicasets") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        ("certificates.k8s.io", _) => &["spec.signerName"],
        _ => &[],
    }
}

fn parse_fields(text: &str, kind: &Kind) -> Result<Vec<FieldRequirement>, Failure> {
    let mut requirements = Vec::new();
    for term in text.split(',').filter(|term| !term.is_empty()) {
        let (field, value, equal) = term
            .split_once("!=")
            .map(|(field, value)| (field, value, false))
            .or_else(|| term.split_once("==").map(|(field, value)| (field, value, true)))
            .or_else(|| term.split_once('=').map(|(field, value)| (field, value, true)))
            .ok_or_else(|| {
                Failure::bad_request(format!("invalid selector: '{text}'; can't understand '{term}'"))
            })?;
        let known = matches!(field, "metadata.name" | "metadata.namespace")
            || selectable(kind).contains(&field)
            || kind.schema.as_ref().is_some_and(|schema| schema.selectable_fields.iter().any(|f| f == field));
        if !known {
            let message = if kind.is_custom() {
                format!("field label not supported: {field}")
            } else {
                format!("field label {field:?} not supported for {:?}", kind.kind)
            };
            return Err(Failure::bad_request(message));
        }
        let field = if kind.is_new_event() { core_path(field) } else { field.to_owned() };
        let path = field.split('.').map(str::to_owned).collect();
        requirements.push(FieldRequirement { path, value: value.to_owned(), equal });
    }
    Ok(requirements)
}

/// The tokens of a label selector. Words are keys, values, and the operators spelled as words.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn shown(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Symbol(symbol) => symbol,
            Self::End => "",
        }
    }
}

struct Tokens<'a> {
    rest: &'a str,
}

impl Tokens<'_> {
    fn peek(&self) -> Token {
        Self { rest: self.rest }.next()
    }

    fn next(&mut self) -> Token {
        self.rest = self.rest.trim_start();
        for symbol in ["==", "!=", "=", "!", "(", ")", ",", ">", "<"] {
            if let Some(rest) = self.rest.strip_prefix(symbol) {
                self.rest = rest;
                return Token::Symbol(symbol);
            }
        }
        let end = self.rest.find(|c: char| c.is_whitespace() || "=!(),><".contains(c));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        if word.is_empty() { Token::End } else { Token::Word(word.to_owned()) }
    }
}

fn parse_labels(text: &str) -> Result<Vec<Requirement>, Failure> {
    let mut tokens = Tokens { rest: text };
    let mut requirements = Vec::new();
    if tokens.peek() == Token::End {
        return Ok(requirements);
    }
    loop {
        requirements.push(parse_requirement(&mut tokens)?);
        match tokens.next() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => {}
            other => return Err(unexpected(&other, "',' or 'end of string'")),
        }
    }
}

fn unexpected(found: &Token, expected: &str) -> Failure {
    Failure::bad_request(format!("found '{}', expected: {expected}", found.shown()))
}

fn unparsable(found: &Token, expected: &str) -> Failure {
    Failure::bad_request(format!(
        "unable to parse requirement: found '{}', expected: {expected}",
        found.shown()
    ))
}

fn parse_requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, Failure> {
    let mut key = tokens.next();
    let absent = key == Token::Symbol("!");
    if absent {
        key = tokens.next();
    }
    let Token::Word(key) = key else {
        return Err(unexpected(
            &key,
            if absent { "identifier" } else { "!, identifier, or 'end of string'" },
        ));
    };
    if absent {
        return Ok(Requirement { key, test: Test::Absent });
    }
    if matches!(tokens.peek(), Token::End | Token::Symbol(",")) {
        return Ok(Requirement { key, test: Test::Exists });
    }
    let test = match tokens.next() {
        Token::Symbol("=" | "==") => Test::In(BTreeSet::from([parse_value(tokens)?])),
        Token::Symbol("!=") => Test::NotIn(BTreeSet::from([parse_value(tokens)?])),
        Token::Symbol(">") => Test::Above(parse_number(tokens)?),
        Token::Symbol("<") => Test::Below(parse_number(tokens)?),
        Token::Word(word) if word == "in" => Test::In(parse_values(tokens)?),
        Token::Word(word) if word == "notin" => Test::NotIn(parse_values(tokens)?),
        other => return Err(unparsable(&other, "in, notin, =, ==, !=, gt, lt")),
    };
    Ok(Requirement { key, test })
}

/// One value, which may be empty.
fn parse_value(tokens: &mut Tokens<'_>) -> Result<String, Failure> {
    match tokens.peek() {
        Token::End | Token::Symbol(",") => Ok(String::new()),
        Token::Word(word) => {
            tokens.next();
            Ok(word)
        }
        other => Err(unparsable(&other, "identifier")),
    }
}

fn parse_number(tokens: &mut Tokens<'_>) -> Result<i64, Failure> {
    let value = parse_value(tokens)?;
    value.parse().map_err(|_| {
        Failure::bad_request(format!("unable to parse requirement: values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"))
    })
}

fn parse_values(tokens: &mut Tokens<'_>) -> Result<BTreeSet<String>, Failure> {
    let open = tokens.next();
    if open != Token::Symbol("(") {
        return Err(unparsable(&open, "'('"));
    }
    let mut values = BTreeSet::new();
    loop {
        match tokens.next() {
            Token::Word(word) => drop(values.insert(word)),
            Token::Symbol(",") => drop(values.insert(String::new())),
            Token::Symbol(")") => return Ok(values),
            other => return Err(unparsable(&other, "',', ')' or identifier")),
        }
        match tokens.next() {
            Token::Symbol(",") => {}
            Token::Symbol(")") => return Ok(values),
            other => return Err(unparsable(&other, "',' or ')'")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::builtin;
    use serde_json::json;

    fn selects(labels: &str, fields: &str, object: &Value) -> bool {
        Selector::parse(labels, fields, builtin("", "v1", "pods")).unwrap().matches(object)
    }

    #[test]
    fn label_requirements_hold_as_documented() {
        let object = json!({"metadata": {"labels": {"a": "1", "tier": "web"}}});
        let table = [
            ("", true),
            ("a", true),
            ("!a", false),
            ("b", false),
            ("!b", true),
            ("a=1", true),
            ("a==1", true),
            ("a=2", false),
            ("a!=1", false),
            ("b!=1", true),
            ("a in (1, 2)", true),
            ("a in (2)", false),
            ("a notin (2)", true),
            ("b notin (2)", true),
            ("a=1,tier=web", true),
            ("a=1,tier=db", false),
            ("a>0", true),
            ("a<1", false),
            ("tier>0", false),
            ("b=", false),
        ];
        for (selector, expected) in table {
            assert_eq!(selects(selector, "", &object), expected, "{selector}");
        }
    }

    #[test]
    fn field_requirements_read_missing_as_empty() {
        let object = json!({"metadata": {"name": "x"}, "spec": {"nodeName": "n1"}});
        let table = [
            ("metadata.name=x", true),
            ("metadata.name!=x", false),
            ("spec.nodeName=n1", true),
            ("spec.nodeName=", false),
            ("status.phase=", true),
            ("status.phase!=Failed", true),
            ("spec.hostNetwork=false", true),
        ];
        for (selector, expected) in table {
            assert_eq!(selects("", selector, &object), expected, "{selector}");
        }
    }

    #[test]
    fn wrong_syntax_is_a_bad_request() {
        let parse =
            |labels, fields| Selector::parse(labels, fields, builtin("", "v1", "pods")).unwrap_err().message;
        assert_eq!(
            parse("t in (", ""),
            "unable to parse requirement: found '', expected: ',', ')' or identifier"
        );
        assert_eq!(parse("=x", ""), "found '=', expected: !, identifier, or 'end of string'");
        assert_eq!(parse("", "spec.foo=1"), "field label \"spec.foo\" not supported for \"Pod\"");
    }
}
