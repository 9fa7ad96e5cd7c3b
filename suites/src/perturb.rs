//! Implements `capsize perturb`.
//! The command makes histories with one wrong behaviour each, and shows whether the guarantees detect and name it.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use capsize_history::{Entry, HistoryError, Writer};
use capsize_judge::profile::Profile;
use capsize_perturb::{Class, MissedPerturbation, Options, Rates, all, measure};
use capsize_report::{PerturbationRate, perturbation_classes, perturbations, perturbations_json};
use capsize_runner::run::side_by_side;

use crate::check::{CheckError, Format, header, profile};
use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::{output, targets};

/// Make one behaviour in copies of histories wrong at a time.
/// Count how many of these the guarantees detect and name
#[derive(Debug, clap::Args)]
pub struct Perturb {
    /// Histories, as JSON Lines
    #[arg(required_unless_present = "list", value_name = "HISTORY")]
    histories: Vec<PathBuf>,
    /// The target profile. By default the profile of the implementation and release that each history names
    #[arg(long)]
    target: Option<String>,
    /// Only these classes; all of them if none is given
    #[arg(long = "class", value_name = "NAME")]
    classes: Vec<String>,
    /// The greatest number of places of each class in one history
    #[arg(long, default_value_t = 3)]
    places: usize,
    /// The seed of the choice of places
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the perturbed histories that were not named rightly to this folder
    #[arg(long, value_name = "DIR")]
    missed: Option<PathBuf>,
    /// List the classes, and the guarantees that name them
    #[arg(long)]
    list: bool,
    /// How many histories are perturbed at a time; one per core by default
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    empty: EmptyArgs,
}

impl Perturb {
    /// Perturbs all histories, and writes the rates of all classes to stdout.
    ///
    /// # Errors
    /// When a history, the target or a class is wrong. When no class has a place in any history.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let known = all();
        if let Some(unknown) = self.classes.iter().find(|name| known.iter().all(|class| class.name != **name))
        {
            let help = "`capsize perturb --list` lists the classes";
            return Err(input_error!(help = help, "there is no class `{unknown}`"));
        }
        if self.list {
            let rates: Vec<_> = self.chosen(&known).map(|class| rate(&Rates::new(class))).collect();
            output::print(&self.formatted(&rates, perturbation_classes))?;
            return Ok(ExitStatus::Conforms);
        }
        let mut rates: Vec<Rates> = self.chosen(&known).map(Rates::new).collect();
        let target = self.target.as_deref().map(targets::find).transpose().map_err(CommandError::input)?;
        let cores = || std::thread::available_parallelism().ok();
        let jobs = self.jobs.or_else(cores).unwrap_or(NonZeroUsize::MIN);
        side_by_side(
            jobs,
            &self.histories,
            |path| self.measured(path, target.as_ref()),
            |_, measured| {
                let measured = measured.map_err(CommandError::input)?;
                rates.iter_mut().zip(measured).for_each(|(all, one)| all.add(one));
                Ok::<_, CommandError>(())
            },
        )?;
        if let Some(folder) = &self.missed {
            write(folder, &rates).map_err(|error| environment_error!("{}: {error}", folder.display()))?;
        }
        let shown: Vec<_> = rates.iter().map(rate).collect();
        output::print(&self.formatted(&shown, perturbations))?;
        let is_blind = |rates: &Rates| rates.applied > 0 && rates.named == 0;
        let unused = rates.iter().all(|rates| rates.applied == 0);
        let untested = unused.then(|| "no class has a place in these histories".to_owned());
        self.empty.verdict(!rates.iter().any(is_blind), untested)
    }

    fn chosen<'a>(&'a self, classes: &'a [Class]) -> impl Iterator<Item = &'a Class> {
        let is_chosen =
            |class: &&Class| self.classes.is_empty() || self.classes.iter().any(|name| name == class.name);
        classes.iter().filter(is_chosen)
    }

    fn formatted(
        &self,
        rates: &[PerturbationRate],
        text: fn(&[PerturbationRate], usize) -> String,
    ) -> String {
        match self.format {
            Format::Text => text(rates, output::columns()),
            Format::Json => perturbations_json(rates),
        }
    }

    fn measured(&self, path: &Path, target: Option<&Profile>) -> Result<Vec<Rates>, CheckError> {
        let (seed, places, classes) = (self.seed, self.places, self.classes.clone());
        perturbed(path, target, &Options { seed, places, classes })
    }
}

/// Perturbs the history at `path`, and judges it.
/// The profile is `target`, or else the profile that the header of the history names.
///
/// # Errors
/// When the history cannot be read, or no profile is known for it.
pub fn perturbed(path: &Path, target: Option<&Profile>, options: &Options) -> Result<Vec<Rates>, CheckError> {
    let profile = profile(path, &header(path)?, target)?;
    let entries: Vec<Entry> = capsize_history::read(path)?.collect::<Result<_, HistoryError>>()?;
    // The name of the file chooses the places, so that they do not depend on the folder.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(measure(&name, &entries, &profile, options))
}

fn rate(rates: &Rates) -> PerturbationRate {
    PerturbationRate {
        class: rates.class.to_owned(),
        wrong: rates.wrong.to_string(),
        named_by: rates.named_by.iter().map(|id| (*id).to_owned()).collect(),
        applied: rates.applied,
        detected: rates.detected,
        named: rates.named,
    }
}

/// Writes each missed history to a file that is named after its class.
fn write(folder: &Path, rates: &[Rates]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for class in rates {
        for (number, MissedPerturbation { entries, .. }) in class.missed.iter().enumerate() {
            let file = File::create(folder.join(format!("{}-{number}.jsonl", class.class)))?;
            let mut writer = Writer::new(BufWriter::new(file));
            entries.iter().try_for_each(|entry| writer.write(entry))?;
            writer.finish()?;
        }
    }
    Ok(())
}
