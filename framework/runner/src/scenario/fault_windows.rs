//! The step `faults` with faults that begin and end by themselves, and the step `calm`.
//! Each fault is undone at its end. Performing the faults is left to [`crate::run`].

use capsize_history::FileValue;
use schemars::JsonSchema;
use serde::Deserialize;

use super::api_faults::{Conflict, Crash, Cut, Fail, Repeat, Slow, WatchLag};
use super::clock_skew::ClockSkew;
use super::cluster::{Condition, Silence};
use super::expectations::{Departure, Tainted};
use super::member_ref::{MemberRef, Victims};
use super::object::{Apply, Delete};
use super::step::{Component, Delay, Disturb, Partition, Refuse, Scale, StartUp, Taint};
use super::time::{Length, Within};

/// One element of `faults`: a fault with its beginning and its duration.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Window {
    /// The condition that starts the window; the beginning of the step if absent.
    /// The fault never begins if all others have ended before the condition is met.
    pub after: Option<FileValue<Trigger>>,
    /// How long after that the fault begins.
    #[serde(default = "at_once")]
    pub at: Length,
    /// How long the fault lasts.
    #[serde(rename = "for")]
    pub lasts: Length,
    /// The fault.
    pub fault: FileValue<Disturbance>,
}

fn at_once() -> Length {
    Length::Fixed(std::time::Duration::ZERO)
}

/// A fault that lasts for a while. The words are those of the steps that cause the same for good.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Disturbance {
    /// Members refuse connections.
    Refuse(Refuse),
    /// Packets between members and the control plane are dropped.
    Partition(Partition),
    /// Messages between members and the control plane are delayed.
    Delay(Delay),
    /// The connection to members, or their API server, has another fault.
    Disturb(Disturb),
    /// Nodes send no heartbeats.
    Silence(Silence),
    /// The kubelets of nodes report a problem.
    Condition(Condition),
    /// The clocks of nodes, of members or of the control plane are wrong.
    Skew(ClockSkew),
    /// The controllers of the target are dead.
    Kill(FileValue<Component>),
    /// A member has a taint that a user added.
    Taint(Taint),
    /// Replicas in a member take a different time to become ready.
    StartUp(StartUp),
    /// A workload wants a different number of replicas.
    Scale(Scale),
    /// An object is changed or created.
    Apply(Box<Apply>),
    /// An object is deleted.
    Delete(Box<Delete>),
    /// The object of a member is deleted.
    DeleteMember(FileValue<MemberRef>),
    /// The API server of the control plane answers some requests of the controllers with an error.
    Fail(Fail),
    /// Some writes of the controllers conflict with others.
    Conflict(Conflict),
    /// The API server of the control plane is slow.
    Slow(Slow),
    /// The watch events of the controllers are delayed, so that they act on an old state.
    Lag(WatchLag),
    /// The watches of the controllers end early.
    Cut(Cut),
    /// Some watch events of the controllers are repeated.
    Repeat(Repeat),
    /// Lists, as controllers request them at their start, show the state at the beginning of the fault.
    Stale(FileValue<Component>),
    /// The controllers crash at a write, and stay dead for the rest of the window.
    Crash(Crash),
    /// A second set of controllers works beside the first: two leaders.
    Rival(FileValue<Component>),
    /// At the end, the API servers of members are restored to their state at the beginning.
    Restore(DataLoss),
    /// The machines of members lose power, and return without any data.
    Wipe(DataLoss),
}

/// `restore` and `wipe`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DataLoss {
    /// The member or members that lose data.
    pub cluster: FileValue<Victims>,
}

/// The condition that starts a window. The words are those of the steps that wait for the same.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Trigger {
    /// A member has a taint.
    Tainted(Tainted),
    /// A workload is no longer assigned to a member.
    Evicted(Departure),
}

/// `calm`: every member and workload is at rest, and nothing is left over.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Calm {
    /// How long to wait for that.
    #[serde(default)]
    pub within: Within,
    /// How long it must last then.
    #[serde(rename = "for")]
    pub lasts: Length,
}

impl Disturbance {
    /// The word of the fault in the file, which is also the word of the step that causes the same.
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

    /// The alias that the fault would define. No later step runs while the fault is in force.
    pub(super) fn alias(&self) -> Option<&FileValue<String>> {
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
    /// The member of the condition, and its workload if it has one.
    pub(crate) fn about(&self) -> (&FileValue<MemberRef>, Option<&FileValue<String>>) {
        match self {
            Self::Tainted(tainted) => (&tainted.cluster, None),
            Self::Evicted(moved) => (&moved.from, Some(&moved.workload)),
        }
    }
}
