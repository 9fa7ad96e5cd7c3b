//! The steps of a scenario.
//! A verb in the imperative acts (`refuse`, `taint`). A participle or an adjective waits for a state, and fails the
//! case if the state does not come (`tainted`, `placed`, `ready`).
//!
//! Steps are externally tagged enums: in that form every YAML error has its exact position.

use std::num::NonZeroU32;

use capsize_clusters::Direction;
use capsize_history::FileValue;
use schemars::JsonSchema;
use serde::Deserialize;

use super::api_faults::{Cut, Fail, Slow};
use super::breakdown::Down;
use super::cluster::{Condition, Pods, Silence, Skew, TaintedNodes};
use super::document::Workload;
use super::expectations::{
    Departure, Health, Instance, MemberGone, NotTainted, Placed, Settled, Stay, Tainted, TaskEnded,
};
use super::fault_windows::{Calm, Window};
use super::member_ref::{MemberRef, Victims};
use super::object::{Apply, Delete, Rejected, Seen, SeenFor};
use super::time::{Length, StartUpTime, Within};
use capsize_history::facts::TaintEffect;

/// One step.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = super::schema::or_node_steps)]
pub enum Step {
    /// Creates a workload and its policy.
    Workload(Box<Workload>),
    /// Changes the number of replicas of a workload.
    Scale(Scale),
    /// Creates an override policy for a workload in some members.
    Override(Override),
    /// Creates a Remedy, which requests actions for members, or changes it.
    Remedy(Remedy),
    /// Defines an alias of a member for later steps.
    Call(Call),
    /// Makes a member refuse connections from the control plane.
    Refuse(Refuse),
    /// Drops the packets between a member and the control plane.
    Partition(Partition),
    /// Delays every message between a member and the control plane.
    Delay(Delay),
    /// Disturbs the connection to a member, or its API server, in another way.
    Disturb(Disturb),
    /// Breaks the machine of a member, if the member has one of its own.
    Down(Down),
    /// Begins to make a member unreachable and reachable in turn, while later steps run. `heal` ends it.
    Flap(Flap),
    /// Undoes every fault on a member, or on all members of a region, zone or provider.
    Heal(FileValue<Victims>),
    /// Kills the controllers of the target, as a crash does.
    Kill(FileValue<Component>),
    /// Starts the controllers again.
    Start(FileValue<Component>),
    /// Stops the controllers, and starts those of another release over the same state.
    Upgrade(Upgrade),
    /// Begins and ends faults at their times, and returns when the last one has ended.
    Faults(Vec<FileValue<Window>>),
    /// Performs a step, and continues even if the step fails.
    Perhaps(Box<FileValue<Step>>),
    /// Waits for a length of time.
    Wait(Length),
    /// Adds a taint to a member, as a user does.
    Taint(Taint),
    /// Removes a taint from a member, as a user does.
    Untaint(Taint),
    /// Lets a member join that is not part of the fleet at the beginning.
    Join(FileValue<MemberRef>),
    /// Deletes the object of a member, as a user does.
    #[serde(alias = "deleteNode")]
    DeleteMember(FileValue<MemberRef>),
    /// Sets how long replicas in a member take to become ready from now on.
    StartUp(StartUp),
    /// Applies an object, as a user does.
    Apply(Box<Apply>),
    /// Applies an object, as a user does, and expects that the API server refuses the object.
    Rejected(Box<Rejected>),
    /// Deletes an object, as a user does.
    Delete(Box<Delete>),
    /// Creates pods in a cluster with nodes.
    Pods(Box<Pods>),
    /// Stops the heartbeats of nodes.
    Silence(Silence),
    /// Shuts nodes down in good order: their pods end, and then the kubelets send no heartbeats.
    ShutDown(Silence),
    /// Makes the kubelets of nodes report a problem.
    Condition(Condition),
    /// Sets the clocks of nodes wrong.
    Skew(Skew),

    /// Waits until an object exists and contains the given fields.
    Seen(Box<Seen>),
    /// Waits until no such object contains the given fields.
    Unseen(Box<Seen>),
    /// Fails if, during this time, an object does not exist or does not contain the given fields.
    SeenFor(Box<SeenFor>),
    /// Fails if, during this time, such an object contains the given fields.
    UnseenFor(Box<SeenFor>),
    /// Waits until a workload is settled: no eviction is in progress, and every assigned member runs it.
    Settled(Settled),
    /// Waits until the control plane reports that a member is ready, or is not.
    Health(Health),
    /// Waits until a member has a taint.
    Tainted(Tainted),
    /// Waits until a member does not have a taint.
    Untainted(Tainted),
    /// Fails if, during this time, a member has a taint.
    NotTainted(NotTainted),
    /// Waits until a number of nodes have a taint, or fails if the number does not hold during a time.
    TaintedNodes(Box<TaintedNodes>),
    /// Waits until a workload is no longer assigned to a member.
    Evicted(Departure),
    /// Fails if, during this time, a workload loses its assignment to a member.
    NotEvicted(Stay),
    /// Waits until a workload is assigned to the given members.
    Placed(Placed),
    /// Waits until all replicas of a workload are ready in a member, as the member itself reports.
    Ready(Instance),
    /// Waits until a member runs a workload with a given image.
    Runs(Runs),
    /// Waits until the eviction of a workload from a member has ended.
    TaskEnded(TaskEnded),
    /// Fails if the copy of a workload in a member does not stay during this time.
    /// The copy does not stay if the control plane gives it up, or if the copy is gone.
    Kept(Stay),
    /// Waits until the control plane has given up the copy of a workload in a member, and the copy is gone.
    Gone(Departure),
    /// Waits until the whole fleet is at rest and stays at rest.
    /// Every member is ready and free of taints then. Every workload is settled, and no copy is left over.
    Calm(Calm),
    /// Waits until the deleted object of a member is gone.
    #[serde(alias = "nodeGone")]
    MemberGone(MemberGone),
}

impl Step {
    /// The step itself, or the step inside `perhaps`.
    #[must_use]
    pub fn inner(&self) -> &Self {
        match self {
            Self::Perhaps(step) => step.value.inner(),
            step => step,
        }
    }
}

/// The program that `kill` and `start` refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Component {
    /// The controllers of the control plane, and the agents of members in pull mode.
    Controllers,
}

/// `upgrade`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Upgrade {
    /// The program.
    pub what: Component,
    /// The release whose behaviour the target has before; other targets skip the case.
    pub from: String,
    /// The release whose behaviour the target has afterwards.
    pub to: String,
}

/// `scale`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scale {
    /// The workload.
    pub workload: FileValue<String>,
    /// The new number of replicas.
    pub to: u32,
}

/// `override`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Override {
    /// The workload.
    pub workload: FileValue<String>,
    /// The members.
    pub clusters: Vec<FileValue<MemberRef>>,
    /// The tag of the image there.
    pub image_tag: String,
}

/// `remedy`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Remedy {
    /// The name.
    pub name: FileValue<String>,
    /// The members; all members if absent.
    pub clusters: Option<Vec<FileValue<MemberRef>>>,
    /// The condition of a member under which the actions are needed; always if absent.
    pub when: Option<ConditionStatus>,
    /// The actions, such as `TrafficControl`.
    pub actions: Vec<String>,
}

/// A condition and its status.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConditionStatus {
    /// The type of the condition, such as `Ready`.
    pub condition: String,
    /// The status: `True`, `False` or `Unknown`.
    pub is: String,
}

/// `runs`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Runs {
    /// The workload.
    pub workload: FileValue<String>,
    /// The member.
    pub on: FileValue<MemberRef>,
    /// The tag of the image.
    pub image_tag: String,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `call`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = super::schema::or_node)]
pub struct Call {
    /// The member.
    #[serde(alias = "node")]
    pub member: FileValue<MemberRef>,
    /// The alias for later steps.
    #[serde(rename = "as")]
    pub alias: FileValue<String>,
}

/// `refuse`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Refuse {
    /// The member or members.
    pub cluster: FileValue<Victims>,
    /// An alias of the member for later steps, if it is one.
    #[serde(rename = "as")]
    pub alias: Option<FileValue<String>>,
}

/// `partition`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = super::schema::or_node)]
pub struct Partition {
    /// The member or members.
    #[serde(alias = "node")]
    pub cluster: FileValue<Victims>,
    /// The direction in which packets are dropped; both by default.
    #[serde(default = "both")]
    pub direction: Direction,
    /// An alias of the member for later steps, if it is one.
    #[serde(rename = "as")]
    pub alias: Option<FileValue<String>>,
}

fn both() -> Direction {
    Direction::Both
}

/// `delay`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delay {
    /// The member or members.
    pub cluster: FileValue<Victims>,
    /// By how much each message is delayed, in each direction.
    pub by: Length,
    /// An alias of the member for later steps, if it is one.
    #[serde(rename = "as")]
    pub alias: Option<FileValue<String>>,
}

/// `disturb`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Disturb {
    /// The member or members.
    pub cluster: FileValue<Victims>,
    /// The kind of fault.
    pub by: FileValue<ConnectionFault>,
    /// An alias of the member for later steps, if it is one.
    #[serde(rename = "as")]
    pub alias: Option<FileValue<String>>,
}

/// A fault of the connection to a member, of its API server, or of its agent.
/// The fault is not a full outage.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ConnectionFault {
    /// Each message is delayed by up to this.
    Jitter(Length),
    /// This many bytes per second pass in each direction.
    Bandwidth(NonZeroU32),
    /// Open connections are reset once.
    Cut,
    /// This percentage of new connections is reset.
    Lose(u8),
    /// New connections are refused, and open ones continue.
    RefuseNew,
    /// New connections get no answer, and open ones continue.
    DropNew,
    /// Open connections lose their other end without notice, and new ones work.
    HalfOpen,
    /// The API server of the member answers some requests of the control plane with an error.
    Fail(Fail),
    /// The API server of the member is slow.
    Slow(Slow),
    /// The watches of the control plane on the member end early.
    CutWatches(Cut),
    /// The API server of the member refuses the agent in the member, and nobody else.
    OwnApi,
    /// The agent in the member is killed, and is started again at the end.
    AgentDown,
}

impl ConnectionFault {
    /// Returns true if the fault is one of the agent in a member, or of its way to the API server there.
    #[must_use]
    pub fn is_of_agent(&self) -> bool {
        matches!(self, Self::OwnApi | Self::AgentDown)
    }

    /// Returns true if the fault is one of the API server, and not of the connection.
    #[must_use]
    pub fn is_of_server(&self) -> bool {
        matches!(self, Self::Fail(_) | Self::Slow(_) | Self::CutWatches(_))
    }
}

/// `flap`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = super::schema::or_node)]
pub struct Flap {
    /// The member.
    #[serde(alias = "node")]
    pub cluster: FileValue<MemberRef>,
    /// How long the member is unreachable each time.
    pub down: Length,
    /// How long the member is reachable after each time.
    pub up: Length,
    /// How many times.
    pub times: FileValue<u32>,
    /// An alias of the member for later steps.
    #[serde(rename = "as")]
    pub alias: Option<FileValue<String>>,
}

/// `taint` and `untaint`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = super::schema::or_node)]
pub struct Taint {
    /// The member.
    #[serde(alias = "node")]
    pub cluster: FileValue<MemberRef>,
    /// The key of the taint; `not-ready` and `unreachable` mean the target's own health taints.
    pub key: String,
    /// The effect of the taint.
    pub effect: TaintEffect,
    /// An alias of the member for later steps.
    #[serde(rename = "as")]
    pub alias: Option<FileValue<String>>,
}

/// `startUp`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartUp {
    /// The member.
    pub cluster: FileValue<MemberRef>,
    /// The time, or `never`.
    pub takes: StartUpTime,
}
