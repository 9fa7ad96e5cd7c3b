//! The project behind an implementation, and the deviations that it knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The project that publishes an implementation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Project {
    /// The organization.
    pub organization: String,
    /// The name of the project.
    pub name: String,
    /// The page of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Where questions about a report are answered: names of accounts, addresses of pages or of mail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contact: Vec<String>,
}

/// A guarantee that an implementation is known not to keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnownDeviation {
    /// The id of the guarantee.
    pub guarantee: String,
    /// The reason, as one sentence.
    pub reason: String,
    /// The issue of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
}
