//! Which dialect a history is told in.

use serde::{Deserialize, Serialize};

use super::{Karmada, Nodes};
use crate::facts::{Fact, World};
use crate::format::Entry;

/// The dialect that an implementation speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DialectKind {
    /// Karmada's: clusters are the members.
    #[default]
    Karmada,
    /// Kubernetes' own: nodes are the members.
    Nodes,
}

/// Folds the entries of a history.
#[derive(Debug)]
pub enum Dialect {
    /// Of Karmada, or of anything that speaks its API.
    Karmada(Box<Karmada>),
    /// Of a cluster with nodes.
    Nodes(Box<Nodes>),
}

impl Dialect {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(dialect: DialectKind) -> Self {
        match dialect {
            DialectKind::Karmada => Self::Karmada(Box::default()),
            DialectKind::Nodes => Self::Nodes(Box::default()),
        }
    }

    /// The present state.
    #[must_use]
    pub fn world(&self) -> &World {
        match self {
            Self::Karmada(karmada) => karmada.world(),
            Self::Nodes(nodes) => nodes.world(),
        }
    }

    /// Takes the next entry, and answers with what it changed, in order.
    pub fn observe(&mut self, entry: &Entry) -> Vec<Fact> {
        match self {
            Self::Karmada(karmada) => karmada.observe(entry),
            Self::Nodes(nodes) => nodes.observe(entry),
        }
    }
}
