//! Tests the pages of the documentation.
//! The tests check the links, the summary of the book, and the commands on the pages. The commands are run.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod files;
mod parallel;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use files::{root, texts};
use parallel::on_all_cores;
use tempfile::TempDir;

/// Pages outside of the book.
const OTHERS: [&str; 5] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

/// Commands whose second word is a command, too.
const NESTED: [&str; 4] = ["dialect", "images", "monitor", "new"];

/// A part of a page.
enum Part<'a> {
    Line(&'a str),
    /// The words after the fence, and the lines of the block.
    Code(&'a str, String),
}

fn parts(page: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```") else {
            parts.push(Part::Line(line));
            continue;
        };
        let code = lines.by_ref().take_while(|line| line.trim() != "```");
        parts.push(Part::Code(info, code.flat_map(|line| [line, "\n"]).collect()));
    }
    parts
}

/// All pages, with their text.
fn pages() -> Vec<(PathBuf, String)> {
    let book = texts(&root().join("docs"), &["md"]);
    assert!(book.len() > 20, "the pages were moved");
    book.into_iter().chain(OTHERS.iter().flat_map(|name| texts(&root().join(name), &["md"]))).collect()
}

/// The places that the links of a page lead to, apart from addresses.
fn links(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in parts(page) {
        let Part::Line(line) = part else { continue };
        // Text in backticks is code.
        let prose: String = line.split('`').step_by(2).collect();
        for after in prose.split("](").skip(1) {
            let place = after.split(')').next().unwrap_or_default();
            if !place.contains("://") {
                found.push(place.to_owned());
            }
        }
    }
    found
}

/// The anchors of the headings, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = parts(page).into_iter().filter_map(|part| match part {
        Part::Line(line) if line.starts_with('#') => Some(line.trim_start_matches('#').trim()),
        _ => None,
    });
    let slug = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    };
    headings.map(slug).collect()
}

#[test]
fn every_link_leads_to_a_file_and_to_a_heading_in_it() {
    let mut wrong = Vec::new();
    for (path, text) in pages() {
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            let has_anchor = anchor.is_empty()
                || fs::read_to_string(&target).is_ok_and(|page| anchors(&page).contains(anchor));
            if !target.exists() || !has_anchor {
                wrong.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_summary_of_the_book_has_every_page_once() {
    let docs = root().join("docs");
    let mut listed = links(&fs::read_to_string(docs.join("SUMMARY.md")).unwrap());
    listed.sort();
    let pages = texts(&docs, &["md"]).into_iter();
    let names = pages.map(|(path, _)| path.strip_prefix(&docs).unwrap().display().to_string());
    let there: Vec<String> = names.filter(|name| name != "SUMMARY.md").collect();
    assert_eq!(listed, there);
}

/// The name of the file that a block is, such as `yaml file=mine.yaml`.
fn file_of(info: &str) -> Option<&str> {
    info.split_once("file=").map(|(_, name)| name)
}

fn capsize(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_capsize")).args(arguments).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn every_command_on_a_page_exists_with_its_flags() {
    let mut helps: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (path, text) in pages() {
        for part in parts(&text) {
            let Part::Code("" | "sh" | "bash", code) = part else { continue };
            let code = code.replace("\\\n", " ");
            for line in code.lines().filter_map(|line| line.trim().strip_prefix("capsize ")) {
                let line = line.split(['#', '|', '>', '<']).next().unwrap_or_default();
                let words: Vec<&str> = line.split_whitespace().collect();
                let Some(first) = words.first() else { continue };
                let length = if NESTED.contains(first) { 2 } else { 1 };
                let command: Vec<String> = words
                    .iter()
                    .take(length)
                    .filter(|word| !word.starts_with('-'))
                    .map(|word| (*word).to_owned())
                    .collect();
                let help = helps.entry(command.clone()).or_insert_with(|| {
                    let asked = command.iter().map(String::as_str).chain(["--help"]);
                    capsize(&asked.collect::<Vec<_>>())
                });
                let flags = words.iter().map(|word| word.trim_matches(['[', ']']));
                let flags =
                    flags.filter(|word| word.starts_with("--")).filter_map(|word| word.split('=').next());
                for flag in flags.filter(|flag| *flag != "--") {
                    if !help
                        .split(|c: char| c.is_whitespace() || [',', '['].contains(&c))
                        .any(|word| word == flag)
                    {
                        wrong.push(format!("{}: capsize {line}: no {flag}", path.display()));
                    }
                }
                if help.contains("unrecognized subcommand") {
                    wrong.push(format!("{}: capsize {line}", path.display()));
                }
            }
        }
    }
    assert!(helps.len() > 10, "{helps:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Fails unless the lines of `expected` are in `printed` in this order. `…` stands for anything.
fn is_printed(expected: &str, printed: &str, about: &str) {
    let mut lines = printed.lines();
    for wanted in expected.lines().filter(|line| *line != "…") {
        let fits = |line: &str| {
            let mut rest = line;
            wanted.split('…').all(|part| {
                let found = rest.find(part);
                rest = found.map_or("", |at| &rest[at + part.len()..]);
                found.is_some()
            })
        };
        assert!(lines.any(fits), "{about}: not printed: {wanted}\nprinted:\n{printed}");
    }
}

/// Runs a block of commands in `folder`, and returns what it prints.
fn run(folder: &Path, script: &str, about: &str) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_capsize")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), env::var("PATH").unwrap_or_default());
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(folder)
        .env("PATH", path)
        .output()
        .unwrap();
    let expected = script.rsplit_once("# exit code ").map_or(0, |(_, code)| code.trim().parse().unwrap());
    let printed = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(expected), "{about}:\n{script}\n{printed}\n{errors}");
    printed
}

/// Runs the blocks of commands on a page in a folder of their own, and returns their number.
fn run_blocks((path, text): &(PathBuf, String)) -> usize {
    let about = path.strip_prefix(root()).unwrap().display().to_string();
    let folder = TempDir::new().unwrap();
    let (mut blocks, mut printed) = (0, None);
    for part in parts(text) {
        match part {
            Part::Line(line) => printed = printed.filter(|_| line.trim().is_empty()),
            Part::Code("sh", script) => {
                printed = Some(run(folder.path(), &script, &about));
                blocks += 1;
            }
            Part::Code("text", expected) => {
                if let Some(printed) = printed.take() {
                    is_printed(&expected, &printed, &about);
                }
            }
            Part::Code(info, code) => {
                printed = None;
                if let Some(file) = file_of(info).map(|name| folder.path().join(name)) {
                    fs::create_dir_all(file.parent().unwrap()).unwrap();
                    fs::write(file, code).unwrap();
                }
            }
        }
    }
    blocks
}

#[test]
fn the_commands_on_the_pages_do_and_print_what_the_pages_show() {
    let blocks: usize = on_all_cores(&pages(), run_blocks).into_iter().sum();
    assert!(blocks > 10, "only {blocks} blocks were run");
}
