//! Fleets of member clusters, the links to them, and what goes on inside a member.
//!
//! The link is where the network is broken: every request and every watch between the control plane and a
//! member passes it, whoever of the two asks. The gate is where an API server is in trouble:
//! the control plane's, or a member's. What runs in a fleet (controllers) and what it must keep (guarantees) is left to others.

mod body;
mod door;
mod fleet;
mod gate;
mod gate_body;
mod inside;
mod link;
mod namespaces;
mod nodes;
mod outside;
mod proxy;
mod pump;
mod serve;
mod site;
mod sockets;
#[cfg(target_os = "linux")]
mod splice;
mod verb;

pub use body::LinkBody;
pub use capsize_apiserver::{
    Backup, Builder, Identity, Keys, ListenError, Listening, Quantity, RESTORED, User,
};
pub use door::{Door, unpace};
pub use fleet::{Admission, Fleet, FleetSpec, Member, MemberSpec, ShutOff, SyncMode};
pub use gate::{ErrorStatus, Gate, GateGuard, GateService, STALE_AT_MOST, ServerFault};
pub use gate_body::GateBody;
pub use inside::{NoStartUp, StartUp};
pub use link::{Direction, Link, LinkError, LinkFault, LinkGuard, LinkService};
pub use outside::{Breakdown, Machine, Outside, Provider, ProviderError, administrator, tell_start_up};
pub use proxy::Proxy;
pub use serve::{Served, Standing};
pub use site::{Cluster, ClusterSpec, Delay, Kubelet, KubeletGuard, NodeFault, NodeSpec, Stages};
pub use sockets::{Reached, Sockets};
pub use verb::Verb;
