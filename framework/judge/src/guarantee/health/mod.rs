//! What is reported of the health of members: HEALTH.

mod agent_silence;
mod never_reported;
mod not_ready;
mod probed_members;
mod remedies;

pub(super) use agent_silence::{Silence, is_cut, is_lossy};
pub(super) use never_reported::NeverHeard;
pub(super) use not_ready::NotReady;
pub(super) use probed_members::{Probed, Recovered, Silent};
pub(super) use remedies::Remedies;
