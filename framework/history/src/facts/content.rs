//! What an object asks for, as far as failover must carry it over: the same of a template, of the manifest made of it, and
//! of the copy in a member.

use std::collections::BTreeSet;

/// What an object asks for. What it does not have is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Replicas; of a Job, the pods at a time.
    pub replicas: Option<u64>,
    /// How many pods of a Job must succeed.
    pub completions: Option<u64>,
    /// The images of its containers, in order.
    pub images: Vec<String>,
    /// Stands for the data of what has data.
    pub data: Option<u64>,
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
    /// The policy that it belongs to, by its marks; empty where there are none.
    pub policy: String,
}

impl Content {
    /// What `present` asks for in another way, beside replicas, in words: what it has, and what it should have.
    #[must_use]
    pub fn difference(&self, present: &Self) -> Option<(String, String)> {
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
        let other = self.data.is_some() && self.data != present.data;
        other.then(|| ("other data".to_owned(), "its data".to_owned()))
    }
}
