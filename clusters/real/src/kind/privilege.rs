//! What a node may do on the machine. kind asks for all privileges; sandboxes refuse that, and then a list of capabilities is
//! asked for. Which of the two it is, is found out by trying.

use std::fmt;

use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{CreateContainerOptions, StartContainerOptions};

use super::image::NodeImage;
use crate::docker::{Engine, EngineError, refused};
use crate::journal::{Journal, Resource};

/// What systemd, containerd, kubelet and the network of pods need beside what Docker gives to every container.
const CAPABILITIES: [&str; 9] = [
    "DAC_READ_SEARCH",
    "IPC_LOCK",
    "NET_ADMIN",
    "NET_BROADCAST",
    "SYS_ADMIN",
    "SYS_MODULE",
    "SYS_NICE",
    "SYS_PTRACE",
    "SYSLOG",
];

/// No filter of system calls, and no profile of `AppArmor`.
const UNCONFINED: [&str; 2] = ["seccomp=unconfined", "apparmor=unconfined"];

/// What a node may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// Everything.
    Full,
    /// What a list of capabilities lets it do.
    Listed,
}

impl Privilege {
    /// Finds out what Docker grants, by a container called `name` of `image` that does nothing, and is removed. It is in the
    /// journal of the run already.
    ///
    /// # Errors
    /// When it grants neither.
    pub async fn find(
        engine: &Engine,
        image: &NodeImage,
        (name, journal): (&str, &Journal),
    ) -> Result<Self, EngineError> {
        let container = Resource::Container(name.to_owned());
        let mut refusals = Vec::new();
        for privilege in [Self::Full, Self::Listed] {
            let tried = privilege.attempt(engine, image, (name, journal)).await;
            engine.remove(journal.id(), &container).await?;
            match tried {
                Ok(()) => return Ok(privilege),
                Err(error) => refusals.push(format!("{privilege}: {error}")),
            }
        }
        Err(EngineError::Refused { what: "run nodes".into(), why: refusals.join("; ") })
    }

    async fn attempt(
        self,
        engine: &Engine,
        image: &NodeImage,
        (name, journal): (&str, &Journal),
    ) -> Result<(), EngineError> {
        let mut host = HostConfig::default();
        self.give(&mut host);
        let body = ContainerCreateBody {
            image: Some(image.name()),
            entrypoint: Some(vec!["/bin/true".into()]),
            labels: Some(journal.labels().into_iter().collect()),
            network_disabled: Some(true),
            host_config: Some(host),
            ..Default::default()
        };
        let options = CreateContainerOptions { name: Some(name.to_owned()), ..Default::default() };
        let made = engine.0.create_container(Some(options), body).await;
        made.map_err(refused("make a container of the image"))?;
        let started = engine.0.start_container(name, None::<StartContainerOptions>).await;
        started.map_err(refused("start the image"))
    }

    /// Gives it to a container.
    pub(super) fn give(self, host: &mut HostConfig) {
        host.privileged = Some(self == Self::Full);
        host.security_opt = Some(UNCONFINED.map(str::to_owned).to_vec());
        if self == Self::Listed {
            host.cap_add = Some(CAPABILITIES.map(str::to_owned).to_vec());
            // As with all privileges: nodes set what the kernel lets them set.
            (host.masked_paths, host.readonly_paths) = (Some(Vec::new()), Some(Vec::new()));
        }
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "with all privileges",
            Self::Listed => "with a list of capabilities, without seccomp and AppArmor",
        })
    }
}
