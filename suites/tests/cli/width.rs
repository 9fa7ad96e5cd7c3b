//! Everything that is printed fits the terminal.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::{recordings, text};

fn in_columns(columns: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
    command.args(arguments).current_dir(recordings()).env("COLUMNS", columns).output().unwrap()
}

/// The lines that are too wide, but for those that are one word, which cannot be divided.
fn too_wide(printed: &str, columns: usize) -> Vec<&str> {
    let is_wide = |line: &&str| {
        let line = line.trim_end_matches(" \\");
        line.chars().count() > columns && line.trim().contains(' ')
    };
    printed.lines().filter(is_wide).collect()
}

/// Every command for people, with the exit code that it has.
fn commands(folder: &str) -> Vec<(Vec<&str>, i32)> {
    let rows: [(&[&str], i32); 28] = [
        (&["run", "--filter", "placement/t"], 0),
        (&["run", "--canary", "--filter", "tainting/blip"], 0),
        (&["run", "--target", "reference-nodes", "--filter", "is-reported"], 0),
        (&["check", "divided-weighted.jsonl", "short-blip.jsonl", "duplicated-partitioned.jsonl"], 1),
        (&["check", "../nodes-1.36/freeze-then-one-node-at-rate-one.jsonl"], 1),
        (&["diff", "divided-weighted.jsonl", "short-blip.jsonl"], 1),
        (&["run", "--explain-summary", "--filter", "eviction/c"], 0),
        (&["run", "--quiet", "--filter", "tainting/blip"], 0),
        (&["show", "short-blip.jsonl", "divided-weighted.jsonl"], 0),
        (&["fault", "--list"], 0),
        (&["budget", "--compare-set", "failureThreshold=2m"], 0),
        (&["list"], 0),
        (&["list", "--guarantees"], 0),
        (&["explain"], 0),
        (&["explain", "--target", "karmada-1.5"], 0),
        (&["explain", "TAINT-02"], 0),
        (&["budget"], 0),
        (&["budget", "--target", "karmada-1.18"], 0),
        (&["budget", "--within", "1s", "--set", "failureThreshold=0s"], 1),
        (&["numbers", "short-blip.jsonl"], 2),
        (&["chaos", "--seeds", "0..2", "--style", "lite"], 0),
        (&["explain", "NOTHING-01"], 2),
        (&["run", "--target", "nobody"], 2),
        (&["run", "--dry-run"], 2),
        (&["mutants", "no-such-mutant"], 2),
        (&["mutants", "--list"], 0),
        (&["budget", "--set", "skew=5s"], 2),
        (&["run", folder], 2),
    ];
    rows.iter().map(|(arguments, code)| (arguments.to_vec(), *code)).collect()
}

#[test]
fn all_that_is_printed_for_people_fits_the_terminal_and_divides_no_word() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path().to_str().unwrap();
    for (arguments, code) in commands(folder) {
        let mut words: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for columns in ["80", "120"] {
            let output = in_columns(columns, &arguments);
            assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
            let printed = text(&output.stdout) + &text(&output.stderr);
            let wide = too_wide(&printed, columns.parse().unwrap());
            assert!(wide.is_empty(), "{arguments:?} in {columns} columns: {wide:#?}");
            // The bar of a message that goes on is no word of it.
            let printed =
                printed.split_whitespace().filter(|word| !["│", "\\"].contains(word)).map(str::to_owned);
            words.insert(columns, printed.collect());
        }
        // The time that a command took differs each time.
        if !["run", "chaos", "show"].contains(&arguments[0]) {
            assert_eq!(words["80"], words["120"], "{arguments:?}: a word is divided");
        }
    }
}

#[test]
fn the_help_of_every_command_fits_the_terminal() {
    let help = text(&in_columns("80", &["--help"]).stdout);
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let named = commands
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    let mut seen = 0;
    for command in named.chain(["controllers", "node-controllers", "member", "leash"]) {
        for flag in ["-h", "--help"] {
            let printed = text(&in_columns("80", &[command, flag]).stdout);
            assert_eq!(too_wide(&printed, 80), Vec::<&str>::new(), "{command}");
        }
        seen += 1;
    }
    assert!(seen > 18, "{help}");
}

#[test]
fn without_a_terminal_lines_have_eighty_columns() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
    let output = command.args(["explain"]).env_remove("COLUMNS").output().unwrap();
    let printed = text(&output.stdout);
    assert!(too_wide(&printed, 80).is_empty());
    assert!(printed.lines().any(|line| line.chars().count() > 70), "{printed}");
}
