//! The flags, with the names and the defaults of the real controller manager.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use capsize_controllers::Settings;
use capsize_controllers::rules::{Gates, NamePattern};
use capsize_sorted::CollectSorted;
use clap::Parser;
use jiff::SignedDuration;

use crate::gates::{self, GateSetting};
use crate::leader_flags::LeaderFlags;

/// The reference controllers of failover, on a control plane that speaks Karmada's API
#[derive(Clone, Debug, Parser)]
#[command(name = "capsize-controllers", version)]
pub struct Flags {
    /// How to reach the control plane; by default $KUBECONFIG, or the cluster that this runs in
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; by default the current context
    #[arg(long)]
    pub context: Option<String>,
    /// Runs the agent of the Pull member with this name, instead of the controllers of the control plane
    #[arg(long, value_name = "NAME", requires = "member_kubeconfig")]
    pub agent_of: Option<String>,
    /// How the agent reaches its member
    #[arg(long, value_name = "FILE", requires = "agent_of")]
    pub member_kubeconfig: Option<PathBuf>,
    /// Which controllers run: `*` is all of them, `NAME` this one, `-NAME` not this one
    #[arg(long, value_delimiter = ',', default_value = "*", allow_hyphen_values = true)]
    pub controllers: Vec<String>,
    /// Feature gates to set: `Failover=false`. `GracefulEviction` and `PropagateDeps` are others
    #[arg(long, value_delimiter = ',', value_name = "GATE=BOOL")]
    pub feature_gates: Vec<GateSetting>,
    /// Whether taints of effect NoExecute evict
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub enable_taint_manager: bool,
    /// Time between two probes of a member
    #[arg(long, default_value = "10s", value_parser = duration, value_name = "TIME")]
    pub cluster_status_update_frequency: Duration,
    /// How long probes must succeed until a member is ready again
    #[arg(long, default_value = "30s", value_parser = duration, value_name = "TIME")]
    pub cluster_success_threshold: Duration,
    /// How long probes must fail until a member is not ready
    #[arg(long, default_value = "30s", value_parser = duration, value_name = "TIME")]
    pub cluster_failure_threshold: Duration,
    /// Time between two checks of the readiness of all members
    #[arg(long, default_value = "5s", value_parser = duration, value_name = "TIME")]
    pub cluster_monitor_period: Duration,
    /// How long a Pull member may be silent
    #[arg(long, default_value = "40s", value_parser = duration, value_name = "TIME")]
    pub cluster_monitor_grace_period: Duration,
    /// How long a Pull member that has not reported yet may be silent
    #[arg(long, default_value = "1m", value_parser = duration, value_name = "TIME")]
    pub cluster_startup_grace_period: Duration,
    /// Time from the end of readiness to the taint that evicts workloads
    #[arg(long, default_value = "5m", value_parser = duration, value_name = "TIME")]
    pub failover_eviction_timeout: Duration,
    /// How long an old copy is kept at most while its replacement gets ready
    #[arg(long, default_value = "10m", value_parser = duration, value_name = "TIME")]
    pub graceful_eviction_timeout: Duration,
    /// The regular expressions of namespaces that are not created in members.
    /// Objects in these namespaces are not propagated.
    #[arg(long, value_delimiter = ',', default_value = "kube-.*", value_name = "PATTERN")]
    pub skipped_propagating_namespaces: Vec<NamePattern>,
    /// The kinds that are not propagated, with `;` between them.
    /// The forms are `group`, `group/version` and `group/version/kind,kind`.
    #[arg(long, default_value = "", value_name = "KINDS")]
    pub skipped_propagating_apis: String,
    /// First delay before a failed reconciliation is retried
    #[arg(long, default_value = "5ms", value_parser = duration, value_name = "TIME")]
    pub rate_limiter_base_delay: Duration,
    /// Longest delay before a failed reconciliation is retried
    #[arg(long, default_value = "1000s", value_parser = duration, value_name = "TIME")]
    pub rate_limiter_max_delay: Duration,
    /// Requests per second to the control plane
    #[arg(long, default_value = "40", value_name = "N")]
    pub kube_api_qps: NonZeroU32,
    /// Requests to the control plane that may be sent at once
    #[arg(long, default_value = "60", value_name = "N")]
    pub kube_api_burst: NonZeroU32,
    /// Requests per second to each member
    #[arg(long, default_value = "40", value_name = "N")]
    pub cluster_api_qps: NonZeroU32,
    /// Requests to a member that may be sent at once
    #[arg(long, default_value = "60", value_name = "N")]
    pub cluster_api_burst: NonZeroU32,
    /// Leader election
    #[command(flatten)]
    pub leader: LeaderFlags,
    /// The namespace of the Lease
    #[arg(long, default_value = "karmada-system", value_name = "NAME")]
    pub leader_elect_resource_namespace: String,
    /// Address of `/healthz` and `/readyz`; 0 to serve neither
    #[arg(long, default_value = ":10357", value_parser = address, value_name = "ADDR")]
    pub health_probe_bind_address: Address,
    /// Address of `/metrics`; 0 to serve no metrics
    #[arg(long, default_value = ":8080", value_parser = address, value_name = "ADDR")]
    pub metrics_bind_address: Address,
}

/// An address to listen on; `None` where nothing is served.
pub type Address = Option<SocketAddr>;

/// Parses a duration in Go's notation: `1m30s`, `5ms`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let parsed: SignedDuration =
        text.parse().map_err(|_| "write a length of time like 90s, 1m30s or 5ms".to_owned())?;
    Duration::try_from(parsed).map_err(|_| "a length of time is not negative".to_owned())
}

/// Parses an address in Go's notation, which may leave out the host.
fn address(text: &str) -> Result<Address, String> {
    match text {
        "0" => Ok(None),
        _ => {
            let whole = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_owned() };
            whole.parse().map(Some).map_err(|_| "write an address like 127.0.0.1:8080 or :8080".to_owned())
        }
    }
}

impl Flags {
    /// The settings of the controllers.
    ///
    /// # Errors
    /// When `--controllers` names an unknown controller, or leaves none to run.
    pub fn settings(&self, known: &[&str]) -> Result<Settings, String> {
        Ok(Settings {
            cluster_status_update_frequency: self.cluster_status_update_frequency,
            cluster_success_threshold: self.cluster_success_threshold,
            cluster_failure_threshold: self.cluster_failure_threshold,
            cluster_monitor_period: self.cluster_monitor_period,
            cluster_monitor_grace_period: self.cluster_monitor_grace_period,
            cluster_startup_grace_period: self.cluster_startup_grace_period,
            failover_eviction_timeout: self.failover_eviction_timeout,
            graceful_eviction_timeout: self.graceful_eviction_timeout,
            rate_limiter_base_delay: self.rate_limiter_base_delay,
            rate_limiter_max_delay: self.rate_limiter_max_delay,
            skipped_propagating_namespaces: self.skipped_propagating_namespaces.clone(),
            skipped_propagating_apis: self.skipped_propagating_apis.clone(),
            gates: Gates { taint_manager: self.enable_taint_manager, ..gates::resolve(&self.feature_gates) },
            disabled_controllers: disabled(&self.controllers, known)?,
            ..Settings::default()
        })
    }
}

/// The controllers of `known` that do not run.
/// As in the real manager, an explicit name decides before `*`.
pub(crate) fn disabled(chosen: &[String], known: &[&str]) -> Result<BTreeSet<String>, String> {
    let name = |choice: &str| choice.strip_prefix('-').unwrap_or(choice).to_owned();
    if let Some(unknown) =
        chosen.iter().map(|choice| name(choice)).find(|name| name != "*" && !known.contains(&&**name))
    {
        return Err(format!("there is no controller `{unknown}`; there are: {}", known.join(", ")));
    }
    let runs = |controller: &str| {
        let named = chosen.iter().find(|choice| name(choice) == controller);
        named.map_or_else(|| chosen.iter().any(|choice| choice == "*"), |choice| !choice.starts_with('-'))
    };
    let disabled: BTreeSet<String> =
        known.iter().filter(|name| !runs(name)).map(|name| (*name).to_owned()).collect_sorted();
    if disabled.len() == known.len() { Err("no controller is left to run".into()) } else { Ok(disabled) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_decides_before_the_star() {
        let known = ["cluster", "detector", "scheduler"];
        type DisabledControllers = Result<&'static [&'static str], &'static str>;
        let cases: [(&[&str], DisabledControllers); 6] = [
            (&["*"], Ok(&[])),
            (&["*", "-detector"], Ok(&["detector"])),
            (&["-detector", "*"], Ok(&["detector"])),
            (&["cluster"], Ok(&["detector", "scheduler"])),
            (&["-cluster"], Err("no controller is left to run")),
            (
                &["*", "-nobody"],
                Err("there is no controller `nobody`; there are: cluster, detector, scheduler"),
            ),
        ];
        for (chosen, expected) in cases {
            let chosen: Vec<String> = chosen.iter().map(|choice| (*choice).to_owned()).collect();
            let expected = expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(disabled(&chosen, &known), expected.map_err(str::to_owned), "{chosen:?}");
        }
    }

    #[test]
    fn times_and_addresses_are_read_as_go_writes_them() {
        let flags =
            Flags::try_parse_from(["it", "--failover-eviction-timeout=1m30s", "--metrics-bind-address=0"])
                .unwrap();
        assert_eq!(flags.failover_eviction_timeout, Duration::from_secs(90));
        assert_eq!(flags.metrics_bind_address, None);
        assert_eq!(flags.health_probe_bind_address, "0.0.0.0:10357".parse().ok());
        for wrong in [
            "--cluster-monitor-period=5",
            "--cluster-monitor-period=-5s",
            "--metrics-bind-address=x",
            "--skipped-propagating-namespaces=a[",
        ] {
            Flags::try_parse_from(["it", wrong]).unwrap_err();
        }
    }

    #[test]
    fn defaults_are_those_of_the_settings() {
        let flags = Flags::try_parse_from(["it"]).unwrap();
        assert_eq!(flags.settings(&["cluster"]).unwrap(), Settings::default());
    }
}
