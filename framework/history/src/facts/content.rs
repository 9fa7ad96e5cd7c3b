//! What an object asks for, as far as failover must carry it over: the same of a template, of the manifest made of it, and
//! of the copy in a member.

use std::collections::{BTreeMap, BTreeSet};

/// What an object asks for. What it does not have is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Whether nothing is shown of what it asks for, though its kind asks for something: it was left out of the history.
    pub hidden: bool,
    /// Replicas; of a Job, the pods at a time.
    pub replicas: Option<u64>,
    /// How many pods of a Job must succeed.
    pub completions: Option<u64>,
    /// The images of its containers, in order.
    pub images: Vec<String>,
    /// The images of the containers that run before the others, in order.
    pub init_images: Vec<String>,
    /// Stands for the environment of all containers; absent where none has any.
    pub environment: Option<u64>,
    /// The same of commands and their arguments.
    pub commands: Option<u64>,
    /// The same of the resources that they ask for and are limited to.
    pub resources: Option<u64>,
    /// Stands for the data of what has data.
    pub data: Option<u64>,
    /// Stands for the selector and the ports of a Service.
    pub service: Option<u64>,
    /// Stands for all that an object of a kind asks for that is not Kubernetes' own, beside replicas.
    pub custom: Option<u64>,
    /// Its labels, but for those by which the control plane marks what is its own.
    pub labels: BTreeMap<String, String>,
    /// The labels that it had once and has no more.
    pub dropped: BTreeSet<String>,
    /// Kind and name of what its pods refer to, in the same namespace.
    pub refers_to: BTreeSet<(String, String)>,
    /// Kind and name of the workload that an autoscaler scales, in the same namespace.
    pub scales: Option<(String, String)>,
}

/// A template in the control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// What it asks for.
    pub content: Content,
    /// Whether it is being deleted.
    pub leaving: bool,
    /// The ready replicas of its status; absent where it has none.
    pub ready: Option<u64>,
    /// The policy that it belongs to, by its marks; empty where there are none.
    pub policy: String,
}

impl Content {
    /// What `present` asks for in another way, beside replicas, in words: what it has, and what it should have.
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

    /// The first label that `present` lacks, has otherwise, or has still.
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

    /// Notes which labels it had as it `was` and has no more.
    pub fn drops_labels_of(&mut self, was: &Self) {
        let had = was.labels.keys().chain(&was.dropped);
        let gone: BTreeSet<String> = had.filter(|key| !self.labels.contains_key(*key)).cloned().collect();
        self.dropped = gone;
    }
}
