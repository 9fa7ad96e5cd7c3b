//! Chooses the rules of a built-in kind.

use serde_json::Value;

use super::At;
use super::{batch, cluster, network, pod, pod_update, workload};
use crate::http::failure::Cause;
use crate::kind::kinds::Kind;

/// The problems of an object of a built-in kind; `old` is the object that it replaces.
pub(crate) fn problems(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (at, causes_of) = (At::root(object), &mut causes);
    match (&*kind.group, &*kind.plural) {
        ("", "pods") => match old {
            None => pod::created(&at, causes_of),
            Some(old) => pod_update::updated(&at, old, causes_of),
        },
        ("", "podtemplates") => pod::template(&at.field("template"), causes_of),
        ("apps", "deployments") => workload::deployment(&at, old, causes_of),
        ("apps", "replicasets") => workload::replica_set(&at, old, causes_of),
        ("", "replicationcontrollers") => workload::replication_controller(&at, causes_of),
        ("apps", "statefulsets") => workload::stateful_set(&at, old, causes_of),
        ("apps", "daemonsets") => workload::daemon_set(&at, old, causes_of),
        ("apps", "controllerrevisions") => workload::controller_revision(&at, old, causes_of),
        ("batch", "jobs") => batch::job(&at, old, causes_of),
        ("batch", "cronjobs") => batch::cron_job(&at, causes_of),
        ("autoscaling", _) => batch::scaler(&at, causes_of),
        ("policy", "poddisruptionbudgets") => batch::budget(&at, causes_of),
        ("", "nodes") => cluster::node(&at, old, causes_of),
        ("", "configmaps") => cluster::config_map(&at, old, causes_of),
        ("", "secrets") => cluster::secret(&at, old, causes_of),
        ("", "persistentvolumeclaims") => cluster::claim(&at, old, causes_of),
        ("", "persistentvolumes") => cluster::volume(&at, causes_of),
        ("", "events") => cluster::event(&at, "involvedObject", causes_of),
        ("events.k8s.io", "events") => cluster::event_of_events_group(&at, old, causes_of),
        ("coordination.k8s.io", "leases") => cluster::lease(&at, causes_of),
        ("scheduling.k8s.io", "priorityclasses") => cluster::priority_class(&at, old, causes_of),
        ("storage.k8s.io", "storageclasses") => cluster::storage_class(&at, old, causes_of),
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => {
            cluster::role(&at, kind.traits.namespaced, causes_of);
        }
        ("rbac.authorization.k8s.io", _) => cluster::binding(&at, old, causes_of),
        ("", "services") => network::service(&at, old, causes_of),
        ("", "endpoints") => network::endpoints(&at, causes_of),
        ("discovery.k8s.io", "endpointslices") => network::endpoint_slice(&at, old, causes_of),
        ("networking.k8s.io", "ingresses") => network::ingress(&at, causes_of),
        ("networking.k8s.io", "networkpolicies") => network::policy(&at, causes_of),
        _ => {}
    }
    causes
}
