//! Fleets of member clusters, the links to them, and the simulated workloads in a member.
//!
//! A link injects network faults. Every request and every watch between the control plane and a member passes the
//! link in both directions. [`ApiFaults`] injects faults of the API server of the control plane or of a member. Other
//! crates have the controllers of a fleet and the guarantees.

mod agent_switch;
mod api_fault_body;
mod api_fault_proxy;
mod api_faults;
mod deployments;
mod external;
mod fault_effect;
mod fleet;
mod link;
mod link_body;
mod link_listener;
mod namespaces;
mod node_cluster;
mod nodes;
mod pods;
mod relay;
mod serve;
mod sockets;
#[cfg(target_os = "linux")]
mod splice;
mod tcp_link_proxy;
mod verb;

pub use agent_switch::{AgentKill, AgentSwitch};
pub use api_fault_body::ApiFaultBody;
pub use api_fault_proxy::ApiFaultProxy;
pub use api_faults::{ApiFaultGuard, ApiFaultLayer, ApiFaults, ErrorStatus, STALE_AT_MOST, ServerFault};
pub use capsize_apiserver::{
    Backup, Builder, Identity, Keys, Quantity, RESTORED, RunningServer, ServeError, User,
};
pub use deployments::{NoStartUp, StartUp};
pub use external::{
    Breakdown, ExternalMember, Machine, Provider, ProviderError, administrator, write_start_up,
};
pub use fault_effect::FaultEffect;
pub use fleet::{Admission, Fleet, FleetSpec, Member, MemberSpec, ShutOff, SyncMode};
pub use link::{Direction, Link, LinkError, LinkFault, LinkGuard, LinkService};
pub use link_body::LinkBody;
pub use node_cluster::{Cluster, ClusterSpec, Delay, Kubelet, KubeletGuard, NodeFault, NodeSpec, Stages};
pub use serve::{GivenCredentials, ListeningMember};
pub use sockets::{AgentKubeconfigs, MemberAccess, Sockets};
pub use tcp_link_proxy::{TcpLinkProxy, disable_pacing};
pub use verb::Verb;
