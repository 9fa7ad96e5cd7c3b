//! The flags of the node controllers, with the names and defaults of kube-controller-manager 1.36.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use capsize_controllers::rules::node::Rates;
use capsize_controllers::{NodeControllerSet, NodeSettings};
use clap::Parser;

use crate::flags::{Address, disabled, duration};
use crate::leader_flags::LeaderFlags;

const LIFECYCLE: &str = "node-lifecycle-controller";
const TAINT_EVICTION: &str = "taint-eviction-controller";

/// The reference controllers of nodes, with the flags of kube-controller-manager
#[derive(Clone, Debug, Parser)]
#[command(name = "capsize-node-controllers", version)]
pub struct NodeFlags {
    /// How to reach the cluster; by default $KUBECONFIG, or the cluster that this runs in
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Which controllers run: `*` is all of them, `NAME` this one, `-NAME` not this one
    #[arg(long, value_delimiter = ',', default_value = "*", allow_hyphen_values = true)]
    pub controllers: Vec<String>,
    /// Time between two checks of the health of all nodes
    #[arg(long, default_value = "5s", value_parser = duration, value_name = "TIME")]
    pub node_monitor_period: Duration,
    /// How long a node may be silent
    #[arg(long, default_value = "50s", value_parser = duration, value_name = "TIME")]
    pub node_monitor_grace_period: Duration,
    /// How long a node that has never reported may be silent
    #[arg(long, default_value = "1m", value_parser = duration, value_name = "TIME")]
    pub node_startup_grace_period: Duration,
    /// Nodes per second that are tainted in a zone that is healthy, or in which no node is ready
    #[arg(long, default_value = "0.1", value_name = "RATE")]
    pub node_eviction_rate: f64,
    /// Nodes per second that are tainted in a large zone that is partly disrupted
    #[arg(long, default_value = "0.01", value_name = "RATE")]
    pub secondary_node_eviction_rate: f64,
    /// A zone of more nodes than this is large
    #[arg(long, default_value = "50", value_name = "N")]
    pub large_cluster_size_threshold: usize,
    /// Share of nodes that are not ready, and three at least, from which on a zone is partly disrupted
    #[arg(long, default_value = "0.55", value_name = "PART")]
    pub unhealthy_zone_threshold: f32,
    /// Verbosity of the log; from 1 on, it begins with the flags
    #[arg(long, default_value = "0", value_name = "N")]
    pub v: u8,
    /// Requests per second to the cluster
    #[arg(long, default_value = "20", value_name = "N")]
    pub kube_api_qps: NonZeroU32,
    /// Requests to the cluster that may be sent at once
    #[arg(long, default_value = "30", value_name = "N")]
    pub kube_api_burst: NonZeroU32,
    /// Leader election
    #[command(flatten)]
    pub leader: LeaderFlags,
    /// The namespace of the Lease
    #[arg(long, default_value = "kube-system", value_name = "NAME")]
    pub leader_elect_resource_namespace: String,
    /// Address of `/healthz`, `/readyz` and `/metrics` over HTTPS; requests are not authenticated
    #[arg(long, default_value = "0.0.0.0", value_name = "ADDR")]
    pub bind_address: IpAddr,
    /// Port of that address; 0 to serve nothing
    #[arg(long, default_value = "10257", value_name = "PORT")]
    pub secure_port: u16,
}

impl NodeFlags {
    /// The names and values of the flags that decide times and rates, for the log.
    pub(crate) fn reported(&self) -> [(&'static str, String); 7] {
        [
            ("node-monitor-period", format!("{:?}", self.node_monitor_period)),
            ("node-monitor-grace-period", format!("{:?}", self.node_monitor_grace_period)),
            ("node-startup-grace-period", format!("{:?}", self.node_startup_grace_period)),
            ("node-eviction-rate", self.node_eviction_rate.to_string()),
            ("secondary-node-eviction-rate", self.secondary_node_eviction_rate.to_string()),
            ("large-cluster-size-threshold", self.large_cluster_size_threshold.to_string()),
            ("unhealthy-zone-threshold", self.unhealthy_zone_threshold.to_string()),
        ]
    }

    /// The settings of the controllers.
    ///
    /// # Errors
    /// When `--controllers` names an unknown controller, or leaves none to run.
    pub fn settings(&self) -> Result<NodeSettings, String> {
        let disabled = disabled(&self.controllers, &[LIFECYCLE, TAINT_EVICTION])?;
        let controllers = NodeControllerSet {
            lifecycle: !disabled.contains(LIFECYCLE),
            taint_eviction: !disabled.contains(TAINT_EVICTION),
        };
        Ok(NodeSettings {
            monitor_period: self.node_monitor_period,
            monitor_grace_period: self.node_monitor_grace_period,
            startup_grace_period: self.node_startup_grace_period,
            rates: Rates {
                normal: self.node_eviction_rate,
                secondary: self.secondary_node_eviction_rate,
                large: self.large_cluster_size_threshold,
                unhealthy: self.unhealthy_zone_threshold,
            },
            controllers,
            ..NodeSettings::default()
        })
    }

    /// The address to listen on; `None` where nothing is served.
    #[must_use]
    pub fn address(&self) -> Address {
        (self.secure_port > 0).then(|| SocketAddr::new(self.bind_address, self.secure_port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_settings() {
        let flags = NodeFlags::try_parse_from(["it"]).unwrap();
        assert_eq!(flags.settings().unwrap(), NodeSettings::default());
        assert_eq!(flags.address(), "0.0.0.0:10257".parse().ok());
    }

    #[test]
    fn a_controller_of_nodes_runs_alone_by_its_real_name() {
        let set = |chosen: &str| {
            let flags = NodeFlags::try_parse_from(["it", &format!("--controllers={chosen}")]).unwrap();
            flags
                .settings()
                .map(|settings| (settings.controllers.lifecycle, settings.controllers.taint_eviction))
        };
        assert_eq!(set("node-lifecycle-controller"), Ok((true, false)));
        assert_eq!(set("*,-node-lifecycle-controller"), Ok((false, true)));
        assert_eq!(set("node-lifecycle-controller,taint-eviction-controller"), Ok((true, true)));
        assert!(set("nodelifecycle").unwrap_err().starts_with("there is no controller `nodelifecycle`"));
    }
}
