//! The options that select where members run, and the providers of these members.

use std::path::Path;
use std::sync::Arc;

use capsize_clock::{Seed, live};
use capsize_clusters::Provider;
use capsize_real::{
    Assets, Containers, Engine, EngineError, Image, Journal, Kind, NodeImage, Processes, Starter,
};
use clap::{Args, ValueEnum};

use super::existing::ExistingArgs;
use crate::die_with_parent::dying_with_parent;
use crate::exit::{CommandError, environment_error, input_error};

/// The place where members run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProviderName {
    /// In this process
    #[default]
    Embedded,
    /// Each in a container of its own, in real time
    Container,
    /// Each a cluster of its own, with nodes in containers of a kindest/node image, in real time
    Kind,
    /// Each an etcd and a kube-apiserver as processes of this machine, in real time
    Process,
    /// Existing clusters of a kubeconfig that are allowed, in real time
    Kubeconfig,
}

impl ProviderName {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Container => "container",
            Self::Kind => "kind",
            Self::Process => "process",
            Self::Kubeconfig => "kubeconfig",
        }
    }
}

/// The options that select where members run.
#[derive(Args, Clone, Debug, Default)]
pub struct MemberArgs {
    /// Where the members of fleets run
    #[arg(long, value_enum, default_value_t)]
    pub provider: ProviderName,
    /// With --provider kind: the image of nodes.
    /// Without an image, the youngest kindest/node that Docker has is used
    #[arg(long, value_name = "IMAGE")]
    pub kind_image: Option<String>,
    /// The existing clusters
    #[command(flatten)]
    pub existing: ExistingArgs,
}

impl MemberArgs {
    /// Refuses flags that only another provider heeds: above all, `--dry-run` must not be ignored.
    ///
    /// # Errors
    /// When there is such a flag.
    pub fn check(&self) -> Result<(), CommandError> {
        let kind = [("--kind-image", ProviderName::Kind, self.kind_image.is_some())];
        let existing = self.existing.given().map(|(flag, given)| (flag, ProviderName::Kubeconfig, given));
        let idle =
            |(_, provider, is_given): &(&str, ProviderName, bool)| *is_given && *provider != self.provider;
        let Some((flag, provider, _)) = kind.into_iter().chain(existing).find(idle) else { return Ok(()) };
        let help = format!("add --provider {}, or leave {flag} out", provider.name());
        Err(input_error!(help = help, "{flag} does nothing with --provider {}", self.provider.name()))
    }

    /// The provider of members, unless these run in this process. Its resources are written into `journal`.
    ///
    /// # Errors
    /// This program cannot be read, or Docker lacks an image.
    pub fn provider(&self, journal: &Arc<Journal>) -> Result<Option<Arc<dyn Provider>>, CommandError> {
        Ok(match self.provider {
            ProviderName::Embedded => None,
            ProviderName::Container => {
                let unreadable = |error| environment_error!("cannot read this program: {error}");
                let image = Image::of_this_program().map_err(unreadable)?;
                Some(Arc::new(Containers::of(Arc::clone(journal), image)))
            }
            ProviderName::Kind => Some(Arc::new(Kind::of(Arc::clone(journal), self.node_image()?))),
            ProviderName::Process => {
                Some(Arc::new(Processes::of(Arc::clone(journal), assets()?, starter()?)))
            }
            ProviderName::Kubeconfig => Some(Arc::new(self.existing.provider(journal)?)),
        })
    }

    /// The provider and its version, for a report.
    ///
    /// # Errors
    /// Docker lacks an image.
    pub fn described(&self) -> Result<String, CommandError> {
        let name = self.provider.name();
        Ok(match self.provider {
            ProviderName::Kind => format!("{name}, {}", self.node_image()?.described()),
            ProviderName::Process => {
                let Assets { etcd, kube_apiserver } = assets()?;
                let version = |path: &Path| {
                    Assets::version(path).unwrap_or_else(|error| format!("{} ({error})", path.display()))
                };
                format!("{name}, kube-apiserver {}, {}", version(&kube_apiserver), version(&etcd))
            }
            _ => name.to_owned(),
        })
    }

    fn node_image(&self) -> Result<NodeImage, CommandError> {
        let find = || async { NodeImage::find(&Engine::find().await?, self.kind_image.as_deref()).await };
        let found = live(Seed(0), 1.0, |_| find());
        let found = found.map_err(|error| environment_error!("cannot start: {error}"))?;
        found.map_err(|error: EngineError| environment_error!("{error}"))
    }

    /// The options for a command that runs the same again.
    #[must_use]
    pub fn replayed(&self) -> String {
        let provider = match self.provider {
            ProviderName::Embedded => String::new(),
            provider => format!(" --provider {}", provider.name()),
        };
        let image = self.kind_image.iter().map(|image| format!(" --kind-image {image}"));
        image.fold(provider, |text, image| text + &image) + &self.existing.replayed()
    }
}

fn assets() -> Result<Assets, CommandError> {
    Assets::find().map_err(|error| environment_error!("{error}"))
}

/// Makes commands for programs that are killed when this process ends.
///
/// # Errors
/// The path of this program is unknown.
pub fn starter() -> Result<Starter, CommandError> {
    let capsize = std::env::current_exe();
    let capsize = capsize.map_err(|error| environment_error!("cannot read this program: {error}"))?;
    Ok(Arc::new(move |program| dying_with_parent(&capsize, program)))
}
