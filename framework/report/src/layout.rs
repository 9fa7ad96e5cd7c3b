//! Lays text out in lines that a terminal can show.

use textwrap::{Options, WordSeparator, WordSplitter};

/// Columns of a line in a file, and on a terminal whose width is unknown.
pub const COLUMNS: usize = 80;

/// Text in lines of at most so many columns.
/// Words are never divided: a word that is longer than a line overflows.
#[derive(Clone, Debug)]
pub struct Page {
    text: String,
    columns: usize,
}

impl Page {
    /// An empty page with lines of `columns` columns.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self { text: String::new(), columns }
    }

    /// Columns of a line.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Adds one line.
    /// Where it does not fit, it goes on in further lines, which are indented by two more spaces.
    pub fn line(&mut self, text: &str) {
        let words = text.trim_start_matches(' ');
        let indent = &text[..text.len() - words.len()];
        self.fill(indent, &format!("{indent}  "), words);
    }

    /// Adds an empty line.
    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Adds `text` after `first`. The further lines begin below the beginning of `text`.
    pub fn wrapped(&mut self, first: &str, text: &str) {
        self.fill(first, &" ".repeat(first.chars().count()), text);
    }

    /// Adds `text` after a label, both indented.
    pub fn labelled(&mut self, label: &str, text: &str) {
        self.wrapped(&format!("    {label:<9} "), text);
    }

    /// Adds a command for a shell. Where it does not fit, a backslash at the end of a line continues it.
    pub fn command(&mut self, indent: &str, command: &str) {
        let next = format!("{indent}  ");
        // The backslash and the space before it have to fit as well.
        let options = options(self.columns.saturating_sub(2)).initial_indent(indent).subsequent_indent(&next);
        let lines = if indent.chars().count() + command.chars().count() <= self.columns {
            format!("{indent}{command}")
        } else {
            textwrap::wrap(command, options).join(" \\\n")
        };
        self.text.push_str(&lines);
        self.text.push('\n');
    }

    /// Adds lines as they are.
    pub fn lines(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// The text.
    #[must_use]
    pub fn finish(self) -> String {
        self.text
    }

    fn fill(&mut self, first: &str, next: &str, text: &str) {
        let options = options(self.columns).initial_indent(first).subsequent_indent(next);
        for line in textwrap::wrap(text, options) {
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }
}

/// Lines are broken at spaces only, so that ids, paths and flags stay whole.
fn options(columns: usize) -> Options<'static> {
    Options::new(columns)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_hyphens_and_slashes_stay_whole() {
        let mut page = Page::new(24);
        page.wrapped("seen ", "the guarantee EVICTION-03 in eviction/two-workloads");
        assert_eq!(page.finish(), "seen the guarantee\n     EVICTION-03 in\n     eviction/two-workloads\n");
    }

    #[test]
    fn a_line_that_does_not_fit_goes_on_below_itself() {
        let mut page = Page::new(16);
        page.line("  three words more or less");
        page.line("");
        page.line("fits in any case");
        assert_eq!(page.finish(), "  three words\n    more or less\n\nfits in any case\n");
    }

    #[test]
    fn a_command_that_does_not_fit_is_continued_by_a_backslash() {
        let mut page = Page::new(24);
        page.command("  ", "capsize run");
        page.command("  ", "capsize run --filter eviction/partition --seed 1");
        let lines = "  capsize run\n  capsize run --filter \\\n    eviction/partition \\\n    --seed 1\n";
        assert_eq!(page.finish(), lines);
    }
}
