//! `faults`: disturbances that begin and end while others do, and `calm`, which waits until nothing is left of them.
//!
//! Each is undone when its time is over. What a disturbance does to a fleet is left to [`crate::run`].

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::api_faults::{Conflict, Crash, Cut, Fail, Repeat, Slow, WatchLag};
use super::clock_skew::ClockSkew;
use super::cluster::{Condition, Silence};
use super::expectations::{Departure, Tainted};
use super::member_ref::{MemberRef, Victims};
use super::object::{Apply, Delete};
use super::step::{Component, Delay, Disturb, Partition, Refuse, Scale, StartUp, Taint};
use super::time::{Length, Within};

/// One element of `faults`: what is wrong, from when, for how long.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Window {
    /// What must hold first, where it is not the step's beginning that counts. What does not come to hold while others
    /// are still in force never strikes.
    pub after: Option<Spanned<Trigger>>,
    /// How long after that it begins.
    #[serde(default = "at_once")]
    pub at: Length,
    /// How long it lasts.
    #[serde(rename = "for")]
    pub lasts: Length,
    /// What it is.
    pub fault: Spanned<Disturbance>,
}

fn at_once() -> Length {
    Length::Fixed(std::time::Duration::ZERO)
}

/// What can be wrong for a while. The words are those of the steps that bring the same about for good.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Disturbance {
    /// Members refuse connections.
    Refuse(Refuse),
    /// Packets vanish.
    Partition(Partition),
    /// Messages are late.
    Delay(Delay),
    /// The way is bad in other ways.
    Disturb(Disturb),
    /// Nothing is heard of nodes.
    Silence(Silence),
    /// The kubelets of nodes say that something is wrong.
    Condition(Condition),
    /// The clocks of nodes, of members or of the control plane are wrong.
    Skew(ClockSkew),
    /// The target's controllers are dead.
    Kill(Spanned<Component>),
    /// A member has a taint that a person put there.
    Taint(Taint),
    /// Replicas in a member take another time to become ready.
    StartUp(StartUp),
    /// A workload wants another number of replicas.
    Scale(Scale),
    /// An object is other than before, or is there and was not.
    Apply(Box<Apply>),
    /// An object is not there.
    Delete(Box<Delete>),
    /// A member is not in the fleet.
    DeleteMember(Spanned<MemberRef>),
    /// The control plane's API server answers some requests of the controllers with an error.
    Fail(Fail),
    /// Some writes of the controllers meet others.
    Conflict(Conflict),
    /// The control plane's API server takes its time.
    Slow(Slow),
    /// What the controllers watch comes late, so that they see an old past.
    Lag(WatchLag),
    /// What the controllers watch breaks off.
    Cut(Cut),
    /// Some of what the controllers watch comes twice.
    Repeat(Repeat),
    /// Who lists what there is, as controllers do when they start, is shown what there was when it began.
    Stale(Spanned<Component>),
    /// The controllers die of a write, and are dead for the rest of the time.
    Crash(Crash),
    /// Others of the same kind work beside the controllers: two leaders.
    Rival(Spanned<Component>),
    /// In the end, the API servers of members come back with what they held when it began.
    Restore(DataLoss),
    /// The machines of members have no power, and come back with nothing.
    Wipe(DataLoss),
}

/// `restore` and `wipe`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DataLoss {
    /// Whom it strikes.
    pub cluster: Spanned<Victims>,
}

/// What a window may wait for. The words are those of the steps that wait for the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Trigger {
    /// A member has a taint.
    Tainted(Tainted),
    /// A workload is no longer assigned to a member.
    Evicted(Departure),
}

/// `calm`: nothing is wrong any more, and nothing is left of what was.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Calm {
    /// How long to wait for it.
    #[serde(default)]
    pub within: Within,
    /// For how long it must then last.
    #[serde(rename = "for")]
    pub lasts: Length,
}

impl Disturbance {
    /// The kind, as the step of the same name.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Refuse(_) => "refuse",
            Self::Partition(_) => "partition",
            Self::Delay(_) => "delay",
            Self::Disturb(_) => "disturb",
            Self::Silence(_) => "silence",
            Self::Condition(_) => "condition",
            Self::Skew(_) => "skew",
            Self::Kill(_) => "kill",
            Self::Taint(_) => "taint",
            Self::StartUp(_) => "startUp",
            Self::Scale(_) => "scale",
            Self::Apply(_) => "apply",
            Self::Delete(_) => "delete",
            Self::DeleteMember(_) => "deleteMember",
            Self::Fail(_) => "fail",
            Self::Conflict(_) => "conflict",
            Self::Slow(_) => "slow",
            Self::Lag(_) => "lag",
            Self::Cut(_) => "cut",
            Self::Repeat(_) => "repeat",
            Self::Stale(_) => "stale",
            Self::Crash(_) => "crash",
            Self::Rival(_) => "rival",
            Self::Restore(_) => "restore",
            Self::Wipe(_) => "wipe",
        }
    }

    /// The name that later steps were to know its member by. There are no later steps while it is in force.
    pub(super) fn alias(&self) -> Option<&Spanned<String>> {
        match self {
            Self::Refuse(Refuse { alias, .. })
            | Self::Partition(Partition { alias, .. })
            | Self::Delay(Delay { alias, .. })
            | Self::Disturb(Disturb { alias, .. })
            | Self::Silence(Silence { alias, .. })
            | Self::Condition(Condition { alias, .. })
            | Self::Skew(ClockSkew { alias, .. })
            | Self::Taint(Taint { alias, .. }) => alias.as_ref(),
            _ => None,
        }
    }
}

impl Trigger {
    /// The member that it is about, and the workload, if it is about one.
    pub(crate) fn about(&self) -> (&Spanned<MemberRef>, Option<&Spanned<String>>) {
        match self {
            Self::Tainted(tainted) => (&tainted.cluster, None),
            Self::Evicted(moved) => (&moved.from, Some(&moved.workload)),
        }
    }
}
