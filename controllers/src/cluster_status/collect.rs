//! What a healthy member is asked about itself: its release, the kinds that it serves, its nodes and pods.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Node, Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::{Api, Client};

use crate::api::{ApiEnablement, ApiResource, Cluster, ClusterStatus, NodeSummary, ResourceSummary};
use crate::machinery::{Context, Informer};
use crate::rules::{node_summary, resource_summary};

/// Asks one member, and remembers what need not be asked each time.
#[derive(Default)]
pub(crate) struct Collector {
    nodes: Option<Informer<Node>>,
    pods: Option<Informer<Pod>>,
    /// When release and kinds were last asked for, on the run's clock.
    described: Option<Duration>,
}

/// What a member said about itself. `None`: it was not asked, or did not answer, and the last answer holds.
pub(crate) struct Collected {
    version: Option<String>,
    enablements: Option<Vec<ApiEnablement>>,
    nodes: NodeSummary,
    resources: ResourceSummary,
}

impl Collected {
    pub(crate) fn put_into(self, status: &mut ClusterStatus) {
        if let Some(version) = self.version {
            status.kubernetes_version = version;
        }
        if let Some(enablements) = self.enablements {
            status.api_enablements = enablements;
        }
        status.node_summary = Some(self.nodes);
        status.resource_summary = Some(self.resources);
    }
}

impl Collector {
    /// Asks the member. Release and kinds are asked for when it has just become ready, and from time to time.
    pub(crate) async fn collect(
        &mut self,
        context: &Context,
        cluster: &Cluster,
        client: Client,
    ) -> Collected {
        let now = context.clock.elapsed();
        let period = context.settings.api_collection_period;
        let fresh =
            cluster.is_ready() && self.described.is_some_and(|last| now.saturating_sub(last) < period);
        let (mut version, mut enablements) = (None, None);
        if !fresh {
            version = client.apiserver_version().await.ok().map(|info| info.git_version);
            enablements = api_enablements(&client).await.ok();
            self.described = enablements.as_ref().map(|_| now);
        }
        let watch = context.member_watch();
        let nodes =
            self.nodes.get_or_insert_with(|| Informer::start(Api::all(client.clone()), watch.clone(), ()));
        let pods =
            self.pods.get_or_insert_with(|| Informer::lean(Api::all(client), watch, (), forget_the_rest));
        // It matters once only, right after the start, and the lists are no reason to hang.
        let both = async { tokio::join!(nodes.ready(), pods.ready()) };
        let _ = tokio::time::timeout(context.settings.member_client_timeout, both).await;
        let (nodes, pods) = (nodes.list(), pods.list());
        let nodes = nodes.iter().map(AsRef::as_ref);
        Collected {
            version,
            enablements,
            nodes: node_summary(nodes.clone()),
            resources: resource_summary(nodes, pods.iter().map(AsRef::as_ref)),
        }
    }
}

/// Of a pod, only what it takes matters, and a member may have many.
fn forget_the_rest(pod: &mut Pod) {
    pod.metadata.annotations = None;
    pod.metadata.labels = None;
    pod.metadata.managed_fields = None;
    let requests_only = |container: &mut Container| {
        *container = Container {
            name: std::mem::take(&mut container.name),
            resources: container.resources.take(),
            ..Container::default()
        };
    };
    if let Some(spec) = &mut pod.spec {
        spec.containers.iter_mut().for_each(requests_only);
        spec.init_containers.iter_mut().flatten().for_each(requests_only);
        spec.volumes = None;
        spec.affinity = None;
        spec.tolerations = None;
    }
    if let Some(status) = &mut pod.status {
        *status = PodStatus { phase: status.phase.take(), ..PodStatus::default() };
    }
}

/// All kinds that the member serves, by group and version. A list that is not whole is an error: half of it would
/// look as if kinds had been taken away (#7373).
async fn api_enablements(client: &Client) -> kube::Result<Vec<ApiEnablement>> {
    let mut enablements = Vec::new();
    for version in client.list_core_api_versions().await?.versions {
        enablements.push(enablement(client.list_core_api_resources(&version).await?));
    }
    for group in client.list_api_groups().await?.groups {
        for version in group.versions {
            enablements.push(enablement(client.list_api_group_resources(&version.group_version).await?));
        }
    }
    enablements.sort_by(|a, b| a.group_version.cmp(&b.group_version));
    Ok(enablements)
}

fn enablement(list: APIResourceList) -> ApiEnablement {
    let whole = list.resources.into_iter().filter(|resource| !resource.name.contains('/'));
    let mut resources: Vec<_> =
        whole.map(|resource| ApiResource { name: resource.name, kind: resource.kind }).collect();
    resources.sort_by(|a, b| a.name.cmp(&b.name));
    ApiEnablement { group_version: list.group_version, resources }
}
