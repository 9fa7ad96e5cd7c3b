//! Writes the journal of a run that may be killed at any moment.
//! The journal has a line for each seed that is done, in the order of the seeds.
//!
//! A line is written whole or is the last and torn: then its seed is run again.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use capsize_runner::chaos::Cell;
use miette::{IntoDiagnostic, WrapErr};
use serde::{Deserialize, Serialize};

use crate::exit::{CommandError, input_error};

/// How another run differs.
pub(super) const DIFFERS: &str = "its target, style, seeds or version differ";

/// The journal of one run.
pub(super) struct Journal(File);

/// The run that a journal belongs to. Another run cannot continue it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) target: String,
    pub(super) style: String,
    pub(super) first_seed: u64,
    /// The campaign that the run is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) campaign: Option<CampaignHeader>,
}

/// The campaign whose results may be joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CampaignHeader {
    pub(super) seeds: String,
    pub(super) completions: u64,
    /// The digest of the profile of the target.
    pub(super) profile: String,
    /// The version of Capsize.
    pub(super) version: String,
}

/// The result of a seed.
#[derive(Serialize, Deserialize)]
pub(super) struct SeedResult {
    pub(super) seed: u64,
    pub(super) span: Duration,
    pub(super) alarm: Option<String>,
    pub(super) tried: Vec<(Cell, u64)>,
    /// The real time since the result before, for runs that count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) wall: Option<Duration>,
}

impl Journal {
    /// Begins the journal at `path`, in the place of any that is there.
    pub(super) fn begin(path: &Path, header: &Header) -> Result<Self, CommandError> {
        let file = File::create(path).into_diagnostic().wrap_err_with(|| cannot(path));
        let mut journal = Self(file.map_err(CommandError::Environment)?);
        journal.line(header)?;
        Ok(journal)
    }

    /// Opens the journal at `path` to continue it, and calls `done` for each seed in it.
    pub(super) fn resume(
        path: &Path,
        header: &Header,
        done: impl FnMut(SeedResult),
    ) -> Result<Self, CommandError> {
        let file = OpenOptions::new().read(true).write(true).open(path).into_diagnostic();
        let mut file = file.wrap_err_with(|| cannot(path)).map_err(CommandError::Input)?;
        let whole = read(BufReader::new(&file), &path.display(), |found| found == header, done)?;
        let cut = file.set_len(whole).and_then(|()| file.seek(SeekFrom::Start(whole)));
        cut.into_diagnostic().wrap_err_with(|| cannot(path)).map_err(CommandError::Environment)?;
        let mut journal = Self(file);
        if whole == 0 {
            journal.line(header)?;
        }
        Ok(journal)
    }

    /// Writes down that a seed is done.
    pub(super) fn write(&mut self, done: &SeedResult) -> Result<(), CommandError> {
        self.line(done)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), CommandError> {
        self.0.write_all(line(value).as_bytes()).into_diagnostic().map_err(CommandError::Environment)
    }
}

/// A value as a line of a journal.
pub(super) fn line(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).expect("a line is plain data");
    text.push('\n');
    text
}

/// Reads the journal from `place`, and calls `done` for each seed in it.
/// The function `belongs` must accept the header of the journal. Returns the length of the whole lines of the journal.
///
/// # Errors
/// When it is the journal of another run, or a whole line is no result.
pub(super) fn read(
    mut reader: impl BufRead,
    place: &dyn Display,
    belongs: impl FnOnce(&Header) -> bool,
    mut done: impl FnMut(SeedResult),
) -> Result<u64, CommandError> {
    let (mut text, mut whole, mut belongs) = (Vec::new(), 0, Some(belongs));
    loop {
        let read = reader.read_until(b'\n', &mut text).into_diagnostic();
        read.wrap_err_with(|| format!("{place} cannot be read")).map_err(CommandError::Environment)?;
        if !text.ends_with(b"\n") {
            return Ok(whole);
        }
        if let Some(belongs) = belongs.take() {
            if !serde_json::from_slice(&text).is_ok_and(|found| belongs(&found)) {
                return Err(input_error!("{place}: it is the journal of another run: {DIFFERS}"));
            }
        } else {
            let line = serde_json::from_slice(&text).into_diagnostic();
            let line = line.wrap_err_with(|| format!("{place} has a line that is not the result of a seed"));
            done(line.map_err(CommandError::Input)?);
        }
        whole += text.len() as u64;
        text.clear();
    }
}

fn cannot(path: &Path) -> String {
    format!("the journal {} cannot be read and written", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_cut_off_and_its_seed_is_not_done() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let header =
            || Header { target: "reference 1.5".into(), style: "lite".into(), first_seed: 3, campaign: None };
        let done = |seed| SeedResult {
            seed,
            span: Duration::from_secs(1),
            alarm: None,
            tried: Vec::new(),
            wall: None,
        };
        let mut journal = Journal::begin(&path, &header()).unwrap();
        journal.write(&done(3)).unwrap();
        journal.write(&done(4)).unwrap();
        drop(journal);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 5]).unwrap();
        let resume = || {
            let mut seeds = Vec::new();
            let journal = Journal::resume(&path, &header(), |done| seeds.push(done.seed));
            (journal.unwrap(), seeds)
        };
        let (mut journal, seeds) = resume();
        assert_eq!(seeds, [3]);
        journal.write(&done(4)).unwrap();
        assert_eq!(resume().1, [3, 4]);
        let other = Header { style: "storm".into(), ..header() };
        assert!(matches!(Journal::resume(&path, &other, |_| ()), Err(CommandError::Input(_))));
        std::fs::write(&path, "{\"targ").unwrap();
        assert_eq!(resume().1, [0_u64; 0]);
        assert_eq!(resume().1, [0_u64; 0], "the torn head was written again");
    }
}
