//! The dialect of a history, and the choice of the code that folds its entries.

use serde::{Deserialize, Serialize};

use super::{Karmada, Nodes};
use crate::facts::{Fact, World};
use crate::format::Entry;

/// The dialect of an implementation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DialectKind {
    /// The dialect of Karmada, in which clusters are the members.
    #[default]
    Karmada,
    /// The dialect of Kubernetes itself, in which nodes are the members.
    Nodes,
}

/// Folds the entries of a history.
#[derive(Debug)]
pub enum Dialect {
    /// The entries come from Karmada, or from anything that serves the API of Karmada.
    Karmada(Box<Karmada>),
    /// The entries come from a cluster with nodes.
    Nodes(Box<Nodes>),
}

impl Dialect {
    /// A dialect that has observed no entry yet.
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

    /// Takes the next entry, and returns the changes that it makes, in order.
    pub fn observe(&mut self, entry: &Entry) -> Vec<Fact> {
        match self {
            Self::Karmada(karmada) => karmada.observe(entry),
            Self::Nodes(nodes) => nodes.observe(entry),
        }
    }
}
