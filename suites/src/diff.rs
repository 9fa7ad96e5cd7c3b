//! `capsize diff`: whether the same happened in two histories, or what changed between two reports.

use std::fs;
use std::path::{Path, PathBuf};

use capsize_history::Kind;
use capsize_judge::diff::{Outline, Outliner, compare};
use capsize_judge::profile::Profile;
use capsize_report::{
    Policy, changes, changes_json, changes_markdown, changes_text, differences, differences_json,
};

use crate::check::{CheckError, profile};
use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus, input_error};
use crate::{attached, output, targets};

/// Compare two histories, or two conformance reports.
/// Histories are compared by taints, evictions, placements, deliveries and their times
#[derive(Debug, clap::Args)]
pub struct Diff {
    /// A history, as JSON Lines; or a conformance report, or its folder
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The history or the report to compare it with
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// For histories: the profile whose timings decide how far apart two equal events may be.
    /// By default the profile of the release that each history names
    #[arg(long)]
    target: Option<String>,
    /// For reports: a file that says which changes fail the comparison
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    policy: Option<PathBuf>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    format: DiffFormat,
    #[command(flatten)]
    empty: EmptyArgs,
}

/// The format of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DiffFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// For a comment on a pull request; of reports only
    Md,
}

impl Diff {
    /// Compares the histories or the reports, and writes the differences to stdout.
    ///
    /// # Errors
    /// When one of them, the target or the policy cannot be read. When nothing happens in either history.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        match (is_report(&self.old), is_report(&self.new)) {
            (true, true) => self.reports(),
            (false, false) => self.histories(),
            _ => Err(input_error!(
                "{} and {}: one is a report and the other a history",
                self.old.display(),
                self.new.display()
            )),
        }
    }

    fn histories(self) -> Result<ExitStatus, CommandError> {
        if self.policy.is_some() || self.format == DiffFormat::Md {
            return Err(input_error!("--policy and --format md are for conformance reports"));
        }
        let target = self.target.as_deref().map(targets::find).transpose().map_err(CommandError::input)?;
        let outline = |path: &Path| outline(path, target.as_ref()).map_err(CommandError::input);
        let comparison = compare(&outline(&self.old)?, &outline(&self.new)?);
        output::print(&match self.format {
            DiffFormat::Json => differences_json(&comparison),
            _ => differences(&comparison, output::columns()),
        })?;
        let is_empty = comparison.matched == 0 && comparison.differences.is_empty();
        let untested = is_empty.then(|| "nothing that is compared happens in either history".to_owned());
        self.empty.verdict(comparison.is_alike(), untested)
    }

    fn reports(self) -> Result<ExitStatus, CommandError> {
        if self.target.is_some() {
            return Err(input_error!("--target does nothing for conformance reports"));
        }
        let policy = self.policy.as_deref().map(read_policy).transpose()?.unwrap_or_default();
        let (old, new) = (attached::read_claim(&self.old)?, attached::read_claim(&self.new)?);
        let changes = changes(&old, &new, policy.percent);
        let (old_name, new_name) = (old.name(), new.name());
        let names = (old_name.as_str(), new_name.as_str());
        output::print(&match self.format {
            DiffFormat::Text => changes_text(names, &changes, &policy, output::columns()),
            DiffFormat::Json => changes_json(names, &changes, &policy),
            DiffFormat::Md => changes_markdown(names, &changes, &policy),
        })?;
        let untested =
            (old.cases.is_empty() && new.cases.is_empty()).then(|| "no case ran in either report".to_owned());
        self.empty.verdict(!changes.iter().any(|change| policy.fails(change)), untested)
    }
}

/// Returns true if `path` is a conformance report or its folder, by its name.
fn is_report(path: &Path) -> bool {
    path.is_dir() || path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

fn read_policy(path: &Path) -> Result<Policy, CommandError> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| input_error!("{name}: {error}"))?;
    Policy::parse(&name, &text).map_err(|error| CommandError::input(*error))
}

/// Returns the history at `path` in outline.
/// The times are those of `target`, or else of the profile that the header of the history names.
///
/// # Errors
/// When it cannot be read, or nobody knows its times.
pub fn outline(path: &Path, target: Option<&Profile>) -> Result<Outline, CheckError> {
    let mut entries = capsize_history::read(path)?;
    let mut outliner = None;
    for entry in entries.by_ref() {
        let entry = entry?;
        if let (None, Kind::Mark(header)) = (&outliner, &entry.kind) {
            outliner = Some(Outliner::new(profile(path, header, target)?));
        }
        if let Some(outliner) = &mut outliner {
            outliner.push(&entry);
        }
    }
    Ok(outliner.expect("the reader refuses a history without header").finish())
}
