//! The works of replica sets, and the report on them.

use serde_json::{Value, json};

use super::api::{DECISIONS, REPLICA_SETS, WORKS, condition, is_leaving, list, text, with_condition};
use super::bugs::Bug;
use super::hub::{Hub, HubView, stamp};
use super::placements::chosen;

/// The label that names the replica set of a work.
const OWNER: &str = "work.open-cluster-management.io/manifestworkreplicaset";

impl Hub {
    /// Brings the works of all replica sets to the clusters that are chosen.
    pub(super) async fn distribute(&self, look: &HubView) -> kube::Result<()> {
        let sets = self.server.list(REPLICA_SETS, "").await?;
        for set in &sets {
            self.distribute_one(look, set).await?;
        }
        let owners: Vec<String> = sets.iter().map(owner).collect();
        for work in look.works.iter().filter(|work| !is_leaving(work)) {
            let orphan = !owners.iter().any(|owner| work["metadata"]["labels"][OWNER] == **owner);
            if orphan || look.cluster(text(work, "/metadata/namespace")).is_none() {
                self.remove(work).await?;
            }
        }
        Ok(())
    }

    async fn distribute_one(&self, look: &HubView, set: &Value) -> kube::Result<()> {
        let (namespace, owner) = (text(set, "/metadata/namespace"), owner(set));
        let placement = text(set, "/spec/placementRefs/0/name");
        let decision = self.server.get(DECISIONS, namespace, &format!("{placement}-decision-1")).await?;
        let Some(decision) = decision else { return Ok(()) };
        let wanted = chosen(Some(&decision));
        let template = &set["spec"]["manifestWorkTemplate"];
        let works: Vec<&Value> =
            look.works.iter().filter(|work| work["metadata"]["labels"][OWNER] == *owner).collect();
        let of = |cluster: &str| {
            works
                .iter()
                .copied()
                .find(|work| text(work, "/metadata/namespace") == cluster && !is_leaving(work))
        };
        for cluster in &wanted {
            let spec =
                json!({"workload": template["workload"], "manifestConfigs": template["manifestConfigs"]});
            match of(cluster) {
                Some(work) if work["spec"] == spec => {}
                Some(work) => self.server.patch(WORKS, work, json!({"spec": spec})).await?,
                None => {
                    let labels = json!({OWNER: owner});
                    let name = text(set, "/metadata/name");
                    let metadata = json!({"name": name, "namespace": cluster, "labels": labels});
                    self.server.create(WORKS, json!({"metadata": metadata, "spec": spec})).await?;
                }
            }
        }
        // A copy that can be reached stays until the workload runs elsewhere.
        let runs_elsewhere =
            wanted.iter().all(|cluster| of(cluster).is_some_and(|work| is_ready(work, template)));
        for work in works.iter().filter(|work| !is_leaving(work)) {
            let cluster = text(work, "/metadata/namespace");
            let must_go = match look.is_available(cluster) {
                true => self.has(Bug::RemovesFirst) || runs_elsewhere,
                // The cluster may be chosen again when it is back, and then keeps its copy.
                false => self.has(Bug::ChoosesWhileItDeletes),
            };
            if !wanted.iter().any(|wanted| wanted == cluster) && must_go && !self.has(Bug::KeepsOldCopies) {
                self.remove(work).await?;
            }
        }
        let counts = |cluster: &str| self.has(Bug::CountsLostCopies) || look.is_available(cluster);
        let reached: Vec<&Value> =
            wanted.iter().filter(|cluster| counts(cluster)).filter_map(|cluster| of(cluster)).collect();
        self.report(look, set, (&reached, wanted.len())).await
    }

    /// Reports how many of the chosen clusters have applied the work and run it.
    /// A cluster that is not available is not counted.
    async fn report(
        &self,
        look: &HubView,
        set: &Value,
        (works, total): (&[&Value], usize),
    ) -> kube::Result<()> {
        let template = &set["spec"]["manifestWorkTemplate"];
        let counts =
            |work: &&&Value| condition(work, "Applied") == "True" && !self.has(Bug::NeverReportsApplied);
        let applied = works.iter().filter(counts).count();
        let available = works.iter().filter(|work| is_ready(work, template)).count();
        let all = |count: usize| if count == total && total > 0 { "True" } else { "False" };
        let now = stamp(look.now);
        let mut status = json!({"status": {"conditions": set["status"]["conditions"]}});
        let rolled_out = if self.has(Bug::NeverRollsOut) { "False" } else { all(available) };
        for (kind, holds) in [("ManifestworkApplied", all(applied)), ("PlacementRolledOut", rolled_out)] {
            status["status"]["conditions"] = with_condition(&status, kind, holds, &now);
        }
        status["status"]["summary"] = json!({"total": total, "applied": applied, "available": available});
        self.server.set_status(REPLICA_SETS, set, status["status"].take()).await
    }

    async fn remove(&self, work: &Value) -> kube::Result<()> {
        self.server.delete(WORKS, text(work, "/metadata/namespace"), text(work, "/metadata/name")).await
    }
}

fn owner(set: &Value) -> String {
    format!("{}.{}", text(set, "/metadata/namespace"), text(set, "/metadata/name"))
}

/// Whether a work has applied these manifests, and all their replicas are ready.
fn is_ready(work: &Value, template: &Value) -> bool {
    let wanted = list(template, "/workload/manifests");
    let ready = |manifest: &Value| {
        let replicas = manifest.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
        let reported = list(work, "/status/resourceStatus/manifests").iter();
        let reported = reported.filter(|it| it["resourceMeta"]["name"] == manifest["metadata"]["name"]);
        reported.flat_map(|it| list(it, "/statusFeedback/values")).any(|value| {
            value["name"] == "ReadyReplicas" && value["fieldValue"]["integer"].as_i64() >= Some(replicas)
        })
    };
    condition(work, "Applied") == "True" && wanted.iter().all(ready)
}
