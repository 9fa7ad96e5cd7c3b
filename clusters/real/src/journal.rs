//! What a run does to the machine: written down before it is done, and struck out when it is undone.
//!
//! A journal is a file of JSON lines that its run holds locked. The lock goes with the process, however that ends; so a journal
//! that can be locked is of a run that is over. Undoing what it says is left to `heal.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::kubeconfig::Copies;

/// Something that must not outlast the run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Deed {
    /// A network of Docker's. What was written down last is undone first, so it comes before what is in it.
    Network(String),
    /// A volume, which is not written down: it goes with its container, and where it does not, its labels tell of it.
    Volume(String),
    /// A container, by its name.
    Container(String),
    /// Programs whose environment says that they are of this member.
    Programs(String),
    /// A folder with keys or logs in it.
    Folder(PathBuf),
    /// What an implementation puts into a cluster that exists.
    Copies(Copies),
}

/// A line of a journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    /// It is about to be done.
    Will(Deed),
    /// It is undone.
    Undone(Deed),
}

/// The label of everything that is created: the name of the run.
pub(crate) const RUN: &str = "capsize.run";

/// The other label of everything: the folder of the run's journal.
pub(crate) const JOURNAL: &str = "capsize.journal";

const ENDING: &str = "jsonl";

/// The ending of one that is about to be begun.
const NEW: &str = "new";

/// Where the journals of this user are: `CAPSIZE_STATE`, or where XDG says that state is kept.
#[must_use]
pub fn state_folder() -> PathBuf {
    let folder = |name: &str| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let xdg = || folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
    let state = folder("CAPSIZE_STATE").or_else(|| Some(xdg()?.join("capsize")));
    state.unwrap_or_else(|| env::temp_dir().join("capsize-state"))
}

/// The journal of this run. When it is dropped with nothing left to undo, it goes.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    kept: Mutex<Kept>,
    /// The folders of the run, which are counted.
    folders: AtomicU64,
}

#[derive(Debug)]
struct Kept {
    /// Locked.
    file: File,
    open: BTreeSet<Deed>,
}

impl Journal {
    /// Begins a journal in `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        let ending = format!(".{NEW}");
        loop {
            // Locked before it has a name by which it counts.
            let mut new = tempfile::Builder::new();
            let new = new.prefix("").suffix(&ending).rand_bytes(8);
            let (file, unnamed) = new.tempfile_in(&folder)?.keep().map_err(|error| error.error)?;
            file.lock()?;
            let path = unnamed.with_extension(ENDING);
            match fs::rename(&unnamed, &path) {
                // Somebody who healed came before the lock, and took it for one that was left.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                renamed => {
                    renamed?;
                    let kept = Mutex::new(Kept { file, open: BTreeSet::new() });
                    return Ok(Self { path, kept, folders: AtomicU64::new(0) });
                }
            }
        }
    }

    /// What the run is called: no other has the name.
    #[must_use]
    pub fn run(&self) -> String {
        run_of(&self.path)
    }

    /// The labels of everything that the run creates.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        let folder = self.path.parent().unwrap_or_else(|| Path::new("")).display().to_string();
        BTreeMap::from([(RUN.to_owned(), self.run()), (JOURNAL.to_owned(), folder)])
    }

    /// Writes down what is about to be done. It is on the disk when this returns.
    ///
    /// # Errors
    /// When it cannot be written: do not do it then.
    pub fn will(&self, deed: Deed) -> io::Result<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.write(&Line::Will(deed.clone()))?;
        kept.open.insert(deed);
        Ok(())
    }

    /// Makes a folder in `parent` that nobody else may read, whose name begins with `prefix`: no other has it. It is written down
    /// before it is there, so that none is left by who is killed in between.
    ///
    /// # Errors
    /// When it cannot be written down, or made.
    pub fn folder(&self, parent: &Path, prefix: &str) -> io::Result<PathBuf> {
        let number = self.folders.fetch_add(1, Ordering::Relaxed) + 1;
        let path = parent.join(format!("{prefix}{}-{number}", self.run()));
        let deed = Deed::Folder(path.clone());
        self.will(deed.clone())?;
        DirBuilder::new().mode(0o700).create(&path).inspect_err(|_| self.undone(&deed))?;
        Ok(path)
    }

    /// Strikes out what is undone.
    pub fn undone(&self, deed: &Deed) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.open.remove(deed) {
            // What is not struck out is undone again: that does no harm.
            let _ = kept.write(&Line::Undone(deed.clone()));
        }
    }
}

impl Kept {
    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        if kept.open.is_empty() {
            // One that stays is found to be empty by whoever heals.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn run_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The journal of a run that is over, locked by whoever undoes what it says.
pub(crate) struct Left {
    path: PathBuf,
    /// Locked.
    _file: File,
    /// What is still to be undone, in this order.
    pub(crate) deeds: Vec<Deed>,
}

impl Left {
    /// The journals in `folder` of runs that are over.
    ///
    /// # Errors
    /// When the folder or a journal cannot be read.
    pub(crate) fn find(folder: &Path) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in entries {
            paths.push(entry?.path());
        }
        paths.sort();
        let mut left = Vec::new();
        for path in paths {
            let is = |ending| path.extension().is_some_and(|actual| actual == ending);
            match (is(ENDING), is(NEW)) {
                (true, _) => left.extend(Self::of(path)?),
                // Its run was over before it had done anything.
                (_, true) => Self::of(path)?.map_or(Ok(()), Self::close)?,
                _ => {}
            }
        }
        Ok(left)
    }

    /// The journal at `path`, if its run is over.
    fn of(path: PathBuf) -> io::Result<Option<Self>> {
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        // Somebody else may have locked it, undone what it says, and removed it.
        if file.try_lock().is_err() || !path.exists() {
            return Ok(None);
        }
        let mut deeds = Vec::new();
        for line in BufReader::new(&file).lines() {
            // The last line may be cut off: what it would have said was not done.
            let Ok(line) = serde_json::from_str(&line?) else { break };
            match line {
                Line::Will(deed) => deeds.push(deed),
                Line::Undone(deed) => deeds.retain(|one| *one != deed),
            }
        }
        deeds.reverse();
        Ok(Some(Self { path, _file: file, deeds }))
    }

    /// What its run was called.
    pub(crate) fn run(&self) -> String {
        run_of(&self.path)
    }

    /// Removes it: all that it says is undone.
    pub(crate) fn close(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// The names of the runs whose journals are in `folder` and are kept at present.
///
/// # Errors
/// When the folder cannot be read.
pub fn at_work(folder: &Path) -> io::Result<BTreeSet<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries?,
    };
    let mut runs = BTreeSet::new();
    for entry in entries {
        let path = entry?.path();
        // A journal without its name yet is of a run that begins. Others may look at the same time.
        if File::open(&path).is_ok_and(|file| file.try_lock_shared().is_err()) {
            runs.insert(run_of(&path));
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    fn deeds() -> [Deed; 3] {
        [Deed::Network("n".into()), Deed::Container("a".into()), Deed::Container("b".into())]
    }

    #[test]
    fn a_journal_of_a_run_that_goes_on_is_left_alone() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::begin(folder.path()).unwrap();
        journal.will(Deed::Network("n".into())).unwrap();
        assert!(Left::find(folder.path()).unwrap().is_empty());
        assert_eq!(at_work(folder.path()).unwrap(), BTreeSet::from([journal.run()]));
    }

    #[test]
    fn who_looks_does_not_take_a_run_that_is_over_for_one_at_work_because_others_look() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.jsonl");
        fs::write(&path, "").unwrap();
        let looking = File::open(&path).unwrap();
        looking.try_lock_shared().unwrap();
        assert_eq!(at_work(folder.path()).unwrap(), BTreeSet::new());
    }

    #[test]
    fn what_a_run_left_is_undone_last_things_first() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::begin(folder.path()).unwrap();
        let [network, a, b] = deeds();
        for deed in [&network, &a, &b] {
            journal.will(deed.clone()).unwrap();
        }
        journal.undone(&a);
        drop(journal);
        let left = Left::find(folder.path()).unwrap().remove(0);
        assert_eq!(left.deeds, [b, network]);
        assert!(Left::find(folder.path()).unwrap().is_empty(), "somebody undoes it");
        left.close().unwrap();
        assert!(Left::find(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn a_run_that_undid_everything_leaves_no_journal() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::begin(folder.path()).unwrap();
        for deed in deeds() {
            journal.will(deed.clone()).unwrap();
            journal.undone(&deed);
        }
        drop(journal);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_is_written_down_before_it_is_there() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::begin(folder.path()).unwrap();
        let nowhere = folder.path().join("nowhere");
        journal.folder(&nowhere, "capsize-").unwrap_err();
        let text = fs::read_to_string(&journal.path).unwrap();
        let path = nowhere.join(format!("capsize-{}-1", journal.run()));
        assert!(text.contains(&format!("{{\"will\":{{\"folder\":\"{}\"}}}}", path.display())), "{text}");
        let made = journal.folder(folder.path(), "capsize-").unwrap();
        assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
        drop(journal);
        assert_eq!(Left::find(folder.path()).unwrap()[0].deeds, [Deed::Folder(made)]);
    }

    #[test]
    fn a_journal_that_was_never_begun_goes() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("x.new"), "").unwrap();
        assert!(Left::find(folder.path()).unwrap().is_empty());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_line_that_was_cut_off_was_not_done() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.jsonl");
        fs::write(&path, "{\"will\":{\"network\":\"n\"}}\n{\"will\":{\"contai").unwrap();
        assert_eq!(Left::find(folder.path()).unwrap()[0].deeds, [Deed::Network("n".into())]);
    }
}
