//! The decisions of placements.

use std::cmp::Reverse;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::api::{DECISIONS, PLACEMENTS, is_leaving, list, text, with_condition};
use super::bugs::Bug;
use super::hub::{Hub, HubView, stamp};

/// Whether a placement may use a cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// No workload may be there.
    Never,
    /// A workload that is there may stay.
    Stay,
    /// Workloads may come, if there is no better cluster.
    Unwanted,
    /// Workloads may come.
    Free,
}

impl Hub {
    /// Decides for one placement.
    pub(super) async fn place(&self, look: &mut HubView, placement: &Value) -> kube::Result<()> {
        let (namespace, name) = (text(placement, "/metadata/namespace"), text(placement, "/metadata/name"));
        let decision_name = format!("{name}-decision-1");
        let decision = self.server.get(DECISIONS, namespace, &decision_name).await?;
        let before: Vec<String> = chosen(decision.as_ref());
        let names: Vec<String> =
            look.clusters.iter().map(|each| text(each, "/metadata/name").into()).collect();
        let uses: Vec<Use> = names.iter().map(|name| self.usefulness(look, placement, name)).collect();
        let use_of =
            |name: &String| names.iter().position(|each| each == name).map_or(Use::Never, |at| uses[at]);
        // If no cluster is available, the hub itself is cut off: it then decides nothing.
        let decides = self.has(Bug::EvictsFromAll) || names.iter().any(|name| look.is_available(name));
        let mut after = before.clone();
        if decides {
            after.retain(|name| use_of(name) != Use::Never);
            let most = placement.pointer("/spec/numberOfClusters").and_then(Value::as_u64);
            let most = most.map_or(names.len(), |most| usize::try_from(most).unwrap_or(usize::MAX));
            let mut free: Vec<&String> = names
                .iter()
                .filter(|name| use_of(name) >= Use::Unwanted && !after.contains(name))
                // A copy that is still there would be deleted after the cluster is chosen again.
                .filter(|name| self.has(Bug::ChoosesWhileItDeletes) || !is_being_left(look, placement, name))
                .collect();
            free.sort_by_key(|name| Reverse(use_of(name)));
            after
                .extend(free.into_iter().take(most.saturating_sub(after.len())).cloned().collect::<Vec<_>>());
            after.sort();
        }
        let decisions: Vec<Value> =
            after.iter().map(|name| json!({"clusterName": name, "reason": ""})).collect();
        let Some(decision) = decision else {
            let labels = json!({"cluster.open-cluster-management.io/placement": name});
            let metadata = json!({"name": decision_name, "namespace": namespace, "labels": labels});
            self.server.create(DECISIONS, json!({"metadata": metadata})).await?;
            look.again_at(look.now + SignedDuration::from_millis(1));
            return Ok(());
        };
        self.server.set_status(DECISIONS, &decision, json!({"decisions": decisions})).await?;
        let satisfied = if after.is_empty() { "False" } else { "True" };
        let conditions = with_condition(placement, "PlacementSatisfied", satisfied, &stamp(look.now));
        let status = json!({"conditions": conditions, "numberOfSelectedClusters": after.len()});
        self.server.set_status(PLACEMENTS, placement, status).await
    }

    /// Whether the placement may use a cluster now. The look is repeated when that changes by time alone.
    fn usefulness(&self, look: &mut HubView, placement: &Value, name: &str) -> Use {
        let Some(cluster) = look.cluster(name).cloned() else { return Use::Never };
        if is_leaving(&cluster) || !admits(placement, &cluster) {
            return Use::Never;
        }
        let chooses_lost = self.has(Bug::ChoosesLostMembers);
        let mut most = if look.is_available(name) || chooses_lost { Use::Free } else { Use::Stay };
        for taint in list(&cluster, "/spec/taints") {
            let tolerated_until = tolerated_until(placement, taint);
            let is_tolerated = tolerated_until.is_some_and(|until| look.now < until);
            tolerated_until.into_iter().for_each(|until| look.again_at(until));
            most = most.min(match (text(taint, "/effect"), is_tolerated) {
                // A cluster that fails is no new home, even if its taint is tolerated for a while.
                ("NoSelect", true) if tolerated_until != Some(Timestamp::MAX) && !chooses_lost => Use::Stay,
                (_, true) => Use::Free,
                ("NoSelect", false) if !self.has(Bug::NeverEvicts) => Use::Never,
                ("NoSelect", false) => Use::Stay,
                ("NoSelectIfNew", false) => Use::Stay,
                _ => Use::Unwanted,
            });
        }
        most
    }
}

/// The clusters of a decision.
pub(super) fn chosen(decision: Option<&Value>) -> Vec<String> {
    let chosen = decision.map(|decision| list(decision, "/status/decisions")).unwrap_or_default();
    chosen.iter().map(|each| text(each, "/clusterName").to_owned()).collect()
}

/// Whether a work of this placement is being deleted from a cluster.
fn is_being_left(look: &HubView, placement: &Value, cluster: &str) -> bool {
    let name = text(placement, "/metadata/name");
    look.works.iter().any(|work| {
        text(work, "/metadata/namespace") == cluster
            && text(work, "/metadata/name") == name
            && is_leaving(work)
    })
}

/// Whether a cluster has the labels that the placement asks for.
fn admits(placement: &Value, cluster: &Value) -> bool {
    let selectors = list(placement, "/spec/predicates");
    selectors.iter().all(|selector| {
        let matches = list(selector, "/requiredClusterSelector/labelSelector/matchExpressions");
        matches.iter().all(|each| {
            let label = &cluster["metadata"]["labels"][text(each, "/key")];
            list(each, "/values").contains(label) == (each["operator"] == "In")
        })
    })
}

/// Until when a placement tolerates a taint; `None` if it does not.
fn tolerated_until(placement: &Value, taint: &Value) -> Option<Timestamp> {
    let mut tolerations = list(placement, "/spec/tolerations").iter();
    let toleration = tolerations.find(|each| each["key"].is_null() || each["key"] == taint["key"])?;
    let Some(seconds) = toleration["tolerationSeconds"].as_i64() else { return Some(Timestamp::MAX) };
    let added: Timestamp = text(taint, "/timeAdded").parse().ok()?;
    Some(added + SignedDuration::from_secs(seconds))
}
