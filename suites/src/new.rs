//! `capsize new`: a first scenario, target profile or dialect, as a file to edit.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::schema::Document;
use crate::{output, targets};

/// Write a file to begin with, and its JSON Schema for editors
#[derive(Debug, Subcommand)]
pub enum New {
    /// Write a scenario that passes, to change into one of your own
    Scenario(NewScenario),
    /// Write a target profile, to change into that of your implementation
    Target(NewTarget),
    /// Write the dialect of an example with kinds of its own, to change into that of your implementation
    Dialect(NewDialect),
    /// Write a complete implementation with kinds of its own.
    /// The implementation has programs in Python, definitions, a dialect and a profile
    Example(NewExample),
}

/// The options of `capsize new scenario`.
#[derive(Args, Debug)]
pub struct NewScenario {
    /// The file, which must not exist
    file: PathBuf,
}

/// The options of `capsize new target`.
#[derive(Args, Debug)]
pub struct NewTarget {
    /// The file, which must not exist
    file: PathBuf,
    /// The profile to begin with: the name of one that comes with Capsize
    #[arg(long, value_name = "TARGET", default_value = "karmada-1.18")]
    from: String,
}

/// The options of `capsize new dialect`.
#[derive(Args, Debug)]
pub struct NewDialect {
    /// The file, which must not exist
    file: PathBuf,
}

/// The options of `capsize new example`.
#[derive(Args, Debug)]
pub struct NewExample {
    /// The folder, which must not exist
    folder: PathBuf,
}

/// The dialect of the example.
const DIALECT: &str = include_str!("../examples/zones/zones.yaml");

/// The files of the example.
const EXAMPLE: [(&str, &str); 8] = [
    ("README.md", include_str!("../examples/zones/README.md")),
    ("zones.yaml", DIALECT),
    ("profile.yaml", include_str!("../examples/zones/profile.yaml")),
    ("definitions.yaml", include_str!("../examples/zones/definitions.yaml")),
    ("hub.py", include_str!("../examples/zones/hub.py")),
    ("agent.py", include_str!("../examples/zones/agent.py")),
    ("api.py", include_str!("../examples/zones/api.py")),
    ("cases/zones/app-deleted.yaml", include_str!("../examples/zones/cases/zones/app-deleted.yaml")),
];

/// A scenario that every target with graceful evictions can run.
const SCENARIO: &str = "\
# `capsize run FILE` runs this scenario. docs/writing-scenarios.md lists all steps.
scenario: NAME
about: A workload leaves a member that cannot be reached.
features: [NoExecuteTaints]
fleet: {members: 3}
given:
  - workload:
      name: web
      replicas: 2
      policy:
        spread: {cluster: {min: 1, max: 1}}
        scheduling: Duplicated
        tolerations: [{key: not-ready, effect: NoExecute, for: 30s}, {key: unreachable, effect: NoExecute, for: 30s}]
  - settled: web
when:
  # `as` gives the member a name for later steps.
  - refuse: {cluster: {carrying: web}, as: victim}
  - health: {cluster: victim, is: NotReady}
  - taint: {cluster: victim, key: example.com/outage, effect: NoExecute}
then:
  - evicted: {workload: web, from: victim}
  - heal: victim
  - settled: web
";

impl New {
    /// Writes the file, and its schema beside it.
    ///
    /// # Errors
    /// When the file exists or cannot be written, or no target has the name.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        match self {
            Self::Scenario(NewScenario { file }) => {
                let text = SCENARIO.replace("NAME", &name_of(&file));
                write(&file, &text, (Document::Scenario, "scenario.schema.json"))
            }
            Self::Target(NewTarget { file, from }) => {
                targets::find(&from).map_err(CommandError::input)?;
                let text = own_profile(targets::text(&from).unwrap_or_default(), &name_of(&file));
                let text = format!(
                    "# `capsize run --target FILE` uses this profile, which begins as a copy of {from}.\n\
                     # docs/targets.md describes the fields. `project` and `deviations` are for conformance reports.\n{text}"
                );
                write(&file, &text, (Document::Target, "target.schema.json"))
            }
            Self::Dialect(NewDialect { file }) => {
                let text = DIALECT.replacen("dialect: zones", &format!("dialect: {}", name_of(&file)), 1);
                let text = format!(
                    "# This file begins as the dialect of the example in suites/examples/zones. docs/dialects.md describes the language.\n\
                     # `capsize dialect try FILE HISTORY` prints what it reads, and a profile names it with `dialect: FILE`.\n{text}"
                );
                write(&file, &text, (Document::Dialect, "dialect.schema.json"))
            }
            Self::Example(NewExample { folder }) => write_example(&folder),
        }
    }
}

/// Writes the files of the example into a new folder.
fn write_example(folder: &Path) -> Result<ExitStatus, CommandError> {
    if folder.exists() {
        return Err(input_error!("{} exists already", folder.display()));
    }
    for (name, text) in EXAMPLE {
        let file = folder.join(name);
        let parent = file.parent().unwrap_or(folder);
        let made = std::fs::create_dir_all(parent);
        made.map_err(|error| environment_error!("{}: {error}", parent.display()))?;
        output::write_file(&file, text.as_bytes())?;
    }
    output::print(&format!(
        "wrote the example into {0}: {0}/README.md says how it is run\n",
        folder.display()
    ))?;
    Ok(ExitStatus::Conforms)
}

/// Makes the profile of an own implementation out of one that comes with Capsize.
/// The publisher of that one, its known deviations and its description are left out, because a report would state them
/// of another implementation.
fn own_profile(text: &str, name: &str) -> String {
    let fields =
        [("name: ", name), ("implementation: ", name), ("version: ", "\"0.1\""), ("from: ", "\"0\"")];
    let mut own = String::new();
    let mut is_kept = false;
    for line in text.lines() {
        if line.starts_with(|first: char| first.is_ascii_alphabetic()) {
            is_kept = !line.starts_with("project:") && !line.starts_with("deviations:");
        }
        if !is_kept {
            continue;
        }
        match fields.iter().find(|(field, _)| line.starts_with(field)) {
            Some((field, value)) => own.extend([field, *value]),
            None => own.push_str(line),
        }
        own.push('\n');
    }
    own
}

/// The name of a file without its ending.
fn name_of(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes `text` with a line that names the schema to editors, and the schema beside it.
fn write(file: &Path, text: &str, (document, schema): (Document, &str)) -> Result<ExitStatus, CommandError> {
    if !targets::is_file(&file.display().to_string()) {
        return Err(input_error!("{}: the name must end in .yaml", file.display()));
    }
    if file.exists() {
        return Err(input_error!("{} exists already", file.display()));
    }
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        let help = "create the folder, or name a file in another one";
        return Err(input_error!(help = help, "there is no folder {}", folder.display()));
    }
    let text = format!("# yaml-language-server: $schema={schema}\n{text}");
    output::write_file(file, text.as_bytes())?;
    output::write_file(&file.with_file_name(schema), document.schema().as_bytes())?;
    output::print(&format!("wrote {} and {schema} beside it\n", file.display()))?;
    Ok(ExitStatus::Conforms)
}
