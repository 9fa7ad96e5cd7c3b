//! Finds scenario files and reads them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use capsize_history::{FileValue, read_yaml, read_yaml_with};

use super::check::check;
use super::document::Scenario;
use super::read_error::ReadError;
use super::step::Step;
use capsize_judge::YamlError;

/// A scenario that can be run, with the name that reports use.
#[derive(Clone, Debug)]
pub struct Case {
    /// The folder of the file.
    pub group: String,
    /// The path of the file, as the caller gave it.
    pub file: String,
    /// The text of the file.
    pub text: String,
    /// The scenario.
    pub scenario: Scenario,
}

impl Case {
    /// A fleet without steps, the names of whose members begin with `prefix`.
    ///
    /// # Panics
    /// Never: the text has the shape of a scenario.
    #[must_use]
    pub fn without_steps(members: usize, prefix: &str) -> Self {
        let text = format!("scenario: up\nabout: A fleet without steps.\nfleet: {{members: {members}}}\n");
        let mut scenario: Scenario = read_yaml(&text).expect("written in the shape of a scenario");
        scenario.fleet.prefix = Some(prefix.to_owned());
        Self { group: "up".to_owned(), file: "up".to_owned(), text, scenario }
    }

    /// Group and name: `eviction/replacement-never-ready`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}", self.group, self.scenario.scenario.value)
    }

    /// File, line and column of a step, or of the scenario itself if no step is given.
    #[must_use]
    pub fn place(&self, step: Option<&FileValue<Step>>) -> String {
        let location = step.map_or(self.scenario.scenario.location, |step| step.location);
        format!("{}:{}:{}", self.file, location.line(), location.column())
    }

    /// Parses the scenario in `text`. Its file has the path `file` and is in a folder called `group`.
    ///
    /// # Errors
    /// As [`parse`].
    pub fn from_text(group: &str, file: &str, text: &str) -> Result<Self, Box<YamlError>> {
        let scenario = parse(file, text)?;
        Ok(Self { group: group.into(), file: file.into(), text: text.into(), scenario })
    }
}

/// The most YAML nodes that a scenario may have: enough for about 40 000 workloads with a policy each.
const MOST_NODES: usize = 1_000_000;

/// Parses the scenario in `text`. Errors contain the path `file`.
///
/// # Errors
/// The first mistake: invalid YAML, an unknown or invalid field, or a value without sense.
pub fn parse(file: &str, text: &str) -> Result<Scenario, Box<YamlError>> {
    let options = serde_saphyr::options! { budget: serde_saphyr::budget! { max_nodes: MOST_NODES } };
    let scenario: Scenario =
        read_yaml_with(text, options).map_err(|error| Box::new(YamlError::of_yaml(file, text, &error)))?;
    check(&scenario).map_err(|m| Box::new(YamlError::at(file, text, m.location, m.message)))?;
    Ok(scenario)
}

/// Finds all scenarios at `paths`, in the order of their ids.
/// A path is a file, or a directory with `.yaml` or `.yml` files.
///
/// # Errors
/// A file that cannot be read, a directory without a scenario, two cases with one id, or the first mistake in a file.
pub fn find(paths: &[PathBuf]) -> Result<Vec<Case>, ReadError> {
    let mut cases: BTreeMap<String, (PathBuf, Case)> = BTreeMap::new();
    for path in paths {
        let mut files = Vec::new();
        files_at(path, &mut files)?;
        if files.is_empty() {
            return Err(ReadError::NoScenario { path: path.clone() });
        }
        for file in files {
            let case = read(&file)?;
            let id = case.id();
            match cases.get(&id) {
                Some((first, _)) if *first != file => {
                    return Err(ReadError::Twice { id, first: first.clone(), second: file });
                }
                _ => cases.insert(id, (file, case)),
            };
        }
    }
    Ok(cases.into_values().map(|(_, case)| case).collect())
}

fn files_at(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), ReadError> {
    let unreadable = |reason| ReadError::Unreadable { path: path.to_owned(), reason };
    if fs::metadata(path).map_err(unreadable)?.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries = fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>())
        .map_err(unreadable)?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            files_at(&entry, files)?;
        } else if entry.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") {
            files.push(entry);
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<Case, ReadError> {
    let text =
        fs::read_to_string(file).map_err(|reason| ReadError::Unreadable { path: file.to_owned(), reason })?;
    Ok(Case::from_text(&group_of(file), &file.display().to_string(), &text)?)
}

/// The name of the folder that contains `file`.
fn group_of(file: &Path) -> String {
    let full = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let folder = full.parent().and_then(Path::file_name);
    folder.map_or_else(|| "scenarios".into(), |name| name.to_string_lossy().into_owned())
}
