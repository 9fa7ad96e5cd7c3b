//! `capsize merge`: the reports of the shards of a run as one report.

use std::collections::BTreeMap;
use std::path::PathBuf;

use capsize_clock::Seed;
use capsize_judge::profile::Profile;
use clap::Args;

use crate::attached::{AttachedReport, history_file};
use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus, input_error};
use crate::output;
use crate::run::Shard;

/// Join the reports of all shards of a run into one report
#[derive(Args, Debug)]
pub struct Merge {
    /// The folders that `run --shard I/N --report DIR` wrote
    #[arg(required = true, value_name = "DIR")]
    shards: Vec<PathBuf>,
    /// The folder of the whole report
    #[arg(long, value_name = "DIR")]
    report: PathBuf,
    #[command(flatten)]
    empty: EmptyArgs,
}

impl Merge {
    /// Judges the histories of all shards again, and writes and prints the whole report.
    ///
    /// # Errors
    /// When a shard cannot be read, is missing, is there twice, or is of another run.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let whole = self.whole()?;
        let mut rejudged = whole.rejudged(true)?;
        if let Some(id) = rejudged.missing.first() {
            return Err(input_error!("no shard has the case {id}"));
        }
        let writer = output::Folder::create(&self.report)?;
        for case in &whole.claim.cases {
            let history = whole.history(case).unwrap_or_default();
            writer.write_private(&history_file(case), &history)?;
        }
        for (case, record) in rejudged.report.cases.iter_mut().zip(&rejudged.records) {
            case.replay = whole.run.replay(&record.id, Seed(record.seed));
        }
        writer.report(&rejudged.report, &rejudged.timelines)?;
        let profiles: Vec<&Profile> = rejudged.profiles.iter().collect();
        writer.claim(&whole.claim_of(&rejudged)?, &profiles)?;
        output::print(&capsize_report::summary(&rejudged.report, output::columns()))?;
        self.empty.verdict(rejudged.report.conforms(), rejudged.report.untested())
    }

    /// The report of all shards, after a check that they belong together.
    fn whole(&self) -> Result<AttachedReport, CommandError> {
        let mut shards = Vec::new();
        let mut parts = BTreeMap::new();
        for path in &self.shards {
            let shard = AttachedReport::read(path)?;
            let wrong = |why: &str| input_error!("{}: {why}", path.display());
            let part = shard.run.shard().ok_or_else(|| wrong("this is not the report of a shard"))?;
            if let Some(first) = parts.insert(part, path) {
                return Err(wrong(&format!("the shard {part} is in {} already", first.display())));
            }
            shards.push(shard);
        }
        let run = shards.first().map(|shard| shard.run.whole());
        let (Some(run), Some(part)) = (run, parts.keys().next()) else {
            return Err(input_error!("there is no shard"));
        };
        for (shard, path) in shards.iter().zip(&self.shards) {
            if let Some(field) = differing(&shards[0], shard) {
                let (first, path) = (self.shards[0].display(), path.display());
                return Err(input_error!("{first} and {path} are of different runs: {field}"));
            }
        }
        if let Some(missing) = part.all().find(|part| !parts.contains_key(part)) {
            return Err(input_error!("the shard {missing} is missing"));
        }
        AttachedReport::joined(shards, run).ok_or_else(|| input_error!("there is no shard"))
    }
}

/// The first field in which the runs of two shards differ.
fn differing(first: &AttachedReport, second: &AttachedReport) -> Option<&'static str> {
    let digests = |shard: &AttachedReport| {
        shard.claim.targets.iter().map(|target| target.digest.clone()).collect::<Vec<_>>()
    };
    let fields = [
        ("run.command", first.run.whole().command() != second.run.whole().command()),
        ("run.provider", first.claim.run.provider != second.claim.run.provider),
        ("suite", first.claim.suite != second.claim.suite),
        ("targets", digests(first) != digests(second)),
        ("the number of shards", first.run.shard().map(Shard::parts) != second.run.shard().map(Shard::parts)),
    ];
    fields.into_iter().find_map(|(field, differs)| differs.then_some(field))
}
