//! The privileges of nodes: all, as kind requests, or a list of capabilities in sandboxes.

use std::fmt;

use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{CreateContainerOptions, StartContainerOptions};

use super::image::NodeImage;
use crate::docker::{Engine, EngineError, refused};
use crate::journal::{Journal, Resource};

/// The capabilities that a node needs in addition to Docker's defaults.
/// The programs that need the capabilities are systemd, containerd, kubelet and the pod network.
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

/// No seccomp filter, and no `AppArmor` profile.
const UNCONFINED: [&str; 2] = ["seccomp=unconfined", "apparmor=unconfined"];

/// The privileges of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// All privileges.
    Full,
    /// A list of capabilities.
    Listed,
}

impl Privilege {
    /// Finds out which privileges Docker grants.
    /// For this purpose a container called `name` of `image` is started, which ends at once. The container is in
    /// `journal` already, and is removed.
    ///
    /// # Errors
    /// Docker grants neither.
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

    /// Applies the privileges to a container.
    pub(super) fn give(self, host: &mut HostConfig) {
        host.privileged = Some(self == Self::Full);
        host.security_opt = Some(UNCONFINED.map(str::to_owned).to_vec());
        if self == Self::Listed {
            host.cap_add = Some(CAPABILITIES.map(str::to_owned).to_vec());
            // As with all privileges, nodes may write all kernel settings.
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
