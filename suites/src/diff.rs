//! `capsize diff`: whether the same happened in two histories.

use std::path::{Path, PathBuf};

use capsize_history::Kind;
use capsize_judge::diff::{Outline, Outliner, compare};
use capsize_judge::profile::Profile;
use capsize_report::{differences, differences_json};

use crate::check::{CheckError, Format, profile};
use crate::exit::{Trouble, Verdict};
use crate::{output, targets};

/// Tell what differs between two histories: taints, evictions, placements and deliveries, and when they happened
#[derive(Debug, clap::Args)]
pub struct Diff {
    /// A history, as JSON Lines
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The history to hold against it
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// The profile whose times say how far apart the same may happen. By default those of the implementations and
    /// releases that the histories name
    #[arg(long)]
    target: Option<String>,
    /// How to tell it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Diff {
    /// Compares the histories, and writes what differs to stdout.
    ///
    /// # Errors
    /// When one of them, or the target, cannot be read.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        let target = self.target.as_deref().map(targets::find).transpose().map_err(Trouble::input)?;
        let outline = |path: &Path| outline(path, target.as_ref()).map_err(Trouble::input);
        let comparison = compare(&outline(&self.old)?, &outline(&self.new)?);
        output::say(&match self.format {
            Format::Text => differences(&comparison),
            Format::Json => differences_json(&comparison),
        })?;
        Ok(if comparison.is_alike() { Verdict::Conforms } else { Verdict::Violated })
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
