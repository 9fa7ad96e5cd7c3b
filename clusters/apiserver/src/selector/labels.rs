//! Label selectors: their syntax, and what they select.

use std::collections::BTreeSet;

use crate::failure::Failure;

/// One term of a label selector.
#[derive(Clone, Debug)]
pub(super) struct Requirement {
    pub key: String,
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

impl Requirement {
    /// Whether it holds for the value of its key.
    pub(super) fn holds(&self, value: Option<&str>) -> bool {
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

/// Reads a label selector.
///
/// # Errors
/// A bad request where it cannot be read.
pub(super) fn parse_labels(text: &str) -> Result<Vec<Requirement>, Failure> {
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
