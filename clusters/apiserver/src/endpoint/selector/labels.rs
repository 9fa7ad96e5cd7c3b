//! Label selectors: syntax and matching.

use std::collections::BTreeSet;

use capsize_sorted::CollectSorted;

use crate::http::failure::Failure;
use crate::validation::builtin::text::{label_key as key_problem, label_value as label_value_problem};

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
    /// Also matches objects without the key.
    NotIn(BTreeSet<String>),
    Above(i64),
    Below(i64),
}

impl Requirement {
    /// Returns true if the value of the key fulfills the term.
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

/// Parses a label selector.
///
/// # Errors
/// A bad request if the syntax is wrong.
pub(super) fn parse_labels(text: &str) -> Result<Vec<Requirement>, Failure> {
    let mut tokens = Tokens { rest: text };
    let mut requirements = Vec::new();
    loop {
        match tokens.peek() {
            Token::Word(_) | Token::Symbol("!") => {}
            Token::End => return Ok(requirements),
            other => return Err(unexpected(&other, ", expected: !, identifier, or 'end of string'")),
        }
        let requirement = parse_requirement(&mut tokens);
        requirements.push(
            requirement.map_err(|why| Failure::bad_request(format!("unable to parse requirement: {why}")))?,
        );
        match (tokens.next(), tokens.peek()) {
            (Token::End, _) => return Ok(requirements),
            (Token::Symbol(","), Token::Word(_) | Token::Symbol("!")) => {}
            (Token::Symbol(","), other) => {
                return Err(unexpected(&other, ", expected: identifier after ','"));
            }
            (other, _) => return Err(unexpected(&other, ", expected: ',' or 'end of string'")),
        }
    }
}

fn unexpected(found: &Token, expected: &str) -> Failure {
    Failure::bad_request(found_instead(found, expected))
}

fn found_instead(found: &Token, expected: &str) -> String {
    format!("found '{}'{expected}", found.shown())
}

fn parse_requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, String> {
    let mut key = tokens.next();
    let absent = key == Token::Symbol("!");
    if absent {
        key = tokens.next();
    }
    let Token::Word(key) = key else {
        return Err(found_instead(&key, ", expected: identifier"));
    };
    if let Some(problem) = key_problem(&key) {
        return Err(format!("<nil>: Invalid value: {key:?}: {problem}"));
    }
    // After an operator for an absent key, the next token is not checked here.
    let ends = matches!(tokens.peek(), Token::End | Token::Symbol(","));
    if absent || ends {
        return Ok(Requirement { key, test: if absent { Test::Absent } else { Test::Exists } });
    }
    let test = match tokens.next() {
        Token::Symbol("=" | "==") => Test::In([parse_value(tokens)?].collect_sorted()),
        Token::Symbol("!=") => Test::NotIn([parse_value(tokens)?].collect_sorted()),
        Token::Symbol(">") => Test::Above(parse_number(tokens)?),
        Token::Symbol("<") => Test::Below(parse_number(tokens)?),
        Token::Word(word) if word == "in" => Test::In(parse_values(tokens)?),
        Token::Word(word) if word == "notin" => Test::NotIn(parse_values(tokens)?),
        other => return Err(found_instead(&other, ", expected: in, notin, =, ==, !=, gt, lt")),
    };
    if let Test::In(values) | Test::NotIn(values) = &test {
        check_values(&key, values)?;
    }
    Ok(Requirement { key, test })
}

/// Refuses values that are not valid label values.
fn check_values(key: &str, values: &BTreeSet<String>) -> Result<(), String> {
    let problems = values.iter().enumerate().filter_map(|(index, value)| {
        let problem = label_value_problem(value)?;
        Some(format!("values[{index}][{key}]: Invalid value: {value:?}: {problem}"))
    });
    let problems: Vec<_> = problems.collect();
    match problems.as_slice() {
        [] => Ok(()),
        [problem] => Err(problem.clone()),
        _ => Err(format!("[{}]", problems.join(", "))),
    }
}

/// Parses one value, which may be empty.
fn parse_value(tokens: &mut Tokens<'_>) -> Result<String, String> {
    match tokens.peek() {
        Token::End | Token::Symbol(",") => Ok(String::new()),
        Token::Word(word) => {
            tokens.next();
            Ok(word)
        }
        other => Err(found_instead(&other, ", expected: identifier")),
    }
}

fn parse_number(tokens: &mut Tokens<'_>) -> Result<i64, String> {
    let value = parse_value(tokens)?;
    let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
    value.parse().map_err(|_| format!("values[0]: Invalid value: {value:?}: {detail}"))
}

fn parse_values(tokens: &mut Tokens<'_>) -> Result<BTreeSet<String>, String> {
    let open = tokens.next();
    if open != Token::Symbol("(") {
        return Err(found_instead(&open, " expected: '('"));
    }
    let mut values = BTreeSet::new();
    match tokens.peek() {
        Token::Word(_) | Token::Symbol(",") => {}
        Token::Symbol(")") => {
            tokens.next();
            return Ok([String::new()].collect_sorted());
        }
        other => return Err(found_instead(&other, ", expected: ',', ')' or identifier")),
    }
    loop {
        match tokens.next() {
            Token::Word(word) => {
                values.insert(word);
                match tokens.peek() {
                    Token::Symbol(",") => {}
                    Token::Symbol(")") => break,
                    other => return Err(found_instead(&other, ", expected: ',' or ')'")),
                }
            }
            Token::Symbol(",") => {
                if values.is_empty() || tokens.peek() == Token::Symbol(",") {
                    values.insert(String::new());
                }
                match tokens.peek() {
                    Token::Symbol(")") => {
                        values.insert(String::new());
                        break;
                    }
                    Token::Symbol(",") => drop(tokens.next()),
                    _ => {}
                }
            }
            other => return Err(found_instead(&other, ", expected: ',', or identifier")),
        }
    }
    tokens.next();
    Ok(values)
}
