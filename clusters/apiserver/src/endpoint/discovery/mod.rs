//! Discovery: the served groups, versions and resources, in the old form and in the aggregated form.

mod aggregated;
mod answer;
mod documents;
mod groups;
mod resources;

pub(crate) use answer::{answer, deprecation, unknown};
pub(crate) use documents::Documents;
pub(crate) use resources::{Resource, Subresource, built_in_resources, resources};
