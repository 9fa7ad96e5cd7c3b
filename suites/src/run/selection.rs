//! Selects the cases of a run: by file, name, shard and repetition, or by an earlier run.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;

use capsize_clock::Seed;
use capsize_history::misspelt;
use capsize_report::{CaseStatus, ConformanceReport};
use capsize_runner::scenario::{self, Case};
use capsize_sorted::CollectSorted;
use clap::Args;

use crate::exit::{CommandError, input_error};
use crate::{attached, conformance};

/// The options that select cases.
#[derive(Args, Clone, Debug)]
pub struct SelectionArgs {
    /// Scenario files, or folders of them; the conformance suite where none is given
    paths: Vec<PathBuf>,
    /// Run only the core of the suite
    #[arg(long, conflicts_with = "paths")]
    core: bool,
    /// Run only cases whose `group/name` contains this; several filters add up
    #[arg(long, value_name = "NAME")]
    filter: Vec<String>,
    /// Leave out cases whose `group/name` contains this
    #[arg(long, value_name = "NAME")]
    exclude: Vec<String>,
    /// Run only the cases that failed in the run that wrote this report, with their seeds
    #[arg(long, value_name = "DIR", conflicts_with_all = ["seed", "repeat"])]
    rerun_failed: Option<PathBuf>,
    /// Run only the part I of N parts of the cases: `capsize merge` joins the reports
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Run each case N times, with the seed and its successors
    #[arg(long, value_name = "N", default_value = "1")]
    repeat: NonZeroU64,
    /// The random seed
    #[arg(long, default_value_t = Seed(1))]
    seed: Seed,
}

/// A part of the cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// The number of the part, from one.
    part: usize,
    /// The number of parts.
    parts: usize,
}

/// The cases that are run with one seed.
pub(crate) struct SelectedCases {
    pub(crate) seed: Seed,
    pub(crate) cases: Vec<Case>,
}

impl SelectionArgs {
    /// The selected cases, by seed. There is at least one seed, and it may have no cases.
    ///
    /// # Errors
    /// A scenario that is wrong, a name that no case has, or an earlier report that cannot be read.
    pub(crate) fn select(&self) -> Result<Vec<SelectedCases>, CommandError> {
        let cases = self.shared(self.named()?);
        let Some(folder) = &self.rerun_failed else {
            let with = |seed| SelectedCases { seed, cases: cases.clone() };
            return Ok(self.seeds()?.into_iter().map(with).collect());
        };
        let report = attached::read_claim(folder)?;
        let mut failed = Vec::new();
        for seed in report.run.seeds.iter().map(|seed| Seed(*seed)) {
            let ids = failed_with(&report, seed);
            let cases: Vec<Case> = cases.iter().filter(|case| ids.contains(&case.id())).cloned().collect();
            if !cases.is_empty() {
                failed.push(SelectedCases { seed, cases });
            }
        }
        if failed.is_empty() {
            let why = format!("--rerun-failed {}: no case failed in that run", folder.display());
            return Err(input_error!("{why}"));
        }
        Ok(failed)
    }

    /// The cases with the wanted names: of the files, or of the suite.
    /// Other cases of the suite are not read, because reading all cases takes longer than running a few.
    fn named(&self) -> Result<Vec<Case>, CommandError> {
        if self.paths.is_empty() {
            let is_eligible = |id: &str| !self.core || conformance::is_core(id);
            let mut ids = conformance::ids();
            ids.retain(|id| is_eligible(id));
            self.check_names(&ids)?;
            let cases = conformance::cases_where(|id| is_eligible(id) && self.is_named(id));
            return cases.map_err(|error| CommandError::input(*error));
        }
        let mut cases = scenario::find(&self.paths).map_err(CommandError::input)?;
        self.check_names(&cases.iter().map(Case::id).collect::<Vec<_>>())?;
        cases.retain(|case| self.is_named(&case.id()));
        Ok(cases)
    }

    /// Whether the filters select the case with this id.
    fn is_named(&self, id: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|name| id.contains(name));
        (self.filter.is_empty() || has(&self.filter)) && !has(&self.exclude)
    }

    /// Refuses a name that no case has.
    fn check_names(&self, ids: &[String]) -> Result<(), CommandError> {
        let unknown = |name: &&String| !ids.iter().any(|id| id.contains(name.as_str()));
        let Some(name) = self.filter.iter().chain(&self.exclude).find(unknown) else { return Ok(()) };
        let names = ids.iter().flat_map(|id| [Some(id.as_str()), id.split_once('/').map(|(_, name)| name)]);
        let known: Vec<&str> = names.flatten().collect();
        let meant = misspelt(name, &known).map(|meant| format!("did you mean `{meant}`? "));
        let help = format!("{}`capsize list` shows what there is", meant.unwrap_or_default());
        Err(input_error!(help = help, "no case has `{name}` in its name"))
    }

    /// The cases of the shard.
    /// Neighbours go to different shards, because they often take about the same time.
    fn shared(&self, cases: Vec<Case>) -> Vec<Case> {
        let Some(Shard { part, parts }) = self.shard else { return cases };
        cases.into_iter().skip(part - 1).step_by(parts).collect()
    }

    fn seeds(&self) -> Result<Vec<Seed>, CommandError> {
        let last = self.seed.0.checked_add(self.repeat.get() - 1);
        let too_large = || input_error!("--repeat {}: the seeds are too large", self.repeat);
        Ok((self.seed.0..=last.ok_or_else(too_large)?).map(Seed).collect())
    }

    /// The first seed.
    pub(super) fn seed(&self) -> Seed {
        self.seed
    }

    /// The shard, if it is a part of the cases.
    pub(super) fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// The folder of the earlier run whose failed cases are selected.
    pub(super) fn earlier(&self) -> Option<&PathBuf> {
        self.rerun_failed.as_ref()
    }

    /// The same selection without a shard.
    pub(super) fn whole(&self) -> Self {
        Self { shard: None, ..self.clone() }
    }

    /// The paths, for a command that runs the same again.
    pub(super) fn paths(&self) -> Vec<String> {
        self.paths.iter().map(|path| path.display().to_string()).collect()
    }

    /// The options by which cases are left out; absent if all cases of the suite are selected.
    pub(super) fn described(&self) -> Option<String> {
        let mut options = self.paths();
        options.extend(self.core.then(|| "--core".to_owned()));
        options.extend(self.filter.iter().map(|name| format!("--filter {name}")));
        options.extend(self.exclude.iter().map(|name| format!("--exclude {name}")));
        options.extend(self.rerun_failed.iter().map(|folder| format!("--rerun-failed {}", folder.display())));
        (!options.is_empty()).then(|| options.join(" "))
    }

    /// The other options, for a command that runs the same again.
    pub(super) fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        let mut add = |flag: &str, value: String| options.extend([flag.to_owned(), value]);
        self.filter.iter().for_each(|name| add("--filter", name.clone()));
        self.exclude.iter().for_each(|name| add("--exclude", name.clone()));
        self.shard.iter().for_each(|shard| add("--shard", shard.to_string()));
        match &self.rerun_failed {
            Some(folder) => add("--rerun-failed", folder.display().to_string()),
            None => add("--seed", self.seed.to_string()),
        }
        if self.repeat != NonZeroU64::MIN {
            add("--repeat", self.repeat.to_string());
        }
        options.extend(self.core.then(|| "--core".to_owned()));
        options
    }
}

/// The ids of the cases that failed with this seed.
fn failed_with(report: &ConformanceReport, seed: Seed) -> BTreeSet<String> {
    let failed = report.cases.iter().filter(|case| case.status == CaseStatus::Failed);
    let with = failed.filter(|case| case.seed.is_none_or(|own| own == seed.0));
    with.map(|case| case.id.clone()).collect_sorted()
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.parts)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text
            .split_once('/')
            .and_then(|(part, parts)| Some(Self { part: part.parse().ok()?, parts: parts.parse().ok()? }));
        let shard = numbers.filter(|shard| (1..=shard.parts).contains(&shard.part));
        shard.ok_or_else(|| "write the part and the number of parts, as 1/4".to_owned())
    }
}

impl Shard {
    /// The number of parts.
    pub(crate) fn parts(self) -> usize {
        self.parts
    }

    /// All parts.
    pub(crate) fn all(self) -> impl Iterator<Item = Self> {
        (1..=self.parts).map(move |part| Self { part, ..self })
    }
}
