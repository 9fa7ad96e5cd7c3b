//! The dialect of a history, and the choice of the code that folds its entries.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Karmada, Nodes, StepWriter};
use crate::facts::{Fact, Health, World};
use crate::format::{Entry, Object};

/// The dialect of an implementation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum DialectKind {
    /// The dialect of Karmada, in which clusters are the members.
    #[default]
    Karmada,
    /// The dialect of Kubernetes itself, in which nodes are the members.
    Nodes,
    /// A dialect that is data: a file that says how objects are read.
    Data(DataDialect),
}

/// A dialect that is data, by its name. The program is absent until the file has been loaded.
#[derive(Clone)]
pub struct DataDialect {
    name: Arc<str>,
    program: Option<Arc<dyn DialectProgram>>,
}

/// A loaded dialect, which can fold any number of histories.
pub trait DialectProgram: Send + Sync {
    /// The name of the dialect.
    fn name(&self) -> &str;

    /// The text of the file of the dialect.
    fn text(&self) -> &str;

    /// A fold that has observed no entry yet.
    fn fold(&self) -> Box<dyn Fold>;

    /// The API paths that contain the objects of the control plane.
    fn control_plane_paths(&self) -> Vec<String>;

    /// The API paths that contain the objects of members.
    fn member_paths(&self) -> Vec<String>;

    /// The API paths in the control plane of the records of members.
    fn member_record_paths(&self) -> Vec<String>;

    /// The name of the member with this record.
    fn member_name(&self, object: &Object) -> Option<String>;

    /// Returns true if the dialect reads when a member has this health.
    fn reads(&self, health: Health) -> bool;

    /// Returns true if the dialect reads when members renew.
    fn reads_renewals(&self) -> bool;

    /// Expresses the steps of scenarios; absent if the dialect only reads.
    fn step_writer(&self) -> Option<&dyn StepWriter>;
}

/// Folds the entries of a history.
pub trait Fold: Send {
    /// The present state.
    fn world(&self) -> &World;

    /// Takes the next entry, and returns the changes that it makes, in order.
    fn observe(&mut self, entry: &Entry) -> Vec<Fact>;
}

/// The fold of a dialect.
pub struct Dialect(Box<dyn Fold>);

impl DataDialect {
    /// A loaded dialect.
    #[must_use]
    pub fn new(program: Arc<dyn DialectProgram>) -> Self {
        Self { name: program.name().into(), program: Some(program) }
    }

    /// The name of the dialect, or the path of its file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program; absent if the file has not been loaded.
    #[must_use]
    pub fn program(&self) -> Option<&Arc<dyn DialectProgram>> {
        self.program.as_ref()
    }
}

impl fmt::Debug for DataDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for DataDialect {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for DataDialect {}

impl DialectKind {
    /// The program of a dialect that is data, if its file has been loaded.
    #[must_use]
    pub fn program(&self) -> Option<&Arc<dyn DialectProgram>> {
        match self {
            Self::Data(data) => data.program(),
            Self::Karmada | Self::Nodes => None,
        }
    }
}

impl From<String> for DialectKind {
    fn from(name: String) -> Self {
        match name.as_str() {
            "karmada" => Self::Karmada,
            "nodes" => Self::Nodes,
            _ => Self::Data(DataDialect { name: name.into(), program: None }),
        }
    }
}

impl From<DialectKind> for String {
    fn from(kind: DialectKind) -> Self {
        match kind {
            DialectKind::Karmada => "karmada".to_owned(),
            DialectKind::Nodes => "nodes".to_owned(),
            DialectKind::Data(data) => data.name.to_string(),
        }
    }
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dialect")
    }
}

impl Dialect {
    /// A dialect that has observed no entry yet.
    ///
    /// # Panics
    /// If the file of a dialect that is data has not been loaded. Profiles are read together with their dialects.
    #[must_use]
    pub fn new(dialect: &DialectKind) -> Self {
        Self(match dialect {
            DialectKind::Karmada => Box::<Karmada>::default(),
            DialectKind::Nodes => Box::<Nodes>::default(),
            DialectKind::Data(data) => {
                data.program.as_ref().expect("a profile is read together with its dialect").fold()
            }
        })
    }

    /// The present state.
    #[must_use]
    pub fn world(&self) -> &World {
        self.0.world()
    }

    /// Takes the next entry, and returns the changes that it makes, in order.
    pub fn observe(&mut self, entry: &Entry) -> Vec<Fact> {
        self.0.observe(entry)
    }
}
