//! Discovery: which groups, versions and resources are served, in the old form and in the aggregated one.

mod aggregated;
mod answer;
mod groups;
mod resources;

pub(crate) use aggregated::Documents;
pub(crate) use answer::{answer, deprecation, unknown};
pub(crate) use resources::{Resource, Subresource, built_in_resources, resources};
