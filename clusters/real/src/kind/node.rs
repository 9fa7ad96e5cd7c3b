//! One node of a kind cluster: a container with systemd, and the commands in it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bollard::models::{Mount as VolumeMount, MountType, MountVolumeOptions, PortBinding};
use bollard::query_parameters::TopOptions;
use capsize_clock::Clock;
use capsize_clusters::ProviderError;
use testcontainers::core::{AccessMode, CgroupnsMode, ContainerAsync, ImageExt, IntoContainerPort, Mount};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerRequest, GenericImage};
use tokio::time::timeout;

use super::image::NodeImage;
use super::kubeadm;
use super::privilege::Privilege;
use crate::docker::{Command, CommandResult, Container, Engine, EngineError, FleetNetwork, log_end};

/// The time limit until a node has booted, and the pause between two looks.
const BOOT: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(50);

/// The folder of kernel modules of the machine, which nodes may load.
const MODULES: &str = "/lib/modules";

/// With these storage drivers of Docker, kubelets need to find the disk that they are on, as in kind.
const VOLUMES: [&str; 2] = ["btrfs", "zfs"];
const DISKS: &str = "/dev/mapper";

/// The path of the administrator's kubeconfig, in the node that initialized a cluster.
pub(super) const ADMIN: &str = "/etc/kubernetes/admin.conf";

/// The state that the nodes of one fleet share.
#[derive(Clone)]
pub(super) struct FleetState {
    pub(super) engine: Engine,
    pub(super) clock: Clock,
    pub(super) network: Arc<FleetNetwork>,
    pub(super) image: NodeImage,
    pub(super) privilege: Privilege,
    /// The storage driver of Docker.
    pub(super) storage: String,
}

/// A running node. Dropping it within a runtime removes its container.
pub(super) struct Node {
    shared: FleetState,
    /// Dropping it removes the container.
    _container: ContainerAsync<GenericImage>,
    pub(super) name: String,
    pub(super) address: Ipv4Addr,
}

impl Node {
    /// Starts the node called `name`.
    /// Its API server is published on `port` of the loopback, if there is one.
    pub(super) async fn start(
        shared: FleetState,
        name: String,
        port: Option<u16>,
    ) -> Result<Self, ProviderError> {
        let failed = |error| ProviderError(format!("the node {name} does not start: {error}"));
        let container = request(&shared, &name, port).start().await.map_err(failed)?;
        let address = match container.get_bridge_ip_address().await.map_err(failed)? {
            IpAddr::V4(address) => address,
            IpAddr::V6(address) => {
                return Err(ProviderError(format!(
                    "the node {name} has the address {address}, but IPv4 is required"
                )));
            }
        };
        let node = Self { shared, _container: container, name, address };
        node.booted().await?;
        Ok(node)
    }

    /// The labels of its run.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        self.shared.network.labels()
    }

    /// The clock of its run.
    pub(super) fn clock(&self) -> Clock {
        self.shared.clock
    }

    /// Its container as a machine that can break down.
    pub(super) fn machine(&self) -> Container {
        let FleetState { engine, clock, network, .. } = self.shared.clone();
        Container { engine, clock, network, name: self.name.clone(), address: self.address }
    }

    /// Runs a command in it, and returns the output.
    pub(super) async fn run(
        &self,
        line: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<String, ProviderError> {
        let ended = self.attempt(line, environment).await?;
        self.output(ended, &format!("`{}`", line.join(" ")))
    }

    /// Runs a script in it; `what` describes the script in errors.
    pub(super) async fn run_script(
        &self,
        what: &str,
        script: &str,
        environment: &[(&str, &str)],
    ) -> Result<(), ProviderError> {
        let ended = self.attempt(&["sh", "-c", script], environment).await?;
        self.output(ended, what).map(drop)
    }

    /// The output of a command that succeeded.
    fn output(&self, ended: CommandResult, what: &str) -> Result<String, ProviderError> {
        let CommandResult { code, output, complaint } = ended;
        if code == 0 {
            return Ok(output);
        }
        let name = &self.name;
        let why = last_lines(if complaint.is_empty() { &output } else { &complaint });
        Err(ProviderError(format!("in the node {name}, {what} ends with {code}: {why}")))
    }

    async fn attempt(
        &self,
        line: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<CommandResult, EngineError> {
        let FleetState { engine, clock, privilege, .. } = &self.shared;
        // kind does this too.
        let privileged = *privilege == Privilege::Full;
        engine.execute(*clock, &self.name, Command { line, environment, privileged }).await
    }

    /// Waits until it has booted.
    /// No command is executed before systemd is running, which would find its control group in use otherwise. The
    /// console, which kind reads for this, needs a terminal, which testcontainers do not request.
    async fn booted(&self) -> Result<(), ProviderError> {
        let since = self.shared.clock.elapsed();
        let mut seen = "its init does not come to work".to_owned();
        loop {
            if self.is_at_work().await {
                let state = self.attempt(&["systemctl", "is-system-running", "--wait"], &[]);
                match timeout(BOOT, state).await {
                    // A degraded system lacks only units that nodes do not need, as swap.
                    Ok(Ok(CommandResult { output, .. }))
                        if ["running", "degraded"].contains(&output.as_str()) =>
                    {
                        return Ok(());
                    }
                    Ok(ended) => {
                        let CommandResult { output, complaint, .. } = ended?;
                        seen = format!("systemd reports {output}{complaint}");
                    }
                    Err(_) => seen = "its init does not come to an end".into(),
                }
            }
            let runs = self.machine().runs().await?;
            if !runs || self.shared.clock.elapsed().saturating_sub(since) > BOOT {
                let why = if runs { seen } else { "it has ended".into() };
                let log = log_end(&self.shared.engine, &self.name).await;
                return Err(ProviderError(format!(
                    "the node {} does not boot: {why}; its log ends with:\n{log}",
                    self.name
                )));
            }
            self.shared.clock.sleep(PAUSE).await;
        }
    }

    async fn is_at_work(&self) -> bool {
        let top = self.shared.engine.0.top_processes(&self.name, None::<TopOptions>).await;
        let processes = top.ok().and_then(|top| top.processes).unwrap_or_default();
        processes.iter().flatten().any(|field| field.contains("systemd-journald"))
    }

    /// The last lines of its journal, for an error.
    pub(super) async fn journal(&self) -> String {
        let journal = self.run(&["journalctl", "--no-pager", "--lines=20"], &[]).await;
        journal.unwrap_or_else(|error| error.to_string())
    }
}

/// The container that kind would start.
fn request(shared: &FleetState, name: &str, port: Option<u16>) -> ContainerRequest<GenericImage> {
    let mut image = shared.image.generic();
    if port.is_some() {
        image = image.with_exposed_port(kubeadm::PORT.tcp());
    }
    let mut request = image
        .with_container_name(name)
        .with_hostname(name)
        .with_network(shared.network.name())
        .with_labels(shared.network.labels())
        .with_env_var("KUBECONFIG", ADMIN)
        .with_cgroupns_mode(CgroupnsMode::Private)
        .with_userns_mode("host")
        .with_mount(Mount::tmpfs_mount("/tmp"))
        .with_mount(Mount::tmpfs_mount("/run"));
    if Path::new(MODULES).exists() {
        let modules = Mount::bind_mount(MODULES, MODULES).with_access_mode(AccessMode::ReadOnly);
        request = request.with_mount(modules);
    }
    if VOLUMES.contains(&&*shared.storage) {
        request = request.with_mount(Mount::bind_mount(DISKS, DISKS));
    }
    let (privilege, labels) = (shared.privilege, shared.network.labels());
    request.with_host_config_modifier(move |host| {
        privilege.give(host);
        // Docker may be configured to start an init process of its own before systemd.
        host.init = Some(false);
        // testcontainers would publish ports on all addresses of the machine.
        host.publish_all_ports = Some(false);
        let on_loopback = |port: u16| PortBinding {
            host_ip: Some(Ipv4Addr::LOCALHOST.to_string()),
            host_port: Some(port.to_string()),
        };
        let binding = |port| (format!("{}/tcp", kubeadm::PORT), Some(vec![on_loopback(port)]));
        host.port_bindings = Some(port.map(binding).into_iter().collect());
        // A volume without a name is removed with its container.
        let volume = VolumeMount {
            target: Some("/var".into()),
            typ: Some(MountType::VOLUME),
            volume_options: Some(MountVolumeOptions {
                labels: Some(labels.clone().into_iter().collect()),
                ..Default::default()
            }),
            ..Default::default()
        };
        host.mounts.get_or_insert_default().push(volume);
    })
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(10)..].join("\n")
}
