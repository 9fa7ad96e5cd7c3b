//! `capsize import`: histories from what kubectl and API servers print.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use capsize_history::{CONTROL_PLANE, Mark, VERSION, open};
use capsize_runner::import::{ImportedEvent, import, write_history};
use capsize_sorted::CollectSorted;
use clap::Args;
use serde_json::json;

use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::record::{header, seconds};
use crate::{output, targets};

/// Make a history of the output of kubectl and of audit logs, so that `check` can judge an incident
#[derive(Args, Debug)]
pub struct Import {
    /// Files of the control plane, or files of a member in the form NAME=FILE.
    /// A file is the output of `kubectl get -w --output-watch-events -o json --show-managed-fields`, an audit log, or
    /// the output of `kubectl get -o json`. A file may be compressed by gzip
    #[arg(required = true, value_name = "[NAME=]FILE")]
    files: Vec<String>,
    /// The file for the history, which must not exist yet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The profile of the implementation: the name of one that comes with Capsize, or a file
    #[arg(long)]
    target: String,
    /// A timing of the implementation, which `check` uses instead of the profile's: failureThreshold=30s
    #[arg(long = "set", value_name = "TIMING=VALUE")]
    settings: Vec<String>,
}

impl Import {
    /// Reads the files, and writes the history.
    ///
    /// # Errors
    /// A file that cannot be read, a history that exists or cannot be written, files without an event.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let profile = targets::find(&self.target).map_err(CommandError::input)?;
        let mut head: Mark = [("history".to_owned(), json!(VERSION))].collect_sorted();
        head.extend(header(&profile));
        let seconds = seconds(&self.settings)?;
        if !seconds.is_empty() {
            head.insert("seconds".to_owned(), json!(seconds));
        }
        let mut left_out: BTreeMap<&str, usize> = BTreeMap::new();
        let mut clusters: Vec<(String, Vec<ImportedEvent>)> = Vec::new();
        for file in &self.files {
            let (name, path) = file.split_once('=').unwrap_or((CONTROL_PLANE, file));
            let imported = read(path)?;
            for (reason, count) in imported.left_out {
                *left_out.entry(reason).or_default() += count;
            }
            clusters.push((name.to_owned(), imported.events));
        }
        let events: usize = clusters.iter().map(|(_, events)| events.len()).sum();
        if events == 0 {
            return Err(input_error!("no file contains an event or an object"));
        }
        let out = BufWriter::new(self.create()?);
        let written = write_history(head, clusters, out);
        let (_, unknown) = written
            .map_err(|error| environment_error!("{} cannot be written: {error}", self.out.display()))?;
        let mut page = output::page();
        page.line(&format!("imported {events} events into {}", self.out.display()));
        if unknown > 0 {
            page.line(&format!(
                "the time of {unknown} of them is unknown: kubectl prints it with --show-managed-fields, and guarantees that \
                 depend on it are undecided"
            ));
        }
        for (reason, count) in left_out {
            page.line(&format!("left out: {count} {reason}"));
        }
        output::show(page)?;
        Ok(ExitStatus::Conforms)
    }

    /// The file, which must be new. Only its owner may read it, because objects may contain secrets.
    fn create(&self) -> Result<File, CommandError> {
        let options = File::options().write(true).create_new(true).mode(0o600).clone();
        options.open(&self.out).map_err(|error| input_error!("--out {}: {error}", self.out.display()))
    }
}

fn read(path: &str) -> Result<capsize_runner::import::ImportedFile, CommandError> {
    let input = open(Path::new(path)).map_err(|error| input_error!("{path}: {error}"))?;
    import(path, BufReader::new(input)).map_err(|error| input_error!("{error}"))
}
