//! A member that is a kind cluster: starting its nodes, connecting to it, and its breakdowns.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use async_trait::async_trait;
use capsize_clusters::{Breakdown, ExternalMember, Machine, MemberSpec, ProviderError, write_start_up};
use futures::future::try_join_all;

use super::boot;
use super::credentials::Administrator;
use super::node::{ADMIN, FleetState, Node};
use super::programs::{API_SERVER, ETCD, KUBELET};
use crate::docker::Container;
use crate::ports::free_port;

/// The names of the nodes of a member in the network of this name.
/// The first node initializes the cluster.
pub(super) fn names(network: &str, spec: &MemberSpec) -> Vec<String> {
    let first = format!("{network}-{}", spec.name);
    let workers = (1..spec.nodes).map(|number| format!("{first}-worker{number}"));
    std::iter::once(first.clone()).chain(workers).collect()
}

/// Starts the member that `spec` describes.
pub(super) async fn start(shared: FleetState, spec: &MemberSpec) -> Result<ExternalMember, ProviderError> {
    let none = |error: io::Error| ProviderError(format!("127.0.0.1 has no free port for a node: {error}"));
    let port = free_port().map_err(none)?;
    let stand_in = shared.image.is_stand_in();
    let nodes = names(shared.network.name(), spec).into_iter().enumerate().map(|(place, name)| {
        let published = (place == 0).then_some(port);
        Node::start(shared.clone(), name, published)
    });
    let nodes = try_join_all(nodes).await?;
    boot::boot(&spec.name, &nodes).await?;
    let [first, ..] = nodes.as_slice() else {
        return Err(ProviderError("internal error: a member has no nodes".into()));
    };
    let kubeconfig = first.run(&["cat", ADMIN], &[]).await?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let administrator = Administrator::of(&kubeconfig, &format!("https://{address}")).await?;
    boot::ready(&nodes, &administrator.client).await?;
    let token = administrator.token().await?;
    if stand_in {
        let written = write_start_up(&administrator.client, spec.start_up).await;
        written.map_err(|error| {
            ProviderError(format!(
                "the time that replicas take to become ready cannot be set in {}: {error}",
                spec.name
            ))
        })?;
    }
    let machine = Box::new(Machines(nodes));
    let (path, authority) = (String::new(), administrator.authority);
    Ok(ExternalMember { address, path, authority, token, machine })
}

/// The machines of a member, which break down together.
struct Machines(Vec<Node>);

impl Machines {
    /// The node that initialized the cluster, with the API server and etcd.
    fn first(&self) -> Result<&Node, ProviderError> {
        self.0.first().ok_or_else(|| ProviderError("internal error: a member has no nodes".into()))
    }
}

#[async_trait]
impl Machine for Machines {
    async fn break_down(&self, how: Breakdown) -> Result<(), ProviderError> {
        match how {
            Breakdown::Kubelet => try_join_all(self.0.iter().map(|node| node.stop(KUBELET))).await.map(drop),
            Breakdown::ApiServer => self.first()?.stop(API_SERVER).await,
            Breakdown::Etcd => self.first()?.stop(ETCD).await,
            Breakdown::Vanish(direction) => self.first()?.let_vanish(direction).await,
            Breakdown::LosePackets(percent) => self.first()?.disturb(&format!("loss {percent}%")).await,
            Breakdown::LatePackets(by) => self.first()?.disturb(&format!("delay {}ms", by.as_millis())).await,
            Breakdown::Pause | Breakdown::Disconnect | Breakdown::Stop | Breakdown::Crash => {
                let machines: Vec<_> = self.0.iter().map(Node::machine).collect();
                try_join_all(machines.iter().map(|machine| machine.break_down(how))).await.map(drop)
            }
        }
    }

    async fn mend(&self, how: Breakdown) -> Result<(), ProviderError> {
        match how {
            Breakdown::Kubelet => {
                try_join_all(self.0.iter().map(|node| node.start_again(KUBELET))).await.map(drop)
            }
            Breakdown::ApiServer => self.first()?.start_again(API_SERVER).await,
            Breakdown::Etcd => self.first()?.start_again(ETCD).await,
            Breakdown::Vanish(_) | Breakdown::LosePackets(_) | Breakdown::LatePackets(_) => {
                self.first()?.let_pass().await
            }
            Breakdown::Pause | Breakdown::Disconnect | Breakdown::Stop | Breakdown::Crash => {
                let machines: Vec<_> = self.0.iter().map(Node::machine).collect();
                if matches!(how, Breakdown::Stop | Breakdown::Crash) {
                    // Their certificates are valid for these addresses alone, and the other nodes use these addresses.
                    try_join_all(machines.iter().map(Container::keep_address)).await?;
                }
                try_join_all(machines.iter().map(|machine| machine.mend(how))).await.map(drop)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_three_nodes_has_two_workers() {
        let mut spec = MemberSpec::named("m1");
        assert_eq!(names("capsize-a-1", &spec), ["capsize-a-1-m1"]);
        spec.nodes = 3;
        let expected = ["capsize-a-1-m1", "capsize-a-1-m1-worker1", "capsize-a-1-m1-worker2"];
        assert_eq!(names("capsize-a-1", &spec), expected);
    }
}
