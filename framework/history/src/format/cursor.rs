//! A position in a JSON text, which moves from value to value without building trees.
//!
//! The cursor accepts only text that a JSON parser accepts, too. It rejects unusual text (a surrogate escape,
//! very deep nesting), which is then left to the parser.

use std::ops::Range;

use serde::Deserialize;

/// The deepest nesting that the cursor accepts.
const DEEPEST: u8 = 64;

/// The longest number that the cursor accepts. A longer number may overflow a tree.
const LONGEST_NUMBER: usize = 300;

/// A cursor. Every step returns `None` if the text is unusual.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `text`.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// A cursor at another position of the same text.
    pub(super) fn at(&self, at: usize) -> Self {
        Self { text: self.text, at }
    }

    /// The present position.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// Moves to `at`, because the text before it is known.
    pub(super) fn jump(&mut self, at: usize) {
        self.at = at;
    }

    /// Whether only space follows.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    /// The text from the present position on.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The text in `range`.
    pub(super) fn named(&self, range: Range<usize>) -> &'a str {
        &self.text[range]
    }

    /// Walks through the fields of the object here.
    /// `each` gets the position of a name, and moves the cursor behind the value.
    pub(super) fn fields(
        &mut self,
        mut each: impl FnMut(&mut Self, Range<usize>) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        if self.take(b'}').is_some() {
            return Some(());
        }
        self.field(&mut each)?;
        self.more_fields(each)
    }

    /// The same for the fields that follow a field.
    pub(super) fn more_fields(
        &mut self,
        mut each: impl FnMut(&mut Self, Range<usize>) -> Option<()>,
    ) -> Option<()> {
        while self.take(b',').is_some() {
            self.field(&mut each)?;
        }
        self.take(b'}')
    }

    fn field(&mut self, each: &mut impl FnMut(&mut Self, Range<usize>) -> Option<()>) -> Option<()> {
        let name = self.name()?;
        self.take(b':')?;
        each(self, name)
    }

    /// The text here, if it is plain: without escapes.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        let start = self.at;
        self.at += plain(self.bytes());
        let word = &self.text[start..self.at];
        self.take(b'"').map(|()| word)
    }

    /// The name here, without its quotes.
    fn name(&mut self) -> Option<Range<usize>> {
        self.take(b'"')?;
        let start = self.at;
        self.at += plain(self.bytes());
        if self.bytes().first() == Some(&b'"') {
            self.at += 1;
            return Some(start..self.at - 1);
        }
        self.at = start - 1;
        let quoted = &self.text[self.value()?];
        let name: String = serde_json::from_str(quoted).ok()?;
        (serde_json::to_string(&name).ok()? == quoted).then_some(start..self.at - 1)
    }

    /// The position of the value here.
    pub(super) fn value(&mut self) -> Option<Range<usize>> {
        self.skip_space();
        let start = self.at;
        self.pass(DEEPEST)?;
        Some(start..self.at)
    }

    /// The number here, with the same value as in a tree. Numbers with few digits are exact.
    pub(super) fn number(&mut self) -> Option<f64> {
        let number = &self.text[self.value()?];
        let plain = number.len() <= 16 && number.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.'));
        if plain { number.parse().ok() } else { serde_json::from_str(number).ok() }
    }

    /// The value here.
    pub(super) fn read<T: Deserialize<'a>>(&mut self) -> Option<T> {
        let value = self.value()?;
        serde_json::from_str(&self.text[value]).ok()
    }

    fn pass(&mut self, levels: u8) -> Option<()> {
        self.skip_space();
        match self.bytes().first()? {
            b'"' => self.pass_text(),
            b'{' => {
                let levels = levels.checked_sub(1)?;
                self.pass_items(b'}', |cursor| {
                    cursor.skip_space();
                    cursor.pass_text()?;
                    cursor.take(b':')?;
                    cursor.pass(levels)
                })
            }
            b'[' => {
                let levels = levels.checked_sub(1)?;
                self.pass_items(b']', |cursor| cursor.pass(levels))
            }
            b't' => self.pass_word("true"),
            b'f' => self.pass_word("false"),
            b'n' => self.pass_word("null"),
            _ => self.pass_number(),
        }
    }

    /// Passes an opening bracket, items, and the closing bracket.
    fn pass_items(&mut self, end: u8, mut pass: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.take(end).is_some() {
            return Some(());
        }
        loop {
            pass(self)?;
            if self.take(b',').is_none() {
                return self.take(end);
            }
        }
    }

    fn pass_word(&mut self, word: &str) -> Option<()> {
        self.bytes().starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    fn pass_text(&mut self) -> Option<()> {
        (self.bytes().first() == Some(&b'"')).then(|| self.at += 1)?;
        loop {
            self.at += plain(self.bytes());
            match self.bytes() {
                [b'"', ..] => {
                    self.at += 1;
                    return Some(());
                }
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 2,
                [b'\\', b'u', digits @ ..] if is_letter(digits.first_chunk()?) => self.at += 6,
                _ => return None,
            }
        }
    }

    fn pass_number(&mut self) -> Option<()> {
        let start = self.at;
        if self.bytes().first() == Some(&b'-') {
            self.at += 1;
        }
        // No digit follows a leading zero.
        let whole = digits(self.bytes());
        self.at += if self.bytes().first() == Some(&b'0') { 1 } else { whole };
        if self.bytes().first() == Some(&b'.') {
            let fraction = digits(&self.bytes()[1..]);
            (fraction > 0).then(|| self.at += 1 + fraction)?;
        }
        if let [b'e' | b'E', ..] = self.bytes() {
            let others = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
            self.at += self.bytes().iter().take_while(others).count();
            let number: Result<f64, _> = serde_json::from_str(&self.text[start..self.at]);
            return number.ok().map(drop);
        }
        (whole > 0 && self.at - start <= LONGEST_NUMBER).then_some(())
    }

    /// Passes this byte.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        (self.bytes().first() == Some(&byte)).then(|| self.at += 1)
    }

    pub(super) fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes().first() {
            self.at += 1;
        }
    }

    fn bytes(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Whether these digits of an escape are a character, and not a surrogate.
fn is_letter(digits: &[u8; 4]) -> bool {
    digits.iter().all(u8::is_ascii_hexdigit)
        && !matches!(digits, [b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', ..])
}

/// A one in every byte.
const ONES: u64 = u64::MAX / 0xff;

/// Returns the number of bytes at the start of `bytes` that need no escape in a text.
/// These bytes contain no quote, no backslash, and nothing below a space.
fn plain(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks();
    for (count, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The highest bit of a byte is set if the byte is zero. The lowest such bit is always right.
        let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
        let quotes = zeros(word ^ (ONES * u64::from(b'"')));
        let backslashes = zeros(word ^ (ONES * u64::from(b'\\')));
        let low = word.wrapping_sub(ONES * u64::from(b' ')) & !word;
        let found = (quotes | backslashes | low) & (ONES << 7);
        if found != 0 {
            return count * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | ..b' '));
    words.len() * 8 + plain.count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn passes(text: &str) -> bool {
        let mut cursor = Cursor::new(text);
        cursor.value().is_some() && cursor.is_at_end()
    }

    #[test]
    fn only_json_is_passed() {
        let right = [
            r#"{"a":[1,-0,2.5e-3,{"b":{}}],"c":"d\"\u00e9\\","e":[]}"#,
            r#" [ true , false , null , 0 , -17 , 1E9 , "" ] "#,
            r#""0123456789abcdef\n0123456789""#,
            "\"\u{e9}\u{1f600}\u{7f} and much more than eight bytes\"",
        ];
        let wrong = [
            "",
            "-",
            "01",
            "1.",
            "1.e3",
            "1e",
            "1e999",
            "+1",
            "tru",
            "\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "\"\u{1}\"",
            "\"01234567\n\"",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "{\"a\":1,}",
            "[",
            "nul",
        ];
        for text in right {
            assert!(passes(text) && serde_json::from_str::<Value>(text).is_ok(), "{text}");
        }
        for text in wrong {
            assert!(!passes(text) && serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn very_deep_nesting_is_left_to_the_json_parser() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(passes(&nested(64)));
        assert!(!passes(&nested(65)));
    }

    proptest! {
        #[test]
        fn a_number_is_the_one_that_a_tree_has(text in r"-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?") {
            prop_assert_eq!(Cursor::new(&text).number(), serde_json::from_str(&text).ok());
        }

        #[test]
        fn passed_text_can_be_read_as_a_tree(text in r#"[\[\]{}",:0-9a-fnrtuleDd.\\ \x01é+-]{0,24}"#) {
            prop_assert!(!passes(&text) || serde_json::from_str::<Value>(&text).is_ok());
        }
    }
}
