//! The manifests of a campaign: an Indexed Job, and the objects that its pods need.

use serde_json::{Value, json};

use super::store::is_bucket;
use crate::exit::CommandError;
use miette::miette;

/// The folder of the profile in a pod.
const PROFILE_FOLDER: &str = "/etc/capsize";

/// The file of the profile in that folder.
const PROFILE_FILE: &str = "target.yaml";

/// How often the pod of an index is started again, before the index counts as failed.
const RETRIES: u64 = 3;

/// The user of the image of a release.
const USER: u64 = 65532;

/// The options of the objects of a campaign.
pub(super) struct Manifests<'a> {
    pub(super) name: &'a str,
    pub(super) image: &'a str,
    pub(super) completions: u64,
    pub(super) parallelism: u64,
    pub(super) jobs: usize,
    pub(super) seeds: String,
    pub(super) style: String,
    /// The target, and the text of its profile if it is a file.
    pub(super) target: &'a str,
    pub(super) profile: Option<String>,
    pub(super) store: &'a str,
    pub(super) claim: Option<&'a str>,
    pub(super) secret: Option<&'a str>,
}

impl Manifests<'_> {
    /// The objects, in the order in which they are created.
    pub(super) fn objects(&self) -> Vec<Value> {
        let mut objects = Vec::new();
        if is_bucket(self.store) {
            // Clouds give the account access to the bucket.
            let metadata = self.metadata(self.name);
            objects.push(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}));
        }
        if let Some(profile) = &self.profile {
            objects.push(json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": self.metadata(&self.profile_name()),
                "data": {PROFILE_FILE: profile},
            }));
        }
        objects.push(json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": self.metadata(self.name),
            "spec": self.job(),
        }));
        objects
    }

    fn metadata(&self, name: &str) -> Value {
        json!({"name": name, "labels": self.labels()})
    }

    fn labels(&self) -> Value {
        json!({"app.kubernetes.io/name": "capsize", "app.kubernetes.io/instance": self.name})
    }

    fn profile_name(&self) -> String {
        format!("{}-target", self.name)
    }

    /// A pod that is lost is started again. A slice in which a seed failed, or with wrong input, would end the same way again.
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
            "template": {"metadata": {"labels": self.labels()}, "spec": self.pod()},
        })
    }

    fn pod(&self) -> Value {
        let (volumes, mounts) = self.volumes();
        let mut container = json!({
            "name": "capsize",
            "image": self.image,
            "args": self.arguments(),
            "resources": {"requests": {"cpu": self.jobs.to_string(), "memory": "512Mi"}},
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            },
        });
        // An empty list would look like a change each time that kubectl applies the manifests.
        if let Some(secret) = self.secret {
            container["envFrom"] = json!([{"secretRef": {"name": secret}}]);
        }
        if !mounts.is_empty() {
            container["volumeMounts"] = mounts.into();
        }
        let mut pod = json!({
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
        });
        if !volumes.is_empty() {
            pod["volumes"] = volumes.into();
        }
        if is_bucket(self.store) {
            pod["serviceAccountName"] = self.name.into();
        }
        pod
    }

    /// The arguments of `capsize` in each pod. The index of the slice is in the environment.
    fn arguments(&self) -> Vec<String> {
        let profile = format!("{PROFILE_FOLDER}/{PROFILE_FILE}");
        let target = if self.profile.is_some() { &profile } else { self.target };
        let options = [
            ("--seeds", self.seeds.clone()),
            ("--style", self.style.clone()),
            ("--target", target.to_owned()),
            ("--jobs", self.jobs.to_string()),
            ("--completions", self.completions.to_string()),
            ("--store", self.store.to_owned()),
        ];
        let options = options.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
        ["chaos".to_owned()].into_iter().chain(options).collect()
    }

    /// The volumes, and where they are mounted.
    fn volumes(&self) -> (Vec<Value>, Vec<Value>) {
        let (mut volumes, mut mounts) = (Vec::new(), Vec::new());
        if let Some(claim) = self.claim {
            volumes.push(json!({"name": "store", "persistentVolumeClaim": {"claimName": claim}}));
            mounts.push(json!({"name": "store", "mountPath": self.store}));
        }
        if self.profile.is_some() {
            volumes.push(json!({"name": "target", "configMap": {"name": self.profile_name()}}));
            mounts.push(json!({"name": "target", "mountPath": PROFILE_FOLDER, "readOnly": true}));
        }
        (volumes, mounts)
    }
}

/// The objects as the documents of one YAML file, for kubectl.
pub(super) fn yaml(objects: &[Value]) -> Result<String, CommandError> {
    let mut text = String::new();
    for object in objects {
        let document = serde_saphyr::to_string(object);
        let document = document.map_err(|error| CommandError::Environment(miette!("{error}")))?;
        text.push_str("---\n");
        text.push_str(&document);
    }
    Ok(text)
}
