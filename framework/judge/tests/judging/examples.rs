//! Asserts violations, and checks that `docs/violations.md` shows an example for each guarantee.

use std::path::PathBuf;
use std::sync::Mutex;
use std::{env, fs};

use capsize_history::facts::Fact;
use capsize_judge::guarantee::{Catalogue, Verdict};

use crate::history_builder::BuiltHistoryVerdicts;
use crate::outcomes::breaks;

const HEAD: &str = "# What violations look like

This page has one small history for each guarantee that violates it: the facts, and the report about the violation. Tests generate
the page. `capsize explain ID` shows the part about one guarantee.

A workload `web` has two replicas on each of the members m1 and m2, and m3 is a spare member. Nothing happens until 00:10.0. A member
is not ready after 3 s, gets a NoExecute taint after 6 s more, and its workloads are evicted 5 s later. Steps that need no time may
take 1 s. Nodes have the names of their zones, for example a1. They may be silent for 6 s.
";

/// Only one test at a time updates its part of the page.
static WRITING: Mutex<()> = Mutex::new(());

/// Checks that `id` is violated and nothing else, as the page shows.
#[track_caller]
pub(crate) fn shows(id: &str, outcome: &BuiltHistoryVerdicts) {
    breaks(id, outcome);
    is_shown(id, &outcome.facts, outcome);
}

/// Checks that the page shows how `facts` violate `id`.
#[track_caller]
pub(crate) fn is_shown(id: &str, facts: &[Fact], verdicts: &[Verdict]) {
    let verdict = verdicts.iter().find(|verdict| verdict.spec.id == id).unwrap();
    let example = capsize_report::example(facts, verdict);
    if env::var_os("UPDATE_DOCS").is_some() {
        let _alone = WRITING.lock().unwrap();
        return write(id, &example);
    }
    let shown = page().split_once(&heading(id)).map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    let shown = shown.split_once("```\n").map_or("", |(shown, _)| shown);
    assert_eq!(shown, example, "docs/violations.md is out of date: {UPDATE}");
}

const UPDATE: &str = "run UPDATE_DOCS=1 cargo test -p capsize-judge --test judging";

fn heading(id: &str) -> String {
    format!("\n## {id}\n\n```\n")
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/violations.md")
}

fn page() -> String {
    fs::read_to_string(path()).unwrap_or_default()
}

/// Writes `example` for `id` into the page.
/// The page keeps its other sections in the order of the catalogue.
fn write(id: &str, example: &str) {
    let before = page();
    let section = |rule: &&str| {
        let there = before.split_once(&heading(rule)).and_then(|(_, rest)| rest.split_once("```\n"));
        let text = if *rule == id { Some(example) } else { there.map(|(example, _)| example) };
        text.map(|text| format!("{}{text}```\n", heading(rule)))
    };
    let sections: String = ids().iter().filter_map(section).collect();
    fs::write(path(), format!("{HEAD}{sections}")).unwrap();
}

fn ids() -> Vec<&'static str> {
    Catalogue::specs().iter().map(|spec| spec.id).collect()
}

#[test]
fn the_page_of_violations_shows_each_guarantee_and_nothing_else() {
    if env::var_os("UPDATE_DOCS").is_some() {
        return;
    }
    let page = page();
    assert!(page.starts_with(HEAD), "docs/violations.md is out of date: {UPDATE}");
    let shown: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(shown, ids());
}
