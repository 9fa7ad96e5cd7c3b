//! The policy of a comparison: which changes between two reports fail it.

use capsize_history::read_yaml;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{Change, ChangeKind};
use capsize_judge::YamlError;

/// Which changes fail a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Policy {
    /// The kinds of changes that fail the comparison.
    pub fail: Vec<ChangeKind>,
    /// Smaller changes of times, in percent, are not reported.
    pub percent: f64,
    /// The changes that are allowed in any case.
    pub allow: Vec<AllowedChange>,
}

/// A change that is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowedChange {
    /// The subject of the change: the id of a guarantee or a case, the name of a feature, or a milestone.
    pub subject: String,
    /// The reason why it is allowed.
    pub reason: String,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            fail: vec![ChangeKind::Looser, ChangeKind::Slower, ChangeKind::Gone],
            percent: 10.0,
            allow: Vec::new(),
        }
    }
}

impl Policy {
    /// Reads the policy in `text`, called `file` in errors.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, Box<YamlError>> {
        read_yaml(text).map_err(|error| Box::new(YamlError::of_yaml(file, text, &error)))
    }

    /// Returns true if `change` fails the comparison.
    #[must_use]
    pub fn fails(&self, change: &Change) -> bool {
        self.fail.contains(&change.kind) && self.allowed(change).is_none()
    }

    /// The reason why `change` is allowed, if the policy names one.
    #[must_use]
    pub fn allowed(&self, change: &Change) -> Option<&str> {
        let allow = self.allow.iter().find(|allowed| allowed.subject == change.subject);
        allow.map(|allowed| allowed.reason.as_str())
    }
}
