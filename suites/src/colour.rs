//! Colours of what is printed to stdout.

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

/// When output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// Where stdout is a terminal, unless the variable `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

static CHOICE: OnceLock<Colour> = OnceLock::new();

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const END: &str = "\x1b[0m";

/// Words that report a failure.
const FAILURES: [&str; 3] = ["VIOLATED", "SLOWER", "NOT within"];

/// Sets when output has colours. The first call counts.
pub(crate) fn choose(choice: Colour) {
    // A second call would come from a command inside a command, which has the same arguments.
    let _ = CHOICE.set(choice);
}

fn is_wanted() -> bool {
    match CHOICE.get().copied().unwrap_or_default() {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && io::stdout().is_terminal()
        }
    }
}

/// The text with colours, if they are wanted: failures are red, and signs of success are green.
pub(crate) fn painted(text: Cow<'_, str>) -> Cow<'_, str> {
    if is_wanted() { Cow::Owned(text.split_inclusive('\n').map(painted_line).collect()) } else { text }
}

fn painted_line(line: &str) -> String {
    let words = line.trim_start();
    if words.starts_with("✗ ") {
        let text = line.trim_end_matches('\n');
        return format!("{RED}{text}{END}{}", &line[text.len()..]);
    }
    let mut painted = line.to_owned();
    if words.starts_with("✓ ") {
        painted = painted.replacen('✓', &format!("{GREEN}✓{END}"), 1);
    }
    for word in FAILURES {
        painted = painted.replace(word, &format!("{RED}{word}{END}"));
    }
    painted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_red_and_the_end_of_a_line_is_not_coloured() {
        assert_eq!(painted_line("✗ a b\n"), "\x1b[31m✗ a b\x1b[0m\n");
        assert_eq!(painted_line("  TAINT-01  VIOLATED once"), "  TAINT-01  \x1b[31mVIOLATED\x1b[0m once");
        assert_eq!(painted_line("held once\n"), "held once\n");
    }
}
