//! The manifests of a campaign: an Indexed Job, and the objects that its pods need.

use serde_json::{Value, json};

use super::store::is_bucket;
use crate::pods::{Pods, Volume};

/// How often the pod of an index is started again, before the index counts as failed.
const RETRIES: u64 = 3;

/// The options of the objects of a campaign.
pub(super) struct Manifests<'a> {
    pub(super) pods: Pods<'a>,
    pub(super) completions: u64,
    pub(super) parallelism: u64,
    pub(super) jobs: usize,
    pub(super) seeds: String,
    pub(super) style: String,
    pub(super) store: &'a str,
    pub(super) claim: Option<&'a str>,
    pub(super) secret: Option<&'a str>,
}

impl Manifests<'_> {
    /// The objects, in the order in which they are created.
    pub(super) fn objects(&self) -> Vec<Value> {
        let metadata = self.pods.metadata(self.pods.name);
        let mut objects = Vec::new();
        if is_bucket(self.store) {
            // Clouds give the account access to the bucket.
            objects.push(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}));
        }
        objects.extend(self.pods.profile_object());
        objects
            .push(json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": self.job()}));
        objects
    }

    /// A pod that is lost is started again.
    /// A slice in which a seed failed, or with wrong input, would end the same way again.
    fn job(&self) -> Value {
        json!({
            "completionMode": "Indexed",
            "completions": self.completions,
            "parallelism": self.parallelism,
            "backoffLimitPerIndex": RETRIES,
            "podFailurePolicy": {"rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                {
                    "action": "FailIndex",
                    "onExitCodes": {"containerName": "capsize", "operator": "In", "values": [1, 2]},
                },
            ]},
            "template": {"metadata": {"labels": self.pods.labels()}, "spec": self.pod()},
        })
    }

    fn pod(&self) -> Value {
        let store = self.claim.map(|claim| Volume {
            source: json!({"persistentVolumeClaim": {"claimName": claim}}),
            name: "store",
            path: self.store.to_owned(),
            is_read_only: false,
        });
        let mut pod = self.pods.spec(&self.arguments(), store.into_iter().collect());
        pod["restartPolicy"] = "Never".into();
        if is_bucket(self.store) {
            pod["serviceAccountName"] = self.pods.name.into();
        }
        let container = &mut pod["containers"][0];
        container["resources"] = json!({"requests": {"cpu": self.jobs.to_string(), "memory": "512Mi"}});
        if let Some(secret) = self.secret {
            container["envFrom"] = json!([{"secretRef": {"name": secret}}]);
        }
        pod
    }

    /// The arguments of `capsize` in each pod. The index of the slice is in the environment.
    fn arguments(&self) -> Vec<String> {
        let options = [
            ("--seeds", self.seeds.clone()),
            ("--style", self.style.clone()),
            ("--target", self.pods.target_argument()),
            ("--jobs", self.jobs.to_string()),
            ("--completions", self.completions.to_string()),
            ("--store", self.store.to_owned()),
        ];
        let options = options.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
        ["chaos".to_owned()].into_iter().chain(options).collect()
    }
}
