//! The content that failover must preserve: the same in a template, a manifest, and a copy.

use std::collections::{BTreeMap, BTreeSet};

use capsize_sorted::CollectSorted;

/// The content of an object. Fields that the object does not have are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Whether the recorder left out the content of the object, though its kind always has content.
    pub hidden: bool,
    /// The replicas; for a Job, the pods that run at a time.
    pub replicas: Option<u64>,
    /// How many pods of a Job must succeed.
    pub completions: Option<u64>,
    /// The images of its containers, in order.
    pub images: Vec<String>,
    /// The images of the init containers, in order.
    pub init_images: Vec<String>,
    /// A digest of the environment of all containers; absent if no container has an environment.
    pub environment: Option<u64>,
    /// A digest of the commands and arguments; absent if no container has any.
    pub commands: Option<u64>,
    /// A digest of the places and the identity of its pods; absent without any.
    /// These are the node selector, the service account and the names of the volumes.
    pub pods: Option<u64>,
    /// A digest of the requests and limits; absent if no container has any.
    pub resources: Option<u64>,
    /// A digest of the data of a `ConfigMap` or a Secret.
    pub data: Option<u64>,
    /// A digest of the selector and the ports of a Service.
    pub service: Option<u64>,
    /// How many addresses the manifest of an `EndpointSlice` has; zero for other kinds.
    pub addresses: usize,
    /// A digest of the specification without replicas, for kinds that do not belong to Kubernetes.
    pub custom: Option<u64>,
    /// The labels without the marks of the control plane.
    pub labels: BTreeMap<String, String>,
    /// The labels that the object had once and has no more.
    pub dropped: BTreeSet<String>,
    /// Kind and name of the objects that its pods refer to, in the same namespace.
    pub refers_to: BTreeSet<(String, String)>,
    /// Kind and name of the workload that an autoscaler scales, in the same namespace.
    pub scales: Option<(String, String)>,
}

/// A template in the control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// The content of the template.
    pub content: Content,
    /// Whether it is being deleted.
    pub leaving: bool,
    /// Whether its deletion leaves behind the objects that it owns.
    pub orphans: bool,
    /// The ready replicas of its status; absent where it has none.
    pub ready: Option<u64>,
    /// The replicas of any version, the updated replicas and the available ones of its status.
    /// Each is absent where the status does not have it.
    pub counts: [Option<u64>; 3],
    /// The policy that owns the template, by its marks; empty if there are none.
    pub policy: String,
}

impl Content {
    /// Returns the first difference of `present` from `self` in words, apart from replicas.
    /// The two texts are the present value and the required value.
    #[must_use]
    pub fn difference(&self, present: &Self) -> Option<(String, String)> {
        if self.hidden || present.hidden {
            return None;
        }
        let count =
            |completions: Option<u64>| completions.map_or("none".to_owned(), |count| count.to_string());
        if self.completions.is_some() && self.completions != present.completions {
            let completions = |content: &Self| format!("completions: {}", count(content.completions));
            return Some((completions(present), completions(self)));
        }
        if self.images != present.images {
            let images = |content: &Self| format!("images: {}", content.images.join(", "));
            return Some((images(present), images(self)));
        }
        if self.init_images != present.init_images {
            let images =
                |content: &Self| format!("images of init containers: {}", content.init_images.join(", "));
            return Some((images(present), images(self)));
        }
        let aspects = [
            (self.environment != present.environment, "environment"),
            (self.commands != present.commands, "commands"),
            (self.resources != present.resources, "resources"),
            (self.pods != present.pods, "node selector, service account or volumes"),
            (self.data.is_some() && self.data != present.data, "data"),
            (self.service.is_some() && self.service != present.service, "selector and ports"),
            (
                self.custom.is_some() && present.custom.is_some() && self.custom != present.custom,
                "specification",
            ),
        ];
        if let Some((_, what)) = aspects.into_iter().find(|(differs, _)| *differs) {
            return Some((format!("other {what}"), format!("its {what}")));
        }
        self.label(present)
    }

    /// The first label that `present` lacks, has with another value, or has still.
    fn label(&self, present: &Self) -> Option<(String, String)> {
        let wrong = self.labels.iter().find(|(key, value)| present.labels.get(*key) != Some(value));
        if let Some((key, value)) = wrong {
            let is =
                present.labels.get(key).map_or("no label".to_owned(), |is| format!("the label {is} for"));
            return Some((format!("{is} {key}"), format!("the label {key}: {value}")));
        }
        let stays = self.dropped.iter().find(|key| present.labels.contains_key(*key))?;
        Some((format!("still the label {stays}"), format!("no label {stays}")))
    }

    /// Notes which labels the object had in the version `was` and has no more.
    pub fn drops_labels_of(&mut self, was: &Self) {
        let had = was.labels.keys().chain(&was.dropped);
        let gone: BTreeSet<String> =
            had.filter(|key| !self.labels.contains_key(*key)).cloned().collect_sorted();
        self.dropped = gone;
    }
}
