//! Checks that a part of a history violates nothing that the whole history does not violate.
//! The same holds for a history with less information.
//!
//! The test samples the variants. `ALL_EXCERPTS=1 cargo test -p capsize --test reports excerpts` judges all variants of the
//! recordings, which takes less than a minute; `RECORDINGS=DIR` adds the histories below a folder.

mod variants;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use capsize::targets;
use capsize_history::{Entry, Kind, Reader, read};
use capsize_judge::guarantee::Outcome;
use capsize_judge::judge::judge;
use capsize_judge::profile::Profile;

use crate::parallel::on_all_cores;
use crate::recorded;
use crate::shipped::RUNS;
use variants::variants;

/// One of so many variants of a recording is judged without `ALL_EXCERPTS`.
/// The number shares no factor with the number of variants of one form.
const STRIDE: usize = 23;

#[test]
fn an_excerpt_violates_nothing_new() {
    let stride = if std::env::var_os("ALL_EXCERPTS").is_some() { 1 } else { STRIDE };
    let recordings = [recorded::recordings(), more_recordings()].concat();
    let (judged, wrong) = judge_all(&recordings, stride, &[], |path| (recorded::name(path), of_file(path)));
    assert!(judged > 100, "{judged} variants were judged");
    assert!(wrong.is_empty(), "{} of {judged}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn an_excerpt_of_a_run_violates_nothing_new() {
    let kept = RUNS.iter().flat_map(|run| &run.histories).collect::<Vec<_>>();
    let entries = |history: &[u8]| Reader::new("a run", history).map(Result::unwrap).collect();
    let (judged, wrong) =
        judge_all(&kept, STRIDE, &RUNS_JUDGED_WRONGLY, |(case, history)| (case.clone(), entries(history)));
    assert!(judged > 1000, "{judged} variants of {} histories were judged", kept.len());
    assert!(wrong.is_empty(), "{} of {judged}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Excerpts of runs of the suite that were judged wrongly once: the case, and the variant.
const RUNS_JUDGED_WRONGLY: [(&str, &str); 7] = [
    ("application/fails-again-elsewhere", "with late events of m2"),
    ("autoscaling/follows-its-workload", "without any ResourceBinding"),
    ("delivery/suspended-stays-deleted", "without any ResourceBinding"),
    ("dependencies/stay-as-long-as-the-workload", "as it is, begun in the middle after 1 tenths"),
    ("forms/cluster-scoped", "with late events of control-plane"),
    ("nodes/taint-taken-away-comes-back", "with late events of control-plane"),
    ("tainting/by-a-policy", "as it is, begun in the middle after 1 tenths"),
];

/// Excerpts that were judged wrongly once: the case, and the variant.
const JUDGED_WRONGLY: [(&str, &str); 7] = [
    ("begins-in-an-eviction/history", "as it is, recorded from 5 tenths"),
    (
        "divided-driven-out-by-scaling/73-scaled-away-from-not-ready-member",
        "as it is, begun in the middle after 3 tenths",
    ),
    (
        "divided-driven-out-by-scaling/73-scaled-away-from-not-ready-member",
        "as it is, recorded from 3 tenths",
    ),
    ("manifest-written-anew/history", "as it is, begun in the middle after 8 tenths"),
    ("manifest-written-anew/history", "as it is, recorded from 9 tenths"),
    ("no-marks-controllers-restarted/history", "with the clock of the control plane set after 1 tenths"),
    ("no-marks-nodes-restarted/history", "with the clock of the control plane set after 1 tenths"),
];

#[test]
fn an_excerpt_that_was_judged_wrongly_once_violates_nothing_new() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    for (case, variant) in JUDGED_WRONGLY {
        let (entries, mut wrong) = (of_file(&cases.join(format!("{case}.jsonl"))), Vec::new());
        let judged = judge_variants(case, &entries, &mut wrong, |_, name| name == variant);
        assert_eq!((judged, wrong), (1, Vec::new()), "{case} {variant}");
    }
}

/// Judges one in `stride` variants of each history, and the `known` variants.
/// The next history has another variant in its place. `of` returns the name and the entries of a history. The function
/// returns how many variants were judged, and which ones were judged wrongly.
fn judge_all<T: Sync>(
    histories: &[T],
    stride: usize,
    known: &[(&str, &str)],
    of: impl Fn(&T) -> (String, Vec<Entry>) + Sync,
) -> (usize, Vec<String>) {
    let numbered: Vec<(usize, &T)> = histories.iter().enumerate().collect();
    let judged = on_all_cores(&numbered, |(number, history)| {
        let ((history, entries), mut wrong) = (of(history), Vec::new());
        let chosen =
            |place, name: &str| place % stride == number % stride || known.contains(&(&*history, name));
        (judge_variants(&history, &entries, &mut wrong, chosen), wrong)
    });
    let (counts, wrong): (Vec<usize>, Vec<Vec<String>>) = judged.into_iter().unzip();
    (counts.into_iter().sum(), wrong.concat())
}

/// Judges the chosen variants of a history by their number and name, and returns how many were judged.
/// A variant must violate nothing that the whole history does not violate.
fn judge_variants(
    history: &str,
    entries: &[Entry],
    wrong: &mut Vec<String>,
    chosen: impl Fn(usize, &str) -> bool,
) -> usize {
    let Kind::Mark(header) = &entries[0].kind else { panic!("{history} has no header") };
    let profile = targets::shipped().of(header).unwrap().clone().overlaid(header).unwrap();
    let whole = violated(entries.to_vec(), &profile);
    let mut judged = 0;
    for (place, (name, variant)) in variants(entries).into_iter().enumerate() {
        if !chosen(place, &name) {
            continue;
        }
        let more: Vec<_> = violated(variant(), &profile).difference(&whole).copied().collect();
        judged += 1;
        if !more.is_empty() {
            wrong.push(format!("{history} {name}: {more:?}"));
        }
    }
    judged
}

/// The entries of a recorded history.
fn of_file(path: &Path) -> Vec<Entry> {
    read(path).unwrap().map(Result::unwrap).collect()
}

/// The histories below the folder of the environment.
fn more_recordings() -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some(folder) = std::env::var_os("RECORDINGS") {
        find(Path::new(&folder), &mut found);
    }
    found
}

/// Adds the histories below a folder.
fn find(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mut paths: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.iter().for_each(|path| find(path, found));
    } else if path.extension().is_some_and(|extension| extension == "jsonl") {
        found.push(path.to_owned());
    }
}

fn violated(entries: Vec<Entry>, profile: &Profile) -> BTreeSet<&'static str> {
    let judgement = judge(entries.into_iter().map(Ok::<_, ()>), profile.clone()).unwrap();
    recorded::ids(&judgement.verdicts, Outcome::is_violated).into_iter().collect()
}
