//! Runs that are killed while they start processes.

use std::time::Duration;

use super::support::{assets, folders, run};
use crate::stage::kills;

/// The time after which runs have created everything.
const ALL_MADE: Duration = Duration::from_secs(6);

pub(crate) fn leave_nothing() {
    let stage = kills::waiting();
    let made = || folders(&stage).iter().map(|folder| folder.display().to_string()).collect();
    kills::leave_nothing(&stage, ALL_MADE, || run(&stage, &assets().unwrap()), made);
}
