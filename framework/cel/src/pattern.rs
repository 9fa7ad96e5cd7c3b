//! Regular expressions of Go, with a limit on the time of a match.
//!
//! Patterns come from requests: from schemas of custom kinds and from rules in CEL. The time of a match is
//! proportional to the length of the text times the size of the compiled pattern. Therefore the product is limited.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;

use regex::{Regex, RegexBuilder};

/// The size classes of compiled patterns in bytes. A larger pattern is refused.
const SIZES: [usize; 5] = [2 << 10, 16 << 10, 128 << 10, 1 << 20, 4 << 20];

/// The limit for one match: bytes of text times bytes of compiled pattern.
/// The limit is about one second in the worst case.
const MOST_WORK: u64 = 16 << 30;

/// The number of compiled patterns in the cache.
const MOST_KEPT: usize = 256;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    source: String,
    regex: Regex,
    /// The upper bound of the size of the compiled pattern in bytes.
    size: usize,
}

/// The cache of compiled patterns and of errors.
/// Servers that are started one after another use the same definitions.
static KNOWN: Mutex<BTreeMap<String, Result<Pattern, String>>> = Mutex::new(BTreeMap::new());

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The error of the compiler.
    pub fn read(source: &str) -> Result<Self, String> {
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pattern) = known().get(source) {
            return pattern.clone();
        }
        // Compilation runs on another thread, so that it does not use the random numbers of a simulation's thread.
        let compiled = thread::scope(|scope| scope.spawn(|| Self::compile(source)).join());
        let compiled = compiled.unwrap_or_else(|_| Err("the pattern is too complex".into()));
        let mut known = known();
        if known.len() < MOST_KEPT {
            known.insert(source.to_owned(), compiled.clone());
        }
        compiled
    }

    /// Returns true if the pattern is in the cache.
    pub fn is_known(source: &str) -> bool {
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).contains_key(source)
    }

    fn compile(source: &str) -> Result<Self, String> {
        let translated = translate(source);
        let mut problem = String::new();
        for size in SIZES {
            match RegexBuilder::new(&translated).size_limit(size).build() {
                Ok(regex) => return Ok(Self { source: source.to_owned(), regex, size }),
                Err(regex::Error::CompiledTooBig(_)) => "the pattern is too large".clone_into(&mut problem),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(problem)
    }

    /// The text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The regular expression for a text; `None` if a match could take too long.
    pub fn for_text(&self, text: &str) -> Option<&Regex> {
        let work = (text.len() as u64).saturating_mul(self.size as u64);
        (work <= MOST_WORK).then_some(&self.regex)
    }
}

/// Translates a pattern into the syntax of the crate `regex`.
/// In Go, `\d`, `\w`, `\s` and `\b` match ASCII only. Inside a class, Go treats a second `[` and the signs `&&`, `--`
/// and `~~` as plain characters.
fn translate(source: &str) -> String {
    let mut translated = String::with_capacity(source.len());
    let mut rest = source;
    let (mut in_class, mut is_first) = (false, false);
    while let Some(c) = rest.chars().next() {
        let was_in_class = in_class;
        let (taken, written) = if c == '\\' {
            escape(rest, in_class)
        } else if in_class && c == '[' && rest.starts_with("[:") {
            let end = rest.find(":]").map_or(1, |end| end + 2);
            (end, &rest[..end])
        } else if in_class {
            in_class = c != ']';
            match c {
                '[' => (1, "\\["),
                '&' => (1, "\\&"),
                '~' => (1, "\\~"),
                // A range that ends with a hyphen. At the start of a class, the first hyphen is a plain character.
                '-' if rest.starts_with("--") && !is_first => (2, "-\\-"),
                '-' if rest.starts_with("--") => (1, "\\-"),
                _ => (c.len_utf8(), &rest[..c.len_utf8()]),
            }
        } else if c == '[' {
            in_class = true;
            // A `]` at the start of a class is a plain character.
            let first = ["[^]", "[]", "[^", "["].into_iter().find(|first| rest.starts_with(first));
            match first.unwrap_or("[") {
                "[^]" => (3, "[^\\]"),
                "[]" => (2, "[\\]"),
                first => (first.len(), first),
            }
        } else {
            (c.len_utf8(), &rest[..c.len_utf8()])
        };
        is_first = in_class && !was_in_class;
        translated.push_str(written);
        rest = &rest[taken..];
    }
    translated
}

/// The length of the escape at the start of `rest`, and its translation.
fn escape(rest: &str, in_class: bool) -> (usize, &str) {
    match rest[1..].chars().next() {
        Some('d') => (2, "[0-9]"),
        Some('D') => (2, "[^0-9]"),
        Some('w') => (2, "[0-9A-Za-z_]"),
        Some('W') => (2, "[^0-9A-Za-z_]"),
        Some('s') => (2, "[\\t\\n\\f\\r ]"),
        Some('S') => (2, "[^\\t\\n\\f\\r ]"),
        Some('b') if !in_class => (2, "(?-u:\\b)"),
        Some('z') => (2, "\\z"),
        Some(c) => (1 + c.len_utf8(), &rest[..1 + c.len_utf8()]),
        None => (1, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::read(pattern).unwrap().for_text(text).unwrap().is_match(text)
    }

    #[test]
    fn patterns_match_as_in_go() {
        let table = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "\u{661}", false),
            (r"^\w$", "é", false),
            (r"^\W$", "é", true),
            (r"^[\w.-]+$", "a_b.c-d", true),
            (r"^[\W]$", "é", true),
            (r"^\s$", "\u{a0}", false),
            (r"^[[a]+$", "[a", true),
            (r"^[a&&b]+$", "a&b", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]a]$", "b", true),
            (r"^[[:alpha:]_]+$", "a_", true),
            (r"^[+--]$", ",", true),
            (r"^[--0]$", ".", true),
            (r"a\b", "é a", true),
            (r"^[é\]]+$", "é]", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn patterns_that_would_grow_without_bound_are_refused() {
        for pattern in
            ["((a{0,100}){0,100}){0,100}", "(((a{1,50}){1,50}){1,50}){1,50}", r"(\pL{1000}){1000}", "("]
        {
            assert!(Pattern::read(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_large_pattern_is_not_matched_against_a_long_text() {
        let pattern = Pattern::read("(a|b)*a(a|b){900}").unwrap();
        assert!(pattern.for_text(&"a".repeat(3 << 20)).is_none());
        assert!(pattern.for_text("abc").is_some());
        assert!(Pattern::read("^[a-z]+$").unwrap().for_text(&"a".repeat(1 << 20)).is_some());
    }
}
