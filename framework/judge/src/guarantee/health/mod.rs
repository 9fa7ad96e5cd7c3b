//! The guarantees about the reported health of members: HEALTH.

mod agent_silence;
mod clocks_set_back;
mod never_reported;
mod not_ready;
mod probed_members;
mod remedies;
mod renewals;

pub(super) use agent_silence::{UnknownAfterAgentSilence, is_cut};
pub(super) use clocks_set_back::ClocksSetBack;
pub(super) use never_reported::UnknownAfterStartupGrace;
pub(super) use not_ready::NotReadyAfterFailureThreshold;
pub(super) use probed_members::{
    ProbedMemberIsNeverUnknown, ReadyAfterSuccessThreshold, StatusUnchangedWhileNotReady,
};
pub(super) use remedies::RemediesAreKept;
pub(super) use renewals::{ReadyMemberStaysReady, UnknownAfterLastRenewal};
