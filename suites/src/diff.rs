//! `capsize diff`: whether the same happened in two histories.

use std::path::{Path, PathBuf};

use capsize_history::Kind;
use capsize_judge::diff::{Outline, Outliner, compare};
use capsize_judge::profile::Profile;
use capsize_report::{differences, differences_json};

use crate::check::{CheckError, Format, profile};
use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::{output, targets};

/// Compare two histories: taints, evictions, placements and deliveries, and when they happened
#[derive(Debug, clap::Args)]
pub struct Diff {
    /// A history, as JSON Lines
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The history to compare it with
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// The profile whose timings decide how far apart two equal events may be. By default the profile of the release that
    /// each history names
    #[arg(long)]
    target: Option<String>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    empty: EmptyArgs,
}

impl Diff {
    /// Compares the histories, and writes what differs to stdout.
    ///
    /// # Errors
    /// When one of them, or the target, cannot be read. When nothing happens in either.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let target = self.target.as_deref().map(targets::find).transpose().map_err(CommandError::input)?;
        let outline = |path: &Path| outline(path, target.as_ref()).map_err(CommandError::input);
        let comparison = compare(&outline(&self.old)?, &outline(&self.new)?);
        output::print(&match self.format {
            Format::Text => differences(&comparison, output::columns()),
            Format::Json => differences_json(&comparison),
        })?;
        let is_empty = comparison.alike == 0 && comparison.differences.is_empty();
        let untested = is_empty.then(|| "nothing that is compared happens in either history".to_owned());
        self.empty.verdict(comparison.is_alike(), untested)
    }
}

/// The history at `path` in outline, with the times of `target`, or else of the profile that its header names.
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
