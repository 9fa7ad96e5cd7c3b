//! `capsize dialect`: tools for the authors of dialects that are data.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use capsize_dialect::Dialect;
use capsize_history::dialect::Fold;
use capsize_history::facts::{Topic, Topics};
use capsize_history::{Entry, Kind};
use capsize_judge::guarantee::Catalogue;
use capsize_judge::judge::Judge;
use capsize_judge::profile::Profile;
use capsize_report::{EntryFacts, ExpressionUse, GuaranteeUse};
use capsize_sorted::CollectSorted;
use clap::{Args, Subcommand};

use crate::check::CheckError;
use crate::exit::{CommandError, ExitStatus};
use crate::{check, dialects, output, targets};

/// Try a dialect that is data on recorded histories
#[derive(Debug, Subcommand)]
pub enum DialectCommand {
    /// Print the facts
    Try(Try),
    /// Print the exercised guarantees
    Coverage(Coverage),
}

/// Print the facts that each object of a history yields
#[derive(Args, Debug)]
pub struct Try {
    /// The dialect: a file, or the name of one that comes with Capsize
    #[arg(value_name = "FILE")]
    dialect: String,
    /// The history, as JSON Lines
    history: PathBuf,
}

/// Print which guarantees histories put to the test, and what the others lack
#[derive(Args, Debug)]
pub struct Coverage {
    /// The dialect: a file, or the name of one that comes with Capsize
    #[arg(value_name = "FILE")]
    dialect: String,
    /// The histories, as JSON Lines
    #[arg(required = true, value_name = "HISTORY")]
    histories: Vec<PathBuf>,
    /// The profile whose timings count: the name of one that comes with Capsize, or a file.
    /// By default the profile of the implementation that each history names
    #[arg(long)]
    target: Option<String>,
}

impl DialectCommand {
    /// Does what was asked for.
    ///
    /// # Errors
    /// A dialect or a history that is wrong.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        match self {
            Self::Try(command) => command.execute(),
            Self::Coverage(command) => command.execute(),
        }
    }
}

fn find(name: &str) -> Result<Dialect, CommandError> {
    dialects::find(name, Path::new("")).map_err(|error| CommandError::input(*error))
}

/// The entries of the history at `path`.
fn entries(path: &Path) -> Result<Vec<Entry>, CommandError> {
    let reader = capsize_history::read(path).map_err(CommandError::input)?;
    reader.collect::<Result<_, _>>().map_err(CommandError::input)
}

impl Try {
    fn execute(self) -> Result<ExitStatus, CommandError> {
        let mut fold = find(&self.dialect)?.counting_fold();
        let mut read = Vec::new();
        for entry in entries(&self.history)? {
            let facts = fold.observe(&entry);
            let object = match &entry.kind {
                Kind::Mark(_) if facts.is_empty() => continue,
                Kind::Mark(_) => None,
                Kind::Event { on, object, .. } => {
                    let (name, namespace) =
                        (object.text("metadata", "name"), object.text("metadata", "namespace"));
                    let full =
                        if namespace.is_empty() { name.into_owned() } else { format!("{namespace}/{name}") };
                    let version = object.text("metadata", "resourceVersion");
                    let on = std::sync::Arc::clone(on);
                    Some(capsize_history::facts::ObjectVersion::new(on, &object.kind(), &full, &version))
                }
            };
            read.push(EntryFacts { at: entry.at, object, facts });
        }
        output::print(&capsize_report::facts(&read, output::columns()))?;
        Ok(ExitStatus::Conforms)
    }
}

impl Coverage {
    fn execute(self) -> Result<ExitStatus, CommandError> {
        let dialect = find(&self.dialect)?;
        let target = self.target.as_deref().map(targets::find).transpose().map_err(CommandError::input)?;
        let (mut exercised, mut topics) = (BTreeSet::new(), BTreeSet::new());
        let mut expressions: Vec<ExpressionUse> = Vec::new();
        for path in &self.histories {
            let entries = entries(path)?;
            let profile = self.profile(path, target.as_ref(), &dialect)?;
            let (mut judge, mut fold) = (Judge::new(profile), dialect.counting_fold());
            for entry in &entries {
                topics.extend(judge.push(entry).iter().map(|fact| fact.change.topic() as usize));
                fold.observe(entry);
            }
            let verdicts = judge.finish().verdicts;
            let tested = verdicts.iter().filter(|verdict| GuaranteeUse::is_exercised(verdict));
            exercised.extend(tested.map(|verdict| verdict.spec.id));
            for (place, outcome) in fold.outcomes() {
                match expressions.iter_mut().find(|each| each.place == place) {
                    Some(known) => {
                        known.values += outcome.values;
                        known.absent += outcome.absent;
                    }
                    None => expressions.push(ExpressionUse {
                        place,
                        values: outcome.values,
                        absent: outcome.absent,
                        reason: outcome.reason,
                    }),
                }
            }
        }
        let missing = |reads: Topics| {
            let absent = |topic: &&Topic| reads.has(**topic) && !topics.contains(&(**topic as usize));
            Topic::ALL.iter().filter(absent).map(|topic| format!("{topic:?}")).collect()
        };
        let guarantees: Vec<GuaranteeUse> = Catalogue::reads()
            .into_iter()
            .map(|(spec, reads)| GuaranteeUse {
                spec,
                exercised: exercised.contains(spec.id),
                missing: missing(reads),
            })
            .collect();
        output::print(&capsize_report::dialect_coverage(&guarantees, &expressions, output::columns()))?;
        Ok(ExitStatus::Conforms)
    }

    /// The profile for the history at `path`, with every feature, so that each guarantee may be exercised.
    fn profile(
        &self,
        path: &Path,
        target: Option<&Profile>,
        dialect: &Dialect,
    ) -> Result<Profile, CommandError> {
        let header = check::header(path).map_err(CommandError::input)?;
        let profile: Result<Profile, CheckError> = check::profile(path, &header, target);
        let mut profile = profile.map_err(CommandError::input)?;
        let all = targets::shipped();
        profile.features = all.iter().flat_map(|each| each.features.iter().copied()).collect_sorted();
        profile.dialect = dialect.kind();
        Ok(profile)
    }
}
