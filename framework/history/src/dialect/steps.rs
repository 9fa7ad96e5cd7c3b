//! The steps of a scenario in neutral words, and the writes that a dialect makes of them.

use serde_json::{Map, Value};

/// A step in neutral words, for example the creation of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct NeutralStep {
    /// The step.
    pub kind: StepKind,
    /// The fields of the step in the scenario. A field that the scenario leaves out is absent.
    pub fields: Map<String, Value>,
}

/// The steps that a dialect can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    /// A member joins the fleet.
    Join,
    /// A workload is created, with the policy that places it.
    Workload,
    /// The number of replicas of a workload changes.
    Scale,
    /// A person adds a taint to a member.
    Taint,
    /// A person removes a taint from a member.
    Untaint,
    /// A person deletes the object of a member.
    DeleteMember,
}

impl StepKind {
    /// The word in scenarios and in dialects.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Workload => "workload",
            Self::Scale => "scale",
            Self::Taint => "taint",
            Self::Untaint => "untaint",
            Self::DeleteMember => "deleteMember",
        }
    }

    /// The fields that a step may have.
    #[must_use]
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Join => &["member", "heartbeat", "labels", "provider", "region", "zone"],
            Self::Workload => &[
                "name",
                "namespace",
                "replicas",
                "template",
                "clusterScoped",
                "clusters",
                "exclude",
                "fields",
                "groups",
                "min",
                "max",
                "spread",
                "scheduling",
                "tolerations",
            ],
            Self::Scale => &["workload", "namespace", "replicas"],
            Self::Taint | Self::Untaint => &["member", "key", "effect", "now"],
            Self::DeleteMember => &["member"],
        }
    }
}

/// An object that a step changes or deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteTarget {
    /// The API version of the object.
    pub api_version: String,
    /// The plural of the kind.
    pub plural: String,
    /// The namespace, if the object has one.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

/// One write of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum StepWrite {
    /// Create this object.
    Create(Value),
    /// Change an object. The patch follows from its present version.
    Patch {
        /// The object.
        target: WriteTarget,
        /// The place of the write among those of the step.
        place: usize,
    },
    /// Delete an object.
    Delete(WriteTarget),
}

/// Expresses steps as writes of objects of one implementation.
pub trait StepWriter: Send + Sync {
    /// Why the implementation cannot perform the step; `None` if it can.
    fn inexpressible(&self, step: &NeutralStep) -> Option<String>;

    /// The writes that perform the step, in order.
    ///
    /// # Errors
    /// When an expression of the dialect has no value. The text says which, and why.
    fn writes(&self, step: &NeutralStep) -> Result<Vec<StepWrite>, String>;

    /// The merge patch of the write at `place` for the present version of the object.
    ///
    /// # Errors
    /// As for [`Self::writes`].
    fn patch(&self, step: &NeutralStep, place: usize, object: &Value) -> Result<Value, String>;

    /// Returns the full key of a taint.
    /// Scenarios write `not-ready` and `unreachable` for the keys of the implementation.
    fn taint_key(&self, key: &str) -> String;

    /// Returns true if the implementation has a key for this taint.
    /// Scenarios call the taint `not-ready` or `unreachable`.
    fn has_taint_key(&self, key: &str) -> bool;
}
