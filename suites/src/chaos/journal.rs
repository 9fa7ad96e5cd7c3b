//! The journal of a run that may be killed at any moment: a line for each seed that is done, in their order.
//!
//! A line is written whole or is the last and torn: then its seed is run again.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use capsize_runner::chaos::Cell;
use miette::{IntoDiagnostic, WrapErr, miette};
use serde::{Deserialize, Serialize};

use crate::exit::CommandError;

/// The journal of one run.
pub(super) struct Journal(File);

/// The run that a journal belongs to. Another run cannot continue it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) target: String,
    pub(super) style: String,
    pub(super) first_seed: u64,
}

/// The result of a seed.
#[derive(Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) seed: u64,
    pub(super) span: Duration,
    pub(super) alarm: Option<String>,
    pub(super) tried: Vec<(Cell, u64)>,
}

impl Journal {
    /// Begins the journal at `path`, in the place of any that is there.
    pub(super) fn begin(path: &Path, header: &Header) -> Result<Self, CommandError> {
        let mut journal = Self(
            File::create(path)
                .into_diagnostic()
                .wrap_err_with(|| cannot(path))
                .map_err(CommandError::Environment)?,
        );
        journal.line(header)?;
        Ok(journal)
    }

    /// Opens the journal at `path` to continue it, and calls `done` for each seed in it.
    pub(super) fn resume(
        path: &Path,
        header: &Header,
        mut done: impl FnMut(Done),
    ) -> Result<Self, CommandError> {
        let file = OpenOptions::new().read(true).write(true).open(path).into_diagnostic();
        let file = file.wrap_err_with(|| cannot(path)).map_err(CommandError::Input)?;
        let mut reader = BufReader::new(&file);
        let (mut text, mut whole) = (String::new(), 0);
        while reader.read_line(&mut text).is_ok_and(|length| length > 0) && text.ends_with('\n') {
            if whole == 0 {
                let found: Option<Header> = serde_json::from_str(&text).ok();
                if found.as_ref() != Some(header) {
                    let why = "it is the journal of another run: it has another target, style or first seed";
                    return Err(CommandError::Input(miette!("{}: {why}", path.display())));
                }
            } else {
                let line = serde_json::from_str(&text).into_diagnostic();
                done(line.wrap_err_with(|| cannot(path)).map_err(CommandError::Input)?);
            }
            whole += text.len() as u64;
            text.clear();
        }
        let mut file = file;
        let cut = file.set_len(whole).and_then(|()| file.seek(SeekFrom::Start(whole)));
        cut.into_diagnostic().wrap_err_with(|| cannot(path)).map_err(CommandError::Environment)?;
        Ok(Self(file))
    }

    /// Writes down that a seed is done.
    pub(super) fn write(&mut self, done: &Done) -> Result<(), CommandError> {
        self.line(done)
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), CommandError> {
        let mut text = serde_json::to_string(line).expect("a line is plain data");
        text.push('\n');
        self.0.write_all(text.as_bytes()).into_diagnostic().map_err(CommandError::Environment)
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
        let header = || Header { target: "reference 1.5".into(), style: "lite".into(), first_seed: 3 };
        let done = |seed| Done { seed, span: Duration::from_secs(1), alarm: None, tried: Vec::new() };
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
    }
}
