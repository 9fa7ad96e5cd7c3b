//! The parts that manifests of pods with `capsize` have in common.

use serde_json::{Value, json};

use crate::exit::{CommandError, environment_error, input_error};
use crate::targets;

/// The folder of the profile in a pod.
const PROFILE_FOLDER: &str = "/etc/capsize";

/// The file of the profile in that folder.
const PROFILE_FILE: &str = "target.yaml";

/// The user of the image of a release.
const USER: u64 = 65532;

/// The pods that run `capsize` for one purpose, and the objects that they need.
pub(crate) struct Pods<'a> {
    /// The name of all objects.
    pub(crate) name: &'a str,
    pub(crate) image: &'a str,
    /// The target, and the text of its profile if it is a file.
    pub(crate) target: &'a str,
    pub(crate) profile: Option<String>,
}

/// A volume, and where it is mounted.
pub(crate) struct Volume {
    /// The volume without its name.
    pub(crate) source: Value,
    pub(crate) name: &'static str,
    pub(crate) path: String,
    pub(crate) is_read_only: bool,
}

/// The text of the profile of `target`, if it is a file of the user.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn profile_file(target: &str) -> Result<Option<String>, CommandError> {
    if !targets::is_file(target) {
        return Ok(None);
    }
    let text = std::fs::read_to_string(target);
    text.map(Some).map_err(|error| input_error!("{target}: {error}"))
}

impl Pods<'_> {
    /// The metadata of an object called `name`.
    pub(crate) fn metadata(&self, name: &str) -> Value {
        json!({"name": name, "labels": self.labels()})
    }

    /// The labels of all objects.
    pub(crate) fn labels(&self) -> Value {
        labels(self.name)
    }

    fn profile_name(&self) -> String {
        format!("{}-target", self.name)
    }

    /// The `ConfigMap` with the profile, if it is a file.
    pub(crate) fn profile_object(&self) -> Option<Value> {
        let profile = self.profile.as_ref()?;
        Some(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": self.metadata(&self.profile_name()),
            "data": {PROFILE_FILE: profile},
        }))
    }

    /// The argument of `--target` in the pods.
    pub(crate) fn target_argument(&self) -> String {
        match self.profile {
            Some(_) => format!("{PROFILE_FOLDER}/{PROFILE_FILE}"),
            None => self.target.to_owned(),
        }
    }

    /// Returns the spec of a pod that runs `capsize` with `arguments`.
    /// The pod has no privileges, and it has the volume of the profile.
    pub(crate) fn spec(&self, arguments: &[String], volumes: Vec<Volume>) -> Value {
        let profile = self.profile.as_ref().map(|_| Volume {
            source: json!({"configMap": {"name": self.profile_name()}}),
            name: "target",
            path: PROFILE_FOLDER.to_owned(),
            is_read_only: true,
        });
        let volumes: Vec<Volume> = volumes.into_iter().chain(profile).collect();
        let mut container = json!({
            "name": "capsize",
            "image": self.image,
            "args": arguments,
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            },
        });
        let mut spec = json!({
            "automountServiceAccountToken": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        });
        // An empty list would look like a change each time that kubectl applies the manifests.
        if !volumes.is_empty() {
            container["volumeMounts"] = volumes.iter().map(Volume::mount).collect();
            spec["volumes"] = volumes.into_iter().map(Volume::volume).collect();
        }
        spec["containers"] = json!([container]);
        spec
    }
}

impl Volume {
    fn mount(&self) -> Value {
        let mut mount = json!({"name": self.name, "mountPath": self.path});
        if self.is_read_only {
            mount["readOnly"] = true.into();
        }
        mount
    }

    fn volume(mut self) -> Value {
        self.source["name"] = self.name.into();
        self.source
    }
}

/// The labels of the objects of one purpose.
pub(crate) fn labels(instance: &str) -> Value {
    json!({"app.kubernetes.io/name": "capsize", "app.kubernetes.io/instance": instance})
}

/// The objects as the documents of one YAML file, for kubectl.
///
/// # Errors
/// When an object cannot be written as YAML.
pub(crate) fn yaml(objects: &[Value]) -> Result<String, CommandError> {
    let mut text = String::new();
    for object in objects {
        let document = serde_saphyr::to_string(object);
        let document = document.map_err(|error| environment_error!("{error}"))?;
        text.push_str("---\n");
        text.push_str(&document);
    }
    Ok(text)
}
