//! Collects the version, the served kinds, the nodes and the pods of a healthy member.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::{Api, Client};

use crate::api::{
    ApiEnablement, ApiResource, CONDITION_COMPLETE_APIS, Cluster, ClusterStatus, NodeSummary, ResourceModel,
    ResourceSummary, is_true, set_condition,
};
use crate::machinery::{Context, Discovery, Informer};
use crate::rules::{MemberPod, modelings, node_summary, resource_summary};

/// Collects from one member, and keeps what need not be requested each time.
#[derive(Default)]
pub(crate) struct Collector {
    nodes: Option<Informer<Node>>,
    pods: Option<Informer<MemberPod>>,
    /// When version and kinds were last requested, on the run's clock.
    discovered_at: Option<Duration>,
    discovery: Discovery,
    served: Option<Arc<ServedApis>>,
    last_summary: Option<(SummaryInputs, Arc<Summary>)>,
}

/// The inputs of a summary: how often the nodes and the pods have changed, and the models.
type SummaryInputs = (u64, u64, Vec<ResourceModel>);

/// The nodes and the resources of a member.
#[derive(PartialEq)]
struct Summary {
    nodes: NodeSummary,
    resources: ResourceSummary,
}

/// The collected data of a member.
/// `None`: it was not requested or not answered, and the last answer stays.
#[derive(PartialEq)]
pub(crate) struct MemberData {
    version: Option<String>,
    served: Option<Arc<ServedApis>>,
    summary: Arc<Summary>,
}

/// The result of discovery.
#[derive(PartialEq)]
struct ServedApis {
    enablements: Vec<ApiEnablement>,
    /// Whether every request was answered.
    is_complete: bool,
}

impl MemberData {
    /// Writes the collected data into a status.
    /// An incomplete answer does not replace present enablements, because kinds would seem to have been removed
    /// (#7373). The condition reports the incomplete answer all the same.
    pub(crate) fn write_into(&self, context: &Context, status: &mut ClusterStatus) {
        if let Some(version) = &self.version {
            status.kubernetes_version.clone_from(version);
        }
        if let Some(ServedApis { enablements, is_complete }) = self.served.as_deref() {
            let (complete, reason, message) = context.rules.complete_apis(enablements.len(), *is_complete);
            let now = context.clock.now_in_seconds();
            set_condition(&mut status.conditions, CONDITION_COMPLETE_APIS, complete, reason, &message, now);
            if context.rules.replaces_enablements(complete, status.api_enablements.len()) {
                status.api_enablements.clone_from(enablements);
            }
        }
        status.node_summary = Some(self.summary.nodes.clone());
        status.resource_summary = Some(self.summary.resources.clone());
    }
}

impl Collector {
    /// Collects from the member.
    /// Version and kinds are requested when the member has just become ready, while the kinds are not completely known,
    /// and once in each collection period.
    pub(crate) async fn collect(
        &mut self,
        context: &Context,
        cluster: &Cluster,
        client: Client,
    ) -> MemberData {
        let now = context.clock.elapsed();
        let period = context.settings.api_collection_period;
        let recent = self.discovered_at.is_some_and(|last| now.saturating_sub(last) < period);
        let fresh = cluster.is_ready() && lists_all_apis(cluster) && recent;
        let (mut version, mut served) = (None, None);
        if !fresh {
            version = client.apiserver_version().await.ok().map(|info| info.git_version);
            if let Some(found) = discover(&mut self.discovery, &client).await {
                self.served = Some(Arc::new(found));
            }
            served.clone_from(&self.served);
            self.discovered_at = served.as_ref().is_some_and(|served| served.is_complete).then_some(now);
        }
        let watch = context.member_watch();
        let nodes =
            self.nodes.get_or_insert_with(|| Informer::start(Api::all(client.clone()), watch.clone()));
        let pods = self.pods.get_or_insert_with(|| {
            let kind = kube::api::ApiResource::erase::<Pod>(&());
            Informer::start_of_kind(Api::all_with(client, &kind), watch, &kind, |_| ())
        });
        // Only the first collection has to wait for the lists, and a silent member must not stall it.
        let both = async { tokio::join!(nodes.ready(), pods.ready()) };
        let _ = tokio::time::timeout(context.member_timeout(), both).await;
        let seen = (nodes.change_count(), pods.change_count(), cluster.spec.resource_models.clone());
        let known = self.last_summary.take().filter(|(before, _)| *before == seen);
        let (seen, summary) = known.unwrap_or_else(|| {
            let models = context.settings.gates.customized_cluster_resource_modeling.then_some(&*seen.2);
            let summary = Arc::new(Summary::of(&nodes.list(), &pods.list(), models));
            (seen, summary)
        });
        self.last_summary = Some((seen, Arc::clone(&summary)));
        MemberData { version, served, summary }
    }
}

impl Summary {
    /// Sums up nodes and pods, and grades the nodes where there are models.
    fn of(nodes: &[Arc<Node>], pods: &[Arc<MemberPod>], models: Option<&[ResourceModel]>) -> Self {
        let (nodes, pods) = (nodes.iter().map(AsRef::as_ref), pods.iter().map(AsRef::as_ref));
        let mut resources = resource_summary(nodes.clone(), pods.clone());
        if let Some(models) = models {
            resources.allocatable_modelings = modelings(models, nodes.clone(), pods);
        }
        Self { nodes: node_summary(nodes), resources }
    }
}

/// Whether the condition says that all served kinds are listed; others may have removed the condition.
fn lists_all_apis(cluster: &Cluster) -> bool {
    cluster.status.as_ref().is_some_and(|status| is_true(&status.conditions, CONDITION_COMPLETE_APIS))
}

/// The kinds that the member serves, by group and version; `None` if they are the same as before.
async fn discover(discovery: &mut Discovery, client: &Client) -> Option<ServedApis> {
    let served = discovery.changed(client).await?;
    let lists = served.groups.into_values().flatten();
    let mut enablements: Vec<_> = lists.map(enablement).collect();
    enablements.sort_by(|a, b| a.group_version.cmp(&b.group_version));
    Some(ServedApis { enablements, is_complete: served.is_complete })
}

fn enablement(list: APIResourceList) -> ApiEnablement {
    let without_parts = list.resources.into_iter().filter(|resource| !resource.name.contains('/'));
    let mut resources: Vec<_> =
        without_parts.map(|resource| ApiResource { name: resource.name, kind: resource.kind }).collect();
    resources.sort_by(|a, b| a.name.cmp(&b.name));
    ApiEnablement { group_version: list.group_version, resources }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};
    use tower::service_fn;

    use super::*;

    /// A member that serves `v1`, `apps/v1` and `batch/v1`, and does not answer at the path `silent_at`.
    fn member(silent_at: &'static str) -> Client {
        let resources = |version: &str, name: &str, kind: &str| {
            let part = format!("{name}/status");
            let resource = |name: &str| json!({"name": name, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["get"]});
            json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version,
                "resources": [resource(name), resource(&part)]})
        };
        let group = |name: &str| {
            let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
            json!({"name": name, "versions": [version], "preferredVersion": version})
        };
        let answer = move |path: &str| -> Option<Value> {
            Some(match path {
                _ if path == silent_at => return None,
                "/api" => {
                    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
                }
                "/apis" => {
                    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group("batch"), group("apps")]})
                }
                "/api/v1" => resources("v1", "pods", "Pod"),
                "/apis/apps/v1" => resources("apps/v1", "deployments", "Deployment"),
                "/apis/batch/v1" => resources("batch/v1", "jobs", "Job"),
                _ => return None,
            })
        };
        let service = service_fn(move |request: Request<Body>| {
            let answer = answer(request.uri().path());
            let status = if answer.is_some() { 200 } else { 503 };
            let body = Body::from(answer.unwrap_or_default().to_string().into_bytes());
            async move { Ok::<_, Infallible>(Response::builder().status(status).body(body).unwrap()) }
        });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn an_unanswered_request_leaves_a_gap_that_is_reported() {
        let cases: [(&str, &[&str], bool); 5] = [
            ("", &["apps/v1", "batch/v1", "v1"], true),
            ("/apis/apps/v1", &["batch/v1", "v1"], false),
            ("/api/v1", &["apps/v1", "batch/v1"], false),
            ("/api", &["apps/v1", "batch/v1"], false),
            ("/apis", &["v1"], false),
        ];
        for (silent_at, expected, is_complete) in cases {
            let served = discover(&mut Discovery::default(), &member(silent_at)).await.unwrap();
            let versions: Vec<_> =
                served.enablements.iter().map(|enablement| enablement.group_version.as_str()).collect();
            assert_eq!((versions.as_slice(), served.is_complete), (expected, is_complete), "{silent_at}");
            assert!(served.enablements.iter().all(|enablement| enablement.resources.len() == 1));
        }
    }
}
