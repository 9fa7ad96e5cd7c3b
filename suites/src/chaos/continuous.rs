//! Implements `capsize chaos --continuous`.
//! The command runs seeds without an end, keeps the results for each commit, and writes a page about them.
//!
//! The folder of a commit, target and style is that of `capsize chaos --save`: a journal and the failures.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::fs::{self, File, TryLockError};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use capsize_clock::Clock;
use capsize_report::{ChaosFailure, ChaosResults, chaos_page};
use miette::{IntoDiagnostic, WrapErr};

use super::find::Find;
use super::journal::{Header, Journal, SeedResult, read};
use super::session::{Keep, Local};
use crate::exit::{CommandError, environment_error};
use crate::output;

/// The file of results in the folder of a commit, target and style.
const JOURNAL: &str = "journal.jsonl";

/// The profile of a target that is a file of the user, in the same folder.
const PROFILE: &str = "target.yaml";

/// The real time between two versions of the page, as long as no other kind of failure is found.
const PAGE_EVERY: Duration = Duration::from_secs(10);

/// The results of all commits in a folder. One process at a time has it open.
pub(super) struct Database {
    folder: PathBuf,
    local: Local,
    own: Run,
    others: Vec<Run>,
    clock: Clock,
    /// When the result before came, and when the page was written.
    before: Duration,
    written: Duration,
    /// Whether there is a failure of another kind than those on the page.
    is_news: bool,
    /// It is unlocked when it is closed.
    _lock: File,
}

/// A commit or version, which becomes the name of a folder.
///
/// # Errors
/// When it has characters that names of versions do not have.
pub(super) fn commit(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    if text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err("write a commit or version: letters, digits and `.`, `_`, `+` or `-` between them".to_owned())
}

impl Database {
    /// Opens the database in `folder` to add results of `commit`.
    /// The function calls `done` for each result that the database already has. The text `profile` is that of the
    /// profile of the target, if the profile is a file of the user.
    ///
    /// # Errors
    /// When another process has it open, or when it cannot be read and written.
    pub(super) fn open(
        folder: &Path,
        (commit, profile): (&str, Option<String>),
        header: &Header,
        mut done: impl FnMut(SeedResult),
    ) -> Result<Self, CommandError> {
        let run = format!("{}-{}", header.target, header.style)
            .replace(|c: char| c == '/' || c.is_whitespace(), "-");
        let own_folder = folder.join(commit).join(run);
        let own_journal = own_folder.join(JOURNAL);
        let local = output::Folder::create(&own_folder)?;
        let lock = lock(folder)?;
        if let Some(profile) = profile {
            local.write(PROFILE, profile.as_bytes())?;
        }
        let mut own = Run::of(&own_folder, commit, header);
        let take = |one: SeedResult| {
            own.count(&one);
            done(one);
        };
        let journal = if own_journal.exists() {
            Journal::resume(&own_journal, header, take)?
        } else {
            Journal::begin(&own_journal, header)?
        };
        let local = Local { folder: Some(local), journal: Some(journal) };
        let others = others(folder, &own_folder)?;
        let (clock, start) = (Clock::real(), Duration::ZERO);
        let database = Self {
            folder: folder.to_owned(),
            local,
            own,
            others,
            clock,
            before: start,
            written: start,
            is_news: false,
            _lock: lock,
        };
        database.page()?;
        Ok(database)
    }

    /// Writes the page.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn page(&self) -> Result<(), CommandError> {
        let all: Vec<_> = std::iter::once(&self.own).chain(&self.others).map(|run| &run.results).collect();
        output::write_file(&self.folder.join("index.html"), chaos_page(&all).as_bytes())
    }
}

impl Keep for Database {
    fn found(&mut self, find: &Find) -> Result<(), CommandError> {
        self.is_news = true;
        self.local.found(find)
    }

    fn done(&mut self, mut done: SeedResult) -> Result<(), CommandError> {
        let now = self.clock.elapsed();
        done.wall = Some(now.saturating_sub(self.before));
        self.before = now;
        self.own.count(&done);
        self.local.done(done)?;
        if self.is_news || now.saturating_sub(self.written) >= PAGE_EVERY {
            (self.written, self.is_news) = (now, false);
            self.page()?;
        }
        Ok(())
    }
}

/// Locks the database against other processes.
fn lock(folder: &Path) -> Result<File, CommandError> {
    let path = folder.join(".lock");
    let cannot = || format!("{} cannot be locked", path.display());
    let file =
        File::create(&path).into_diagnostic().wrap_err_with(cannot).map_err(CommandError::Environment)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(environment_error!(
            "another process adds results to {}: wait until it has ended, or use another folder",
            folder.display()
        )),
        Err(TryLockError::Error(error)) => {
            Err(error).into_diagnostic().wrap_err_with(cannot).map_err(CommandError::Environment)
        }
    }
}

/// The results of a commit, target and style.
struct Run {
    results: ChaosResults,
    /// The target of the commands that repeat seeds.
    target: String,
}

impl Run {
    /// The run in `folder` before any of its seeds.
    fn of(folder: &Path, commit: &str, header: &Header) -> Self {
        let Header { target, style, .. } = header.clone();
        let profile = folder.join(PROFILE);
        let argument = if profile.exists() {
            std::path::absolute(&profile).unwrap_or(profile).display().to_string()
        } else {
            target.rsplit_once(' ').map_or(&*target, |(name, _)| name).to_owned()
        };
        let argument = shlex::try_quote(&argument).unwrap_or_default().into_owned();
        let results = ChaosResults { commit: commit.to_owned(), target, style, ..ChaosResults::default() };
        Self { results, target: argument }
    }

    fn count(&mut self, done: &SeedResult) {
        let results = &mut self.results;
        results.seeds += 1;
        results.simulated += done.span;
        results.wall += done.wall.unwrap_or_default();
        if let Some(kind) = done.alarm.clone() {
            let (seed, style) = (done.seed, &results.style);
            let replay = format!("capsize replay {seed} --style {style} --target {}", self.target);
            results.failures.push(ChaosFailure { seed, kind, replay });
        }
    }
}

/// The results of all journals but `own`, the latest first.
fn others(folder: &Path, own: &Path) -> Result<Vec<Run>, CommandError> {
    let mut found: Vec<(SystemTime, PathBuf, Run)> = Vec::new();
    for commit in folders(folder)? {
        let name = commit.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for place in folders(&commit)? {
            let journal = place.join(JOURNAL);
            if place == own || !journal.exists() {
                continue;
            }
            let file = File::open(&journal).and_then(|file| Ok((file.metadata()?.modified()?, file)));
            let (modified, file) = file.map_err(|error| unreadable(&journal, &error))?;
            let run = RefCell::new(None);
            let begin = |header: &Header| {
                run.replace(Some(Run::of(&place, &name, header)));
                true
            };
            let take = |done| {
                if let Some(run) = &mut *run.borrow_mut() {
                    run.count(&done);
                }
            };
            read(BufReader::new(file), &journal.display(), begin, take)?;
            found.extend(run.into_inner().map(|run| (modified, journal, run)));
        }
    }
    found.sort_by_key(|(modified, journal, _)| (Reverse(*modified), journal.clone()));
    Ok(found.into_iter().map(|(.., run)| run).collect())
}

/// The folders in a folder.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|error| unreadable(folder, &error))?;
    Ok(entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
}

fn unreadable(path: &Path, error: &std::io::Error) -> CommandError {
    environment_error!("{} cannot be read: {error}", path.display())
}
