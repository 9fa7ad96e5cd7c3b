//! The steps of a scenario. A verb in the imperative does something (`refuse`, `taint`); a participle or an
//! adjective waits until something holds, or fails the case (`tainted`, `placed`, `ready`).
//!
//! Steps are externally tagged: the one shape of an enum in which every YAML error has its exact position.

use std::num::NonZeroU32;

use capsize_clusters::Direction;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::api_faults::{Cut, Fail, Slow};
use super::breakdown::Down;
use super::cluster::{Condition, Pods, Silence, Skew, TaintedNodes};
use super::document::Workload;
use super::expectations::{
    Departure, Health, Instance, MemberGone, NotTainted, Placed, Settled, Stay, Tainted, TaskEnded,
};
use super::fault_windows::{Calm, Window};
use super::member_ref::{MemberRef, Victims};
use super::object::{Apply, Delete, Seen, SeenFor};
use super::time::{Length, StartUpTime, Within};
use capsize_history::facts::TaintEffect;

/// One step.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Step {
    /// Creates a workload and its policy.
    Workload(Box<Workload>),
    /// Changes how many replicas a workload wants.
    Scale(Scale),
    /// Makes a workload different in some members.
    Override(Override),
    /// Gives a member a name for later steps.
    Call(Call),
    /// Makes a member refuse connections from the control plane.
    Refuse(Refuse),
    /// Makes packets between a member and the control plane vanish.
    Partition(Partition),
    /// Makes every message between a member and the control plane late.
    Delay(Delay),
    /// Makes the way between a member and the control plane bad in other ways.
    Disturb(Disturb),
    /// Lets the machine of a member break down, where it has one of its own.
    Down(Down),
    /// Begins to make a member refuse connections and heal, several times, while later steps run. `heal` ends it.
    Flap(Flap),
    /// Undoes every fault on a member, or on all of a region, zone or provider.
    Heal(Spanned<Victims>),
    /// Kills the target's controllers, as a crash does.
    Kill(Spanned<Component>),
    /// Starts them again.
    Start(Spanned<Component>),
    /// Lets disturbances come and go, and ends when the last has gone.
    Faults(Vec<Spanned<Window>>),
    /// Does or waits as a step says, and goes on whatever comes of it.
    Perhaps(Box<Spanned<Step>>),
    /// Lets time pass.
    Wait(Length),
    /// A person adds a taint to a member.
    Taint(Taint),
    /// A person removes a taint from a member.
    Untaint(Taint),
    /// A person deletes a member's object.
    #[serde(alias = "deleteNode")]
    DeleteMember(Spanned<MemberRef>),
    /// From now on, replicas in a member take this long to become ready.
    StartUp(StartUp),
    /// A person applies an object.
    Apply(Box<Apply>),
    /// A person deletes an object.
    Delete(Box<Delete>),
    /// Makes pods that run in a cluster with nodes.
    Pods(Box<Pods>),
    /// Stops the kubelets of nodes, or cuts them off: nothing is heard of them.
    Silence(Silence),
    /// Makes the kubelets of nodes say that something is wrong with them.
    Condition(Condition),
    /// Makes the clocks of nodes wrong.
    Skew(Skew),

    /// Waits until an object is there and contains what is said.
    Seen(Box<Seen>),
    /// Waits until no such object contains what is said.
    Unseen(Box<Seen>),
    /// Fails if, while this time passes, an object is not there or does not contain what is said.
    SeenFor(Box<SeenFor>),
    /// Fails if, while this time passes, such an object contains what is said.
    UnseenFor(Box<SeenFor>),
    /// Waits until a workload is where it wants to be: no eviction goes on, and every assigned member runs it.
    Settled(Settled),
    /// Waits until the control plane holds a member for ready, or not.
    Health(Health),
    /// Waits until a member has a taint.
    Tainted(Tainted),
    /// Waits until a member has no such taint.
    Untainted(Tainted),
    /// Fails if, while this time passes, a member has such a taint.
    NotTainted(NotTainted),
    /// Waits until so many nodes have a taint, or fails if so many have not while this time passes.
    TaintedNodes(Box<TaintedNodes>),
    /// Waits until a workload is no longer assigned to a member.
    Evicted(Departure),
    /// Fails if, while this time passes, a workload loses its assignment to a member.
    NotEvicted(Stay),
    /// Waits until a workload is assigned as said.
    Placed(Placed),
    /// Waits until all of a workload's replicas are ready in a member, as the member itself sees it.
    Ready(Instance),
    /// Waits until a member runs a workload from an image.
    Runs(Runs),
    /// Waits until the eviction of a workload from a member has ended.
    TaskEnded(TaskEnded),
    /// Fails if, while this time passes, a member's copy of a workload is given up by the control plane or gone.
    Kept(Stay),
    /// Waits until the control plane has given up a member's copy of a workload, and the member has it no more.
    Gone(Departure),
    /// Waits until the whole fleet is at rest and stays so: every member ready and free of taints, every workload settled,
    /// and nothing left where it does not belong.
    Calm(Calm),
    /// Waits until a deleted member's object is gone.
    #[serde(alias = "nodeGone")]
    MemberGone(MemberGone),
}

impl Step {
    /// Itself, or what it is to do perhaps.
    #[must_use]
    pub fn inner(&self) -> &Self {
        match self {
            Self::Perhaps(step) => step.value.inner(),
            step => step,
        }
    }
}

/// `kill` and `start`: who.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Component {
    /// The controllers of the control plane, and the agents of members that have one.
    Controllers,
}

/// `scale`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scale {
    /// Which workload.
    pub workload: Spanned<String>,
    /// How many replicas it wants from now on.
    pub to: u32,
}

/// `override`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Override {
    /// Which workload.
    pub workload: Spanned<String>,
    /// In which members.
    pub clusters: Vec<Spanned<MemberRef>>,
    /// The tag of its image there.
    pub image_tag: String,
}

/// `runs`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Runs {
    /// Which workload.
    pub workload: Spanned<String>,
    /// In which member.
    pub on: Spanned<MemberRef>,
    /// The tag of the image that it runs.
    pub image_tag: String,
    /// How long to wait.
    #[serde(default)]
    pub within: Within,
}

/// `call`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Call {
    /// Which member.
    #[serde(alias = "node")]
    pub member: Spanned<MemberRef>,
    /// Its name for later steps.
    #[serde(rename = "as")]
    pub alias: Spanned<String>,
}

/// `refuse`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Refuse {
    /// Which member, or which members.
    pub cluster: Spanned<Victims>,
    /// The name for later steps, of one member.
    #[serde(rename = "as")]
    pub alias: Option<Spanned<String>>,
}

/// `partition`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Partition {
    /// Which member, or which members.
    #[serde(alias = "node")]
    pub cluster: Spanned<Victims>,
    /// Which packets vanish; those both ways where nothing is said.
    #[serde(default = "both")]
    pub direction: Direction,
    /// The name for later steps, of one member.
    #[serde(rename = "as")]
    pub alias: Option<Spanned<String>>,
}

fn both() -> Direction {
    Direction::Both
}

/// `delay`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delay {
    /// Which member, or which members.
    pub cluster: Spanned<Victims>,
    /// How much later each message arrives, in each direction.
    pub by: Length,
    /// The name for later steps, of one member.
    #[serde(rename = "as")]
    pub alias: Option<Spanned<String>>,
}

/// `disturb`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Disturb {
    /// Which member, or which members.
    pub cluster: Spanned<Victims>,
    /// In which way.
    pub by: Spanned<ConnectionFault>,
    /// The name for later steps, of one member.
    #[serde(rename = "as")]
    pub alias: Option<Spanned<String>>,
}

/// How a way can be bad without being closed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ConnectionFault {
    /// Each message arrives later by up to this.
    Jitter(Length),
    /// So many bytes a second get through each way.
    Bandwidth(NonZeroU32),
    /// What is open is reset, once.
    Cut,
    /// So many of a hundred new connections are reset.
    Lose(u8),
    /// New connections are refused, and open ones stay.
    RefuseNew,
    /// New connections get no answer, and open ones stay.
    DropNew,
    /// What is open has lost its other end and is not told, and new connections work.
    HalfOpen,
    /// The member's API server answers some requests of the control plane with an error.
    Fail(Fail),
    /// It takes its time.
    Slow(Slow),
    /// What the control plane watches there breaks off.
    CutWatches(Cut),
}

impl ConnectionFault {
    /// Whether it is one of the API server, and not of the way there.
    #[must_use]
    pub fn is_of_server(&self) -> bool {
        matches!(self, Self::Fail(_) | Self::Slow(_) | Self::CutWatches(_))
    }
}

/// `flap`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Flap {
    /// Which member.
    #[serde(alias = "node")]
    pub cluster: Spanned<MemberRef>,
    /// How long it refuses each time.
    pub down: Length,
    /// How long it answers after each time.
    pub up: Length,
    /// How many times.
    pub times: Spanned<u32>,
    /// Its name for later steps.
    #[serde(rename = "as")]
    pub alias: Option<Spanned<String>>,
}

/// `taint` and `untaint`: what a person does.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Taint {
    /// Which member.
    #[serde(alias = "node")]
    pub cluster: Spanned<MemberRef>,
    /// The taint's key; `not-ready` and `unreachable` mean the target's own health taints.
    pub key: String,
    /// The taint's effect.
    pub effect: TaintEffect,
    /// Its name for later steps.
    #[serde(rename = "as")]
    pub alias: Option<Spanned<String>>,
}

/// `startUp`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartUp {
    /// Which member.
    pub cluster: Spanned<MemberRef>,
    /// How long, or `never`.
    pub takes: StartUpTime,
}
