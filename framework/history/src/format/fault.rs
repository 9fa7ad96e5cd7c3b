//! The kinds of faults that a history can mark, and the consequences of each for controllers.

use std::fmt;

/// A kind of fault, with the name that marks use.
///
/// `docs/histories.md` lists all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// Connections to the member are refused, and open ones are reset.
    #[default]
    Refuse,
    /// The same as `Refuse`, under the name of other recorders.
    Reset,
    /// The machine of the member has no power: its connections are refused.
    PowerOff,
    /// Packets to or from the member vanish.
    Partition,
    /// Packets to or from the machine vanish.
    BlackHole,
    /// Every message to and from the member is delayed.
    Delay,
    /// Messages are delayed by chance.
    Jitter,
    /// Few bytes a second get through.
    Bandwidth,
    /// Open connections of a member are reset, or watches of the control plane break off.
    Cut,
    /// Watches of a member break off.
    CutWatches,
    /// New connections to the member are lost by chance.
    Lose,
    /// Packets that the machine of the member sends are lost by chance.
    LosePackets,
    /// Packets that the machine of the member sends are delayed.
    LatePackets,
    /// New connections to the member are refused, and open ones stay.
    RefuseNew,
    /// New connections to the member get no answer, and open ones stay.
    DropNew,
    /// Open connections have lost their other end without a packet.
    HalfOpen,
    /// The API server answers some requests with an error.
    Fail,
    /// The API server of the member answers every request with an error.
    FailAll,
    /// The API server is slow.
    Slow,
    /// The member comes back with an old state.
    Restore,
    /// The member comes back without its data.
    Wipe,
    /// The machine of the member is paused.
    Pause,
    /// The machine of the member has lost its network.
    Disconnect,
    /// The machine of the member is shut down.
    Stop,
    /// The machine of the member, or a controller, stops at once.
    Crash,
    /// The API server of the member is stopped.
    ApiServer,
    /// The kubelet of the member is stopped.
    Kubelet,
    /// The etcd of the member is stopped.
    Etcd,
    /// The kubelet of a node, or the agent of a member, reports nothing.
    Silent,
    /// The agent of a member is killed. The member itself works, and its API answers.
    AgentDown,
    /// The kubelet of a node reports that the node is not ready.
    NotReady,
    /// The kubelet of a node reports a pressure.
    Pressure,
    /// A clock is wrong.
    Skew,
    /// The controllers are killed, and restarted at the end.
    Kill,
    /// The same as `Kill`, under the name of other recorders.
    ControllerDown,
    /// A second set of controllers writes as well.
    Rival,
    /// Some writes to the control plane fail with a conflict, as if another client had written first.
    Conflict,
    /// Watches of the control plane are delayed.
    Lag,
    /// Watches of the control plane send some events twice.
    Repeat,
    /// Lists of the control plane return old versions.
    Stale,
}

/// The way in which the probes of a member fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeFailure {
    /// Probes fail at once, or nearly so.
    Refused,
    /// Probes fail after a timeout.
    Silent,
}

impl FaultKind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [Self; 40] = [
        Self::Refuse,
        Self::Reset,
        Self::PowerOff,
        Self::Partition,
        Self::BlackHole,
        Self::Delay,
        Self::Jitter,
        Self::Bandwidth,
        Self::Cut,
        Self::CutWatches,
        Self::Lose,
        Self::LosePackets,
        Self::LatePackets,
        Self::RefuseNew,
        Self::DropNew,
        Self::HalfOpen,
        Self::Fail,
        Self::FailAll,
        Self::Slow,
        Self::Restore,
        Self::Wipe,
        Self::Pause,
        Self::Disconnect,
        Self::Stop,
        Self::Crash,
        Self::ApiServer,
        Self::Kubelet,
        Self::Etcd,
        Self::Silent,
        Self::AgentDown,
        Self::NotReady,
        Self::Pressure,
        Self::Skew,
        Self::Kill,
        Self::ControllerDown,
        Self::Rival,
        Self::Conflict,
        Self::Lag,
        Self::Repeat,
        Self::Stale,
    ];

    /// The name that marks use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Reset => "reset",
            Self::PowerOff => "power-off",
            Self::Partition => "partition",
            Self::BlackHole => "black-hole",
            Self::Delay => "delay",
            Self::Jitter => "jitter",
            Self::Bandwidth => "bandwidth",
            Self::Cut => "cut",
            Self::CutWatches => "cut-watches",
            Self::Lose => "lose",
            Self::LosePackets => "lose-packets",
            Self::LatePackets => "late-packets",
            Self::RefuseNew => "refuse-new",
            Self::DropNew => "drop-new",
            Self::HalfOpen => "half-open",
            Self::Fail => "fail",
            Self::FailAll => "fail-all",
            Self::Slow => "slow",
            Self::Restore => "restore",
            Self::Wipe => "wipe",
            Self::Pause => "pause",
            Self::Disconnect => "disconnect",
            Self::Stop => "stop",
            Self::Crash => "crash",
            Self::ApiServer => "api-server",
            Self::Kubelet => "kubelet",
            Self::Etcd => "etcd",
            Self::Silent => "silent",
            Self::AgentDown => "agent-down",
            Self::NotReady => "not-ready",
            Self::Pressure => "pressure",
            Self::Skew => "skew",
            Self::Kill => "kill",
            Self::ControllerDown => "controller-down",
            Self::Rival => "rival",
            Self::Conflict => "conflict",
            Self::Lag => "lag",
            Self::Repeat => "repeat",
            Self::Stale => "stale",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The way in which probes of a member fail under the fault; `None` if probes may succeed.
    #[must_use]
    pub fn hits_probes(self) -> Option<ProbeFailure> {
        match self {
            Self::Refuse | Self::Reset | Self::PowerOff | Self::Restore | Self::Wipe => {
                Some(ProbeFailure::Refused)
            }
            // An address without a machine does not answer either. A client that is asked to retry later may
            // retry until its timeout. A machine that shuts down answers until it has stopped.
            Self::FailAll
            | Self::Partition
            | Self::BlackHole
            | Self::Silent
            | Self::Pause
            | Self::Disconnect
            | Self::Stop
            | Self::Crash
            | Self::ApiServer => Some(ProbeFailure::Silent),
            _ => None,
        }
    }

    /// Returns true if a probe may fail at once under the fault.
    /// The probe fails by chance, or because its connection is cut or is a new one. Such a probe may succeed as well.
    #[must_use]
    pub fn may_break_probes(self) -> bool {
        matches!(self, Self::Cut | Self::Lose | Self::RefuseNew)
    }

    /// Whether the agent or the kubelet of a member may be silent for a time under the fault.
    /// It may go on to report as well.
    #[must_use]
    pub fn may_silence_agents(self) -> bool {
        matches!(
            self,
            Self::Jitter
                | Self::Bandwidth
                | Self::Cut
                | Self::Lose
                | Self::LosePackets
                | Self::LatePackets
                | Self::RefuseNew
                | Self::DropNew
                | Self::HalfOpen
                | Self::Fail
                | Self::FailAll
                | Self::Slow
                | Self::Kubelet
                | Self::Etcd
        )
    }

    /// Returns true if controllers keep running under the fault, but fail or observe an old state.
    /// This holds for a fault that hits the control plane. Controllers that are killed start again.
    #[must_use]
    pub fn hinders_controllers(self) -> bool {
        self.fails_requests()
            || matches!(self, Self::Slow | Self::Lag | Self::Cut | Self::Repeat | Self::Stale | Self::Rival)
    }

    /// Whether watches of the control plane end under the fault, and may fail to begin again.
    #[must_use]
    pub fn ends_watches(self) -> bool {
        self.fails_requests() || matches!(self, Self::Cut | Self::Stale)
    }

    /// Whether a member comes back from the fault with an old state, or without its data.
    #[must_use]
    pub fn loses_data(self) -> bool {
        matches!(self, Self::Restore | Self::Wipe)
    }

    /// Whether requests to the control plane fail under the fault.
    #[must_use]
    pub fn fails_requests(self) -> bool {
        matches!(self, Self::Fail | Self::Conflict)
    }

    /// Whether the fault is no outage, and only slows a member down.
    #[must_use]
    pub fn only_slows(self) -> bool {
        self == Self::Delay
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        for kind in FaultKind::ALL {
            assert_eq!(FaultKind::named(kind.name()), Some(kind));
        }
    }

    #[test]
    fn the_page_on_histories_lists_every_kind() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/histories.md");
        let page = std::fs::read_to_string(page).unwrap();
        let lacking = FaultKind::ALL.iter().find(|kind| !page.contains(&format!("`{kind}`")));
        assert_eq!(lacking, None);
    }
}
