//! Tests that topics are declared, and that verdicts do not change if guarantees get every fact.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::catalogue::{Catalogue, of};
use super::context::{Deadlines, Guarantee, JudgeContext, Topics};
use crate::guarantee::GuaranteeSpec;
use crate::profile::{Profile, Profiles};
use capsize_history::dialect::{Dialect, DialectKind};
use capsize_history::facts::Fact;
use capsize_history::{Entry, Kind, read};

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let inner = |path: PathBuf| if path.is_dir() { files(&path, ending) } else { vec![path] };
    let mut files: Vec<_> = entries.flat_map(inner).collect();
    files.retain(|path| path.to_string_lossy().ends_with(ending));
    files.sort();
    files
}

/// The names that follow `before` in `text`.
fn names<'a>(text: &'a str, before: &str) -> Vec<&'a str> {
    let rests = text.split(before).skip(1);
    rests.map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()).collect()
}

#[test]
fn every_change_that_a_guarantee_matches_is_one_of_its_topics() {
    let mut looked_at = 0;
    for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guarantee"), ".rs") {
        let text = fs::read_to_string(&path).unwrap();
        for block in text.split("\nimpl Guarantee for ").skip(1) {
            let block = block.split("\n}\n").next().unwrap();
            let (_, observe) = block.split_once("fn observe(").unwrap();
            let between = |begin, end| Some(block.split_once(begin)?.1.split_once(end)?.0);
            let topics = between("accessors!(", ");").or_else(|| between("fn topics(", "\n    }")).unwrap();
            let all = topics.contains("Topics::ALL");
            let missing = |name: &&str| {
                !all && !topics.split(|c: char| !c.is_alphanumeric()).any(|topics| topics == *name)
            };
            let missing: Vec<_> = names(observe, "Change::").into_iter().filter(missing).collect();
            let name = block.lines().next().unwrap();
            assert!(missing.is_empty(), "{} {name} does not get {missing:?}", path.display());
            looked_at += 1;
        }
    }
    assert!(looked_at > 80, "{looked_at}");
}

#[test]
fn verdicts_are_the_same_where_every_guarantee_observes_everything() {
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites");
    let profile = |path: &PathBuf| {
        let mut profile = Profile::parse("target", &fs::read_to_string(path).unwrap()).unwrap();
        if let DialectKind::Data(data) = &profile.dialect {
            let file = suites.join(format!("dialects/{}.yaml", data.name()));
            profile.dialect = capsize_dialect::Dialect::read(&file).unwrap().kind();
        }
        profile
    };
    let targets = files(&suites.join("targets"), ".yaml");
    let is_profile = |path: &&PathBuf| !path.ends_with("kit.yaml");
    let profiles = Profiles::new(targets.iter().filter(is_profile).map(profile).collect());
    let recordings = files(&suites.join("recordings"), ".jsonl");
    for path in &recordings {
        let entries: Vec<Entry> = read(path).unwrap().map(Result::unwrap).collect();
        let Kind::Mark(header) = &entries[0].kind else { panic!("{} has no header", path.display()) };
        let profile = profiles.of(header).unwrap().clone().overlaid(header).unwrap();
        let mut dialect = Dialect::new(&profile.dialect);
        let unfiltered = of(&profile.dialect)
            .into_iter()
            .map(|each| Box::new(UnfilteredGuarantee(each)) as Box<dyn Guarantee>);
        let unfiltered = unfiltered.collect();
        let (mut some, mut all) = (Catalogue::new(profile.clone()), Catalogue::with(unfiltered, profile));
        for entry in &entries {
            let now = entry.at.max(dialect.world().now);
            some.advance_to(now, dialect.world());
            all.advance_to(now, dialect.world());
            for fact in dialect.observe(entry) {
                some.observe(&fact, dialect.world());
                all.observe(&fact, dialect.world());
            }
        }
        assert_eq!(format!("{:#?}", some.finish()), format!("{:#?}", all.finish()), "{}", path.display());
    }
    assert!(recordings.len() > 20, "{recordings:?}");
}

/// A guarantee that gets every fact, and is called whenever time passes.
struct UnfilteredGuarantee(Box<dyn Guarantee>);

impl Guarantee for UnfilteredGuarantee {
    fn spec(&self) -> &'static GuaranteeSpec {
        self.0.spec()
    }

    fn counts_from_stamps(&self) -> bool {
        self.0.counts_from_stamps()
    }

    fn topics(&self) -> Topics {
        Topics::ALL
    }

    fn deadlines(&mut self) -> Option<&mut Deadlines> {
        self.0.deadlines()
    }

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        self.0.observe(fact, context);
    }

    fn due(&mut self) -> Duration {
        Duration::ZERO
    }

    fn advance_to(&mut self, now: Duration, context: &mut JudgeContext<'_>) {
        self.0.advance_to(now, context);
    }
}
