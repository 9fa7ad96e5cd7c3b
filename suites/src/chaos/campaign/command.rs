//! The options of `capsize campaign`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::Args;

use super::collect::collect;
use super::manifests::Manifests;
use super::plan::Campaign;
use super::store::{Store, is_bucket};
use crate::chaos::command::DrawnArgs;
use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus, input_error};
use crate::pods::{Pods, profile_file, yaml};
use crate::{output, run, targets};

/// The options that only the manifests need.
const OF_MANIFESTS: [&str; 11] = [
    "completions",
    "seeds",
    "style",
    "target",
    "store",
    "image",
    "claim",
    "secret",
    "name",
    "parallelism",
    "jobs",
];

/// Run the seeds of `chaos` in many pods: print the manifests of a Job, or collect its results
#[derive(Args, Debug)]
pub struct CampaignCommand {
    /// Print the manifests of a Job with this many pods, each of which runs one slice of the seeds
    #[arg(long, value_name = "N", required_unless_present = "collect")]
    completions: Option<NonZeroU64>,
    #[command(flatten)]
    drawn: DrawnArgs,
    /// The store of the results, for the pods: the directory of a mounted volume, s3://… or gs://…
    #[arg(long, value_name = "STORE", required_unless_present = "collect")]
    store: Option<String>,
    /// The image of the pods, which has `capsize` as its entrypoint
    #[arg(long, required_unless_present = "collect")]
    image: Option<String>,
    /// The claim of a volume (`PersistentVolumeClaim`) that is mounted as the directory of the store
    #[arg(long, value_name = "NAME")]
    claim: Option<String>,
    /// The Secret with the credentials of the store, as environment variables
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,
    /// The name of the Job
    #[arg(long, default_value = "capsize-campaign")]
    name: String,
    /// How many pods run at a time; all of them where none is given
    #[arg(long, value_name = "N")]
    parallelism: Option<NonZeroU64>,
    /// How many seeds a pod runs at a time, each on a core that the pod requests
    #[arg(long, default_value_t = NonZeroUsize::MIN)]
    jobs: NonZeroUsize,
    /// Join the results in this store into one summary
    #[arg(long, value_name = "STORE", conflicts_with_all = OF_MANIFESTS)]
    collect: Option<String>,
    /// Copy the failures from the store into this folder
    #[arg(long, value_name = "DIR", requires = "collect")]
    save: Option<PathBuf>,
    #[command(flatten)]
    empty: EmptyArgs,
}

impl CampaignCommand {
    /// Prints the manifests, or collects the results and answers whether no seed failed.
    ///
    /// # Errors
    /// When an option is wrong, a store cannot be used, or results are missing.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        if let Some(place) = &self.collect {
            return collect(&Store::open(place)?, self.save.as_deref(), self.empty);
        }
        let (Some(completions), Some(store), Some(image)) = (self.completions, &self.store, &self.image)
        else {
            return Err(input_error!("--completions, --store and --image are needed"));
        };
        // An option that would fail in each pod fails here.
        Campaign::new(&self.drawn.seeds, completions)?;
        let profile = targets::find(&self.drawn.target).map_err(CommandError::input)?;
        run::implementation(&profile)?;
        self.check_volume(store)?;
        let pods = Pods {
            name: &self.name,
            image,
            target: &self.drawn.target,
            profile: profile_file(&self.drawn.target)?,
        };
        let manifests = Manifests {
            pods,
            completions: completions.get(),
            parallelism: self.parallelism.unwrap_or(completions).min(completions).get(),
            jobs: self.jobs.get(),
            seeds: self.drawn.seeds.to_string(),
            style: self.drawn.style.to_string(),
            store,
            claim: self.claim.as_deref(),
            secret: self.secret.as_deref(),
        };
        output::print_raw(yaml(&manifests.objects())?.as_bytes())?;
        Ok(ExitStatus::Conforms)
    }

    /// A directory needs a volume that outlasts the pods, and a bucket needs none.
    fn check_volume(&self, store: &str) -> Result<(), CommandError> {
        let wrong = |why: &str| Err(input_error!("--store {store}: {why}"));
        match (is_bucket(store), &self.claim) {
            (true, Some(_)) => wrong("--claim does nothing for a bucket"),
            (false, None) => {
                wrong("a directory needs --claim, the PersistentVolumeClaim that is mounted there")
            }
            (false, _) if !Path::new(store).is_absolute() => wrong("the directory in the pods begins with /"),
            _ => Ok(()),
        }
    }
}
