//! The provider of clusters of a kubeconfig: claims clusters, and limits faults on their links.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use async_trait::async_trait;
use capsize_clock::{Seed, Simulation, live};
use capsize_clusters::{Breakdown, ExternalMember, Machine, MemberSpec, Provider, ProviderError};

use super::allowed::AllowedCluster;
use super::claim::Claim;
use super::cluster::Cluster;
use super::sweep::{Copies, find, undo};
use crate::journal::{Journal, Resource};

/// Provides clusters of a kubeconfig.
/// The first allowed cluster is the first member of a fleet, and so on.
pub struct ExistingClusters {
    /// The kubeconfig.
    pub kubeconfig: PathBuf,
    /// The clusters that may be used.
    pub allowed: Vec<AllowedCluster>,
    /// The largest number of members with faults at a time.
    pub max_down: usize,
    /// Returns the label of the objects that a control plane places in the member of this name.
    pub label: fn(&str) -> String,
    /// The journal in which the claims are written down.
    pub journal: Arc<Journal>,
    /// The members at present.
    pub members: Mutex<BTreeMap<String, Cluster>>,
}

impl ExistingClusters {
    /// Checks that all allowed clusters answer and are the right ones, and changes nothing.
    ///
    /// # Errors
    /// A cluster does not answer, or is another one.
    pub async fn plan(&self) -> Result<Vec<Cluster>, ProviderError> {
        let mut clusters = Vec::new();
        for allowed in &self.allowed {
            clusters.push(Cluster::find(&self.kubeconfig, allowed).await?);
        }
        Ok(clusters)
    }

    /// Claims a cluster for the member that `spec` describes.
    async fn join(&self, cluster: &Cluster, spec: &MemberSpec) -> Result<ClaimedCluster, ProviderError> {
        let (context, selector) = (&cluster.allowed.context, (self.label)(&spec.name));
        if let [(_, copy), ..] = find(&cluster.client, &selector).await?.as_slice() {
            let name = copy.metadata.name.as_deref().unwrap_or_default();
            return Err(ProviderError(format!(
                "{context} has objects with the label {selector}, like {name}: a control plane has it as a member of \
                 that name, so that nothing is done to it"
            )));
        }
        let copies = Copies {
            kubeconfig: self.kubeconfig.clone(),
            context: context.clone(),
            uid: cluster.allowed.uid.clone(),
            selector,
        };
        let unwritten = |error| ProviderError(format!("the journal of the run cannot be written: {error}"));
        let resource = Resource::Copies(copies.clone());
        self.journal.will(resource.clone()).map_err(unwritten)?;
        if let Err(error) = Claim::make(&cluster.client, self.journal.id(), &copies.selector).await {
            self.journal.undone(&resource);
            return Err(ProviderError(format!("nothing is done to {context}: {error}")));
        }
        Ok(ClaimedCluster { journal: Arc::clone(&self.journal), copies })
    }
}

#[async_trait]
impl Provider for ExistingClusters {
    async fn start(
        &self,
        _run: Simulation,
        specs: &[MemberSpec],
    ) -> Result<Vec<ExternalMember>, ProviderError> {
        if specs.len() > self.allowed.len() {
            let (wanted, allowed) = (specs.len(), self.allowed.len());
            return Err(ProviderError(format!("the case needs {wanted} members, and {allowed} are allowed")));
        }
        let (mut started, mut members) = (Vec::new(), BTreeMap::new());
        for (spec, allowed) in specs.iter().zip(&self.allowed) {
            let cluster = Cluster::find(&self.kubeconfig, allowed).await?;
            let machine = Box::new(self.join(&cluster, spec).await?);
            let (authority, token) = (cluster.authority.clone(), cluster.token.clone());
            let (address, path) = (cluster.address, cluster.path.clone());
            started.push(ExternalMember { address, path, authority, token, machine });
            members.insert(spec.name.clone(), cluster);
        }
        *self.members.lock().unwrap_or_else(PoisonError::into_inner) = members;
        Ok(started)
    }

    fn makes_members(&self) -> bool {
        false
    }

    fn simulates(&self) -> bool {
        false
    }

    async fn strike(&self, members: &BTreeSet<String>) -> Result<(), ProviderError> {
        if members.len() > self.max_down {
            let (count, most) = (members.len(), self.max_down);
            let names = members.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(ProviderError(format!(
                "{count} members would have a fault at a time, {names}, and --max-down is {most}"
            )));
        }
        for member in members {
            let cluster = self.members.lock().unwrap_or_else(PoisonError::into_inner).get(member).cloned();
            let cluster =
                cluster.ok_or_else(|| ProviderError(format!("{member} is no cluster that is allowed")))?;
            cluster.confirm().await?;
        }
        Ok(())
    }
}

/// A cluster that the run has claimed.
/// Dropping it removes the objects of the run and releases the cluster.
struct ClaimedCluster {
    journal: Arc<Journal>,
    copies: Copies,
}

#[async_trait]
impl Machine for ClaimedCluster {
    async fn break_down(&self, _how: Breakdown) -> Result<(), ProviderError> {
        let context = &self.copies.context;
        Err(ProviderError(format!("{context} is a cluster that exists: its machines are left alone")))
    }

    async fn mend(&self, _how: Breakdown) -> Result<(), ProviderError> {
        Ok(())
    }
}

impl Drop for ClaimedCluster {
    fn drop(&mut self) {
        let clear = || live(Seed(0), 1.0, |_| async { undo(self.journal.id(), &self.copies).await });
        // The runtime in which this is dropped may be about to end, so it cannot wait.
        let cleared = thread::scope(|scope| scope.spawn(clear).join());
        // Objects that could not be removed stay in the journal, for the next start.
        if cleared.is_ok_and(|cleared| cleared.is_ok_and(|cleared| cleared.is_ok())) {
            self.journal.undone(&Resource::Copies(self.copies.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::{Ipv4Addr, SocketAddr};

    use capsize_clusters::{GivenCredentials, ListeningMember};
    use k8s_openapi::api::core::v1::Namespace;
    use kube::Api;
    use tempfile::TempDir;
    use tokio::io::copy_bidirectional;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::JoinSet;

    use super::*;

    /// A stable address in front of changing servers.
    /// The address is stable, because a port that is released may be taken by another process at once.
    struct Place {
        address: SocketAddr,
        server: Arc<Mutex<SocketAddr>>,
        _task: JoinSet<()>,
    }

    impl Place {
        async fn of(server: &ListeningMember) -> Self {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            let server = Arc::new(Mutex::new(server.listening().address()));
            let behind = Arc::clone(&server);
            let mut task = JoinSet::new();
            task.spawn(async move {
                let mut connections = JoinSet::new();
                loop {
                    let (mut client, _) = listener.accept().await.unwrap();
                    let server = *behind.lock().unwrap();
                    connections.spawn(async move {
                        let mut server = TcpStream::connect(server).await?;
                        copy_bidirectional(&mut client, &mut server).await
                    });
                }
            });
            Self { address, server, _task: task }
        }

        fn is_of(&self, server: &ListeningMember) {
            *self.server.lock().unwrap() = server.listening().address();
        }
    }

    /// Starts a member that has the same keys each time, and a UID that depends on `seed`.
    async fn serve(run: Simulation, seed: u64, keys: &TempDir) -> ListeningMember {
        let path = keys.path().join("keys.json");
        let known = fs::read(&path).ok().map(|text| serde_json::from_slice(&text).unwrap());
        let standing = GivenCredentials { keys: known, ..GivenCredentials::default() };
        let run = Simulation { seed: Seed(seed), ..run };
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let served = ListeningMember::start(run, &MemberSpec::named("m1"), any, standing).await.unwrap();
        fs::write(path, serde_json::to_vec(&served.listening().keys()).unwrap()).unwrap();
        served
    }

    #[test]
    fn a_cluster_that_is_another_by_now_is_not_struck() {
        let folder = TempDir::new().unwrap();
        let ran = live(Seed(1), 1.0, |run| async move {
            let first = serve(run, 1, &folder).await;
            let (kubeconfig, place) = (folder.path().join("kubeconfig"), Place::of(&first).await);
            let (direct, address) = (first.listening().address().to_string(), place.address.to_string());
            fs::write(&kubeconfig, first.listening().kubeconfig().replace(&direct, &address)).unwrap();
            let client = first.listening().client().await.unwrap();
            let namespace = Api::<Namespace>::all(client).get("kube-system").await.unwrap();
            let (context, uid) = ("m1".to_owned(), namespace.metadata.uid.unwrap());
            let existing = ExistingClusters {
                kubeconfig,
                allowed: vec![AllowedCluster { context, uid }],
                max_down: 1,
                label: |_| "of=nobody".into(),
                journal: Arc::new(Journal::begin(folder.path()).unwrap()),
                members: Mutex::default(),
            };
            let _members = existing.start(run, &[MemberSpec::named("m1")]).await.unwrap();
            let one = BTreeSet::from(["m1".to_owned()]);
            existing.strike(&one).await.unwrap();
            first.stop().await;
            // Another cluster takes its place.
            let other = serve(run, 2, &folder).await;
            place.is_of(&other);
            let refused = existing.strike(&one).await.unwrap_err().to_string();
            assert!(refused.contains("m1 is not allowed"), "{refused}");
            other.stop().await;
            let again = serve(run, 1, &folder).await;
            place.is_of(&again);
            existing.strike(&one).await.unwrap();
        });
        ran.unwrap();
    }
}
