//! Discovery: the served groups, versions and resources, in the old form and in the aggregated form.

mod aggregated;
mod documents;
mod groups;
mod other_paths;
mod resources;

pub(crate) use documents::Documents;
pub(crate) use other_paths::{answer, deprecation, unknown};
pub(crate) use resources::{Resource, Subresource, built_in_resources, resources};
