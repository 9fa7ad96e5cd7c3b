//! Lines of text of a width that terminals have.

use textwrap::Options;

/// Columns that a line has at most, where its words allow.
pub(super) const WIDTH: usize = 80;

/// One line.
pub(super) fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

/// `text` under `label`, indented.
pub(super) fn labelled(out: &mut String, label: &str, text: &str) {
    wrapped(out, &format!("    {label:<9} "), text);
}

/// `text` after `first`, its further lines under its own beginning.
pub(super) fn wrapped(out: &mut String, first: &str, text: &str) {
    let next = " ".repeat(first.chars().count());
    let options = Options::new(WIDTH).initial_indent(first).subsequent_indent(&next).break_words(false);
    for each in textwrap::wrap(text, options) {
        line(out, &each);
    }
}
