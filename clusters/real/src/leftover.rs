//! Finds, locks and reads the journals of runs that are over, up to the first line that cannot be read.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::journal::{ENDING, Line, NEW, Origin, Resource, run_of};
use crate::locked_file::LockedFile;
use crate::run_id::RunId;
use crate::state_folder;

/// The journal of a run that is over, locked by this cleanup.
pub(crate) struct EndedRunJournal {
    path: PathBuf,
    _file: LockedFile,
    pub(crate) run: RunId,
    /// The resources that are still to be removed, in this order.
    pub(crate) resources: Vec<Resource>,
    /// Whether the file stays in any case, because a line cannot be read or names a resource of others.
    pub(crate) stays: bool,
}

/// The contents of a folder of journals.
#[derive(Default)]
pub(crate) struct JournalFolder {
    pub(crate) left: Vec<EndedRunJournal>,
    /// The reasons why journals, or parts of them, are kept, with path and line.
    pub(crate) kept: Vec<String>,
}

impl JournalFolder {
    /// The journals in `folder` of runs that are over. The folder may be missing.
    ///
    /// # Errors
    /// The folder is not accessible to this user alone, or it or a journal cannot be read.
    pub(crate) fn look(folder: &Path) -> io::Result<Self> {
        let mut found = Self::default();
        for path in journals(folder)? {
            found.read(path)?;
        }
        Ok(found)
    }

    fn read(&mut self, path: PathBuf) -> io::Result<()> {
        let shown = path.display().to_string();
        let file = match open(&path)? {
            OpenedJournal::Gone => return Ok(()),
            OpenedJournal::Refused(why) => {
                self.kept.push(format!("{shown} {why}: it is left alone"));
                return Ok(());
            }
            OpenedJournal::File(file) => file,
        };
        // A concurrent cleanup may have locked and removed it.
        let Ok(file) = LockedFile::try_lock(file) else { return Ok(()) };
        if !path.exists() {
            return Ok(());
        }
        let Content { origin, resources, unreadable } = Content::of(&file)?;
        let remove = "look at what it names, and remove the file";
        if let Some((line, why)) = &unreadable {
            self.kept.push(format!(
                "the journal {shown} is kept, and nothing is undone from line {line} on, which {why}: {remove}"
            ));
        }
        match origin {
            // Its run ended before it made anything.
            None if unreadable.is_none() => fs::remove_file(path),
            None => Ok(()),
            Some(origin) if origin.is_of_this_machine() => {
                let stays = unreadable.is_some();
                self.left.push(EndedRunJournal { path, _file: file, run: origin.id, resources, stays });
                Ok(())
            }
            Some(Origin { host, .. }) => {
                self.kept.push(format!(
                    "the journal {shown} is of a run on {host}, and is kept: `capsize doctor --heal` there undoes it; if that \
                     machine is no more, {remove}"
                ));
                Ok(())
            }
        }
    }
}

impl EndedRunJournal {
    /// Removes the file, if no resource is left.
    pub(crate) fn close(self) -> io::Result<()> {
        match self.resources.is_empty() && !self.stays {
            true => fs::remove_file(&self.path),
            false => Ok(()),
        }
    }
}

/// The paths in `folder` with the extension of a journal.
fn journals(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        there => there.map(drop)?,
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(state_folder::prove(folder)?)? {
        let path = entry?.path();
        let is = |ending| path.extension().is_some_and(|actual| actual == ending);
        if is(ENDING) || is(NEW) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

enum OpenedJournal {
    File(File),
    Gone,
    /// The reason why it is no journal.
    Refused(String),
}

/// Opens a journal if it is a regular file of this user: a named pipe would block for ever.
fn open(path: &Path) -> io::Result<OpenedJournal> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(OpenedJournal::Gone),
        metadata => metadata?,
    };
    if !metadata.is_file() {
        return Ok(OpenedJournal::Refused("is no file".into()));
    }
    if metadata.uid() != geteuid().as_raw() {
        return Ok(OpenedJournal::Refused(format!("belongs to user {}", metadata.uid())));
    }
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(OpenedJournal::Gone),
        file => file.map(OpenedJournal::File),
    }
}

/// The content of a journal.
#[derive(Debug, Default)]
struct Content {
    /// Its run; absent if the file ends within the first line.
    origin: Option<Origin>,
    /// The resources that are still to be removed, the last first.
    resources: Vec<Resource>,
    /// The number of the first line that cannot be read, with the reason. Nothing after it is read.
    unreadable: Option<(usize, String)>,
}

impl Content {
    fn of(mut file: &File) -> io::Result<Self> {
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        Ok(Self::read(&text))
    }

    fn read(text: &[u8]) -> Self {
        let mut content = Self::default();
        for (place, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let why = match serde_json::from_slice(line) {
                Ok(line) => content.add(line),
                // The line was cut off while it was written, so its resource was not made.
                Err(error) if error.is_eof() && !line.ends_with(b"\n") => None,
                Err(error) => {
                    let error = error.to_string();
                    // The parser counts each line as line 1.
                    let why = error.split(" at line ").next().unwrap_or_default();
                    Some(format!("cannot be read ({why})"))
                }
            };
            if let Some(why) = why {
                content.unreadable = Some((place + 1, why));
                break;
            }
        }
        content.resources.reverse();
        content
    }

    /// Adds a line. Returns the reason if it is not allowed in its place.
    fn add(&mut self, line: Line) -> Option<String> {
        match (line, &self.origin) {
            (Line::Run(origin), None) => self.origin = Some(origin),
            (Line::Run(_), Some(_)) => return Some("names another run".into()),
            (_, None) => return Some("is not preceded by the identity of a run".into()),
            (Line::Will(resource), _) => self.resources.push(resource),
            (Line::Undone(resource), _) => self.resources.retain(|one| *one != resource),
        }
        None
    }
}

/// The runs whose journals are in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// The names of the runs that are at work.
    pub at_work: BTreeSet<String>,
    /// The identities of the runs that are surely over.
    pub over: BTreeSet<RunId>,
}

/// The runs whose journals are in `folder`, which may be missing.
///
/// # Errors
/// The folder is not accessible to this user alone, or cannot be read.
pub fn runs(folder: &Path) -> io::Result<Runs> {
    let mut runs = Runs::default();
    for path in journals(folder)? {
        let OpenedJournal::File(file) = open(&path)? else { continue };
        // Several processes may look at the same time.
        let Ok(file) = LockedFile::try_lock_shared(file) else {
            runs.at_work.insert(run_of(&path));
            continue;
        };
        if let Some(origin) = Content::of(&file)?.origin.filter(Origin::is_of_this_machine) {
            runs.over.insert(origin.id);
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::json;
    use tempfile::TempDir;

    use super::*;
    use crate::journal::Journal;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    fn resources() -> [Resource; 3] {
        [Resource::Network("n".into()), Resource::Container("a".into()), Resource::Container("b".into())]
    }

    fn look(folder: &TempDir) -> JournalFolder {
        JournalFolder::look(folder.path()).unwrap()
    }

    /// The first line of a journal of a run on this machine.
    fn head() -> String {
        let folder = TempDir::new().unwrap();
        let journal = Journal::begin(folder.path()).unwrap();
        let path = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        fs::read_to_string(path).unwrap().replace(journal.id().as_str(), ID)
    }

    #[test]
    fn a_journal_of_a_run_that_goes_on_is_left_alone() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::begin(folder.path()).unwrap();
        journal.will(Resource::Network("n".into())).unwrap();
        assert!(look(&folder).left.is_empty());
        let expected = Runs { at_work: BTreeSet::from([journal.run()]), over: BTreeSet::new() };
        assert_eq!(runs(folder.path()).unwrap(), expected);
    }

    #[test]
    fn a_run_that_is_over_is_not_at_work_because_others_look() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.jsonl");
        fs::write(&path, head()).unwrap();
        let looking = File::open(&path).unwrap();
        looking.try_lock_shared().unwrap();
        let runs = runs(folder.path()).unwrap();
        assert_eq!(runs.at_work, BTreeSet::new());
        assert_eq!(runs.over.iter().map(RunId::as_str).collect::<Vec<_>>(), [ID]);
    }

    #[test]
    fn resources_are_removed_in_reverse_order() {
        let folder = TempDir::new().unwrap();
        let journal = Journal::begin(folder.path()).unwrap();
        let [network, a, b] = resources();
        for resource in [&network, &a, &b] {
            journal.will(resource.clone()).unwrap();
        }
        journal.undone(&a);
        drop(journal);
        let mut left = look(&folder).left.remove(0);
        assert_eq!(left.resources, [b, network]);
        assert!(look(&folder).left.is_empty(), "somebody undoes it");
        left.resources.clear();
        left.close().unwrap();
        assert!(look(&folder).left.is_empty());
    }

    #[test]
    fn a_journal_that_was_never_begun_goes() {
        for (name, text) in
            [("x.new", String::new()), ("x.jsonl", String::new()), ("x.new", head()[..20].to_owned())]
        {
            let folder = TempDir::new().unwrap();
            fs::write(folder.path().join(name), text).unwrap();
            let found = look(&folder);
            assert!(found.left.is_empty() && found.kept.is_empty(), "{:?}", found.kept);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{name}");
        }
    }

    #[test]
    fn a_line_that_was_cut_off_was_not_done() {
        let text = head() + "{\"will\":{\"network\":\"n\"}}\n{\"will\":{\"contai";
        let content = Content::read(text.as_bytes());
        assert_eq!(content.resources, [Resource::Network("n".into())]);
        assert_eq!(content.unreadable, None);
    }

    #[test]
    fn reading_stops_at_the_first_line_that_cannot_be_read() {
        let container = |name: &str| json!({"will": {"container": name}}).to_string();
        let (a, b) = (container("a"), container("b"));
        for (lines, number, resources) in [
            // Without the identity of a run, no resource belongs to it.
            (vec![a.clone(), b.clone()], 1, 0),
            (vec![json!({"run": {"id": "*", "host": "h", "boot": ""}}).to_string(), a.clone()], 1, 0),
            (vec![json!({"run": {"id": ID, "host": "h"}}).to_string(), a.clone()], 1, 0),
            (vec![String::new(), a.clone()], 1, 0),
            // The resources before the line belong to the run.
            (vec![head(), a.clone(), "{\"will\":{\"contai".into(), b.clone()], 3, 1),
            (vec![head(), a.clone(), String::new(), b.clone()], 3, 1),
            (vec![head(), a.clone(), "null".into(), b.clone()], 3, 1),
            (vec![head(), a.clone(), head(), b.clone()], 3, 1),
            (vec![head(), a.clone(), json!({"will": {"disk": "/"}}).to_string(), b.clone()], 3, 1),
            (vec![head(), a.clone(), json!({"will": {"container": 7}}).to_string(), b.clone()], 3, 1),
            (
                vec![head(), a.clone(), json!({"will": {"container": "c", "folder": "/"}}).to_string(), b],
                3,
                1,
            ),
            (vec![head(), a, "}".into()], 3, 1),
        ] {
            let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
            let content = Content::read((lines.join("\n") + "\n").as_bytes());
            assert_eq!(content.unreadable.map(|(line, _)| line), Some(number), "{lines:?}");
            assert_eq!(content.resources.len(), resources, "{lines:?}");
        }
        let content = Content::read(&[head().as_bytes(), b"\xff\xfe\n"].concat());
        assert_eq!(content.unreadable.map(|(line, _)| line), Some(2));
    }

    #[test]
    fn a_kept_journal_is_reported_with_its_file_and_line() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.jsonl");
        fs::write(
            &path,
            head() + "{\"will\":{\"network\":\"n\"}}\nnonsense\n{\"will\":{\"network\":\"m\"}}\n",
        )
        .unwrap();
        let mut found = look(&folder);
        let kept = found.kept.remove(0);
        assert!(kept.contains(&path.display().to_string()) && kept.contains("from line 3 on"), "{kept}");
        let mut left = found.left.remove(0);
        assert_eq!(left.resources, [Resource::Network("n".into())]);
        left.resources.clear();
        left.close().unwrap();
        assert!(path.exists());
    }

    #[test]
    fn a_run_of_another_machine_is_not_known_to_be_over() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.jsonl");
        let elsewhere = json!({"run": {"id": ID, "host": "elsewhere.example", "boot": "another"}});
        fs::write(&path, format!("{elsewhere}\n{{\"will\":{{\"network\":\"n\"}}}}\n")).unwrap();
        let found = look(&folder);
        assert!(found.left.is_empty());
        assert!(found.kept[0].contains("elsewhere.example"), "{:?}", found.kept);
        assert!(path.exists());
        assert_eq!(runs(folder.path()).unwrap(), Runs::default());
    }

    #[test]
    fn links_and_folders_with_the_name_of_a_journal_are_left_alone() {
        let folder = TempDir::new().unwrap();
        let elsewhere = TempDir::new().unwrap();
        let text = head() + "{\"will\":{\"network\":\"n\"}}\n";
        fs::write(elsewhere.path().join("text"), text).unwrap();
        symlink(elsewhere.path().join("text"), folder.path().join("link.jsonl")).unwrap();
        fs::create_dir(folder.path().join("folder.jsonl")).unwrap();
        let found = look(&folder);
        assert!(found.left.is_empty());
        assert_eq!(found.kept.len(), 2, "{:?}", found.kept);
    }
}
