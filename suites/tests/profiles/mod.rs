//! Chooses the profile for a scenario that is not a part of the suite.

use capsize::targets;
use capsize_judge::profile::{Feature, Profile};
use capsize_runner::scenario::Case;

/// The shipped profile of the reference on which a scenario runs.
/// A folder may have the name of the profile.
pub(crate) fn profile_of(case: &Case) -> Profile {
    let name = match &case.scenario {
        _ if case.group.starts_with("reference-") => &case.group,
        scenario if scenario.features.contains(&Feature::WaitsForRoom) => "reference-1.19",
        scenario if scenario.cluster.is_none() => "reference",
        scenario if scenario.features.contains(&Feature::DrainsAfterTimeout) => "reference-nodes-1.16-drains",
        _ => "reference-nodes",
    };
    targets::find(name).unwrap()
}
