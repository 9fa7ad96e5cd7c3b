//! A folder with a conformance report: its claim, its run, its histories and its profiles.

use std::fs;
use std::path::{Path, PathBuf};

use capsize_clock::Seed;
use capsize_judge::profile::Profile;
use capsize_report::{CaseClaim, ConformanceReport};
use clap::Parser;

use crate::exit::{CommandError, environment_error, input_error};
use crate::run::{Run, repeated};
use crate::{dialects, targets};

/// The file of the conformance report.
pub const CLAIM: &str = "conformance.yaml";

/// The folder of the profiles, in that of the report.
const TARGETS: &str = "targets";

/// The file of a profile, from the folder of the report.
fn profile_file(name: &str) -> String {
    format!("{TARGETS}/{name}.yaml")
}

/// The file of the dialect of a profile, from the folder of the profile.
fn dialect_file(profile: &str) -> String {
    format!("{profile}.dialect.yaml")
}

/// Returns the names and texts of the files of a profile.
/// The files are the profile, and its dialect if the dialect is a file of the user.
///
/// # Errors
/// When the profile is no YAML.
pub fn profile_files(profile: &Profile) -> Result<Vec<(String, String)>, CommandError> {
    let mut profile = profile.clone();
    let mut files = Vec::new();
    if let Some(text) = dialects::text_of_own(&profile.dialect) {
        let name = dialect_file(&profile.name);
        files.push((format!("{TARGETS}/{name}"), text.to_owned()));
        profile.dialect = name.into();
    }
    let text = serde_saphyr::to_string(&profile);
    let text = text.map_err(|error| environment_error!("{error}"))?;
    files.push((profile_file(&profile.name), text));
    Ok(files)
}

/// The file of the history of a case, from the folder of the report.
#[must_use]
pub fn history_file(case: &CaseClaim) -> String {
    match case.seed {
        Some(seed) => format!("histories/{}.jsonl", repeated(&case.id, Seed(seed))),
        None => format!("histories/{}.jsonl", case.id),
    }
}

/// The conformance report at `path`, which is the file or its folder.
///
/// # Errors
/// When it cannot be read.
pub fn read_claim(path: &Path) -> Result<ConformanceReport, CommandError> {
    let file = if path.is_dir() { path.join(CLAIM) } else { path.to_owned() };
    let name = file.display().to_string();
    let text = fs::read_to_string(&file).map_err(|error| {
        let help = "`capsize run --report DIR` writes DIR/conformance.yaml";
        input_error!(help = help, "{name}: {error}")
    })?;
    ConformanceReport::parse(&name, &text).map_err(|error| CommandError::input(*error))
}

/// A conformance report, with the run that it is about and the files beside it.
pub(crate) struct AttachedReport {
    pub(crate) claim: ConformanceReport,
    pub(crate) run: Run,
    /// The folders of the report; several if the report is that of several shards.
    folders: Vec<PathBuf>,
}

/// The command of a report.
#[derive(Parser)]
#[command(no_binary_name = true)]
enum Line {
    /// The only command that writes reports
    Run(Box<Run>),
}

/// The run that a command line of `capsize run` asks for.
///
/// # Errors
/// Why it is none.
pub(crate) fn parse_command(command: &str) -> Result<Run, String> {
    let words = shlex::split(command).ok_or_else(|| "a quotation does not end".to_owned())?;
    let words = words.strip_prefix(&["capsize".to_owned()]).unwrap_or(&words);
    let Line::Run(run) = Line::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })?;
    Ok(*run)
}

impl AttachedReport {
    /// Reads the report at `path`, which is the file or its folder.
    ///
    /// # Errors
    /// When it cannot be read, or its command is not a run.
    pub(crate) fn read(path: &Path) -> Result<Self, CommandError> {
        let claim = read_claim(path)?;
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
        let wrong = |why: &str| input_error!("{}: run.command: {why}: {}", path.display(), claim.run.command);
        let run = parse_command(&claim.run.command).map_err(|why| wrong(&why))?;
        Ok(Self { folders: vec![folder.to_owned()], run, claim })
    }

    /// Returns the run with the attached profile.
    /// The path in the command is that of the machine of the run.
    pub(crate) fn local_run(&self) -> Run {
        let mut run = self.run.clone();
        let name = self.claim.targets.first().map(|target| profile_file(&target.name));
        let files = name.iter().flat_map(|name| self.folders.iter().map(move |folder| folder.join(name)));
        if let Some(file) = files.into_iter().find(|file| targets::is_file(&run.target) && file.is_file()) {
            run.target = file.display().to_string();
        }
        run
    }

    /// The report of several shards together, with nothing but the parts that a judgement reads.
    pub(crate) fn joined(shards: Vec<Self>, run: Run) -> Option<Self> {
        let mut shards = shards.into_iter();
        let Self { mut claim, mut folders, .. } = shards.next()?;
        claim.run.shard = None;
        for shard in shards {
            claim.cases.extend(shard.claim.cases);
            claim.skipped.extend(shard.claim.skipped);
            claim.groups.extend(shard.claim.groups);
            folders.extend(shard.folders);
        }
        Some(Self { claim, run, folders })
    }

    /// Returns true if histories are beside the report.
    pub(crate) fn has_histories(&self) -> bool {
        self.folders.iter().any(|folder| folder.join("histories").is_dir())
    }

    /// The contents of the attached history of a case, if it is attached.
    pub(crate) fn history(&self, case: &CaseClaim) -> Option<Vec<u8>> {
        let file = history_file(case);
        self.folders.iter().find_map(|folder| fs::read(folder.join(&file)).ok())
    }

    /// Returns the profiles that the run was judged by.
    /// These are the attached profiles, or else those that the command names.
    pub(crate) fn profiles(&self) -> Result<Vec<Profile>, CommandError> {
        let profiles = self.claim.targets.iter().map(|target| {
            let files = self.folders.iter().map(|folder| folder.join(profile_file(&target.name)));
            let file = files.into_iter().find(|file| file.is_file());
            let name = file.map_or_else(|| target.name.clone(), |file| file.display().to_string());
            targets::find(&name).map_err(CommandError::input)
        });
        profiles.collect()
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::run::digest_of_profile;

    #[test]
    fn the_files_of_a_profile_with_a_dialect_of_its_own_are_read_back_elsewhere() {
        let folder = TempDir::new().unwrap();
        let dialect = include_str!("../dialects/ocm.yaml").replace("dialect: ocm", "dialect: mine");
        fs::create_dir(folder.path().join("dialects")).unwrap();
        fs::write(folder.path().join("dialects/of-mine.yaml"), &dialect).unwrap();
        let text = targets::text("ocm").unwrap();
        let text = text.replace("dialect: ocm", "dialect: dialects/of-mine.yaml");
        let path = folder.path().join("mine.yaml");
        fs::write(&path, text).unwrap();
        let profile = targets::find(path.to_str().unwrap()).unwrap();

        let elsewhere = TempDir::new().unwrap();
        fs::create_dir(elsewhere.path().join(TARGETS)).unwrap();
        for (name, text) in profile_files(&profile).unwrap() {
            fs::write(elsewhere.path().join(name), text).unwrap();
        }
        let copy = elsewhere.path().join(profile_file(&profile.name));
        let copy = targets::find(copy.to_str().unwrap()).unwrap();
        assert_eq!(digest_of_profile(&copy), digest_of_profile(&profile));
        assert_eq!(dialects::text_of_own(&copy.dialect), Some(dialect.as_str()));
    }

    #[test]
    fn another_text_of_a_dialect_changes_the_digest_of_the_profile() {
        let folder = TempDir::new().unwrap();
        let digest = |dialect: &str| {
            fs::write(folder.path().join("dialect.yaml"), dialect).unwrap();
            let text = targets::text("ocm").unwrap().replace("dialect: ocm", "dialect: dialect.yaml");
            let path = folder.path().join("mine.yaml");
            fs::write(&path, text).unwrap();
            digest_of_profile(&targets::find(path.to_str().unwrap()).unwrap())
        };
        let dialect = include_str!("../dialects/ocm.yaml");
        let other = dialect.replace("step.?heartbeat.orValue(60)", "step.?heartbeat.orValue(61)");
        assert_ne!(other, dialect);
        assert_ne!(digest(&other), digest(dialect));
    }
}
