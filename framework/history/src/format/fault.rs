//! The kinds of faults that a history can mark, and what each implies for those who are judged.

use std::fmt;

/// A kind of fault, by the name that the mark of a history has for it.
///
/// `docs/histories.md` lists all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// Connections to the member are refused, and open ones are reset.
    #[default]
    Refuse,
    /// The same, as other recorders name it.
    Reset,
    /// The machine of the member has no power: its connections are refused.
    PowerOff,
    /// Packets to or from the member vanish.
    Partition,
    /// The same of a machine.
    BlackHole,
    /// Every message to and from the member is late.
    Delay,
    /// Messages are late by chance.
    Jitter,
    /// Few bytes a second get through.
    Bandwidth,
    /// Of a member, open connections are reset; of the control plane, watches break off.
    Cut,
    /// Watches of a member break off.
    CutWatches,
    /// New connections to the member are lost by chance.
    Lose,
    /// Packets that the machine of the member sends are lost by chance.
    LosePackets,
    /// Packets that the machine of the member sends are late.
    LatePackets,
    /// New connections to the member are refused, and open ones stay.
    RefuseNew,
    /// New connections to the member get no answer, and open ones stay.
    DropNew,
    /// Open connections have lost their other end without a sign.
    HalfOpen,
    /// The API server answers some requests with an error.
    Fail,
    /// The API server of the member answers every request with an error.
    FailAll,
    /// The API server is slow.
    Slow,
    /// The member comes back with what it held once.
    Restore,
    /// The member comes back with nothing.
    Wipe,
    /// The machine of the member stands still.
    Pause,
    /// The machine of the member has lost its network.
    Disconnect,
    /// The machine of the member is shut down.
    Stop,
    /// The machine of the member, or a controller, ends at once.
    Crash,
    /// The API server of the member is stopped.
    ApiServer,
    /// The kubelet of the member is stopped.
    Kubelet,
    /// The etcd of the member is stopped.
    Etcd,
    /// The kubelet of a node, or the agent of a member, reports nothing.
    Silent,
    /// The kubelet of a node reports that the node is not ready.
    NotReady,
    /// The kubelet of a node reports a pressure.
    Pressure,
    /// A clock is wrong.
    Skew,
    /// The controllers are killed, and started again at the end.
    Kill,
    /// The same, as other recorders name it.
    ControllerDown,
    /// A second set of controllers writes as well.
    Rival,
    /// Some writes to the control plane are refused as if somebody else had written first.
    Conflict,
    /// Watches of the control plane are late.
    Lag,
    /// Watches of the control plane send some events twice.
    Repeat,
    /// Lists of the control plane are old.
    Stale,
}

/// How the probes of a member fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeFailure {
    /// At once, or nearly so.
    Refused,
    /// After a timeout.
    Silent,
}

impl FaultKind {
    /// All kinds, in the order in which they are listed.
    pub const ALL: [Self; 39] = [
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

    /// The name that histories have for it.
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

    /// The kind that histories call `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// How the probes of a member fail under it; `None` where they may as well succeed.
    #[must_use]
    pub fn hits_probes(self) -> Option<ProbeFailure> {
        match self {
            Self::Refuse | Self::Reset | Self::PowerOff | Self::Restore | Self::Wipe => {
                Some(ProbeFailure::Refused)
            }
            // An address where no machine is any more answers nothing either, and a client that is asked to come back later may
            // ask until its time is over. A machine that is asked to end answers until it has ended.
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

    /// Whether the controllers go on under it, where it hits the control plane, but fail, or observe an old past. Controllers that
    /// are killed begin anew.
    #[must_use]
    pub fn hinders_controllers(self) -> bool {
        self.fails_requests()
            || matches!(self, Self::Slow | Self::Lag | Self::Cut | Self::Repeat | Self::Stale | Self::Rival)
    }

    /// Whether a member comes back from it with what it held once, or with nothing.
    #[must_use]
    pub fn loses_data(self) -> bool {
        matches!(self, Self::Restore | Self::Wipe)
    }

    /// Whether requests fail under it that would not otherwise, where it hits the control plane.
    #[must_use]
    pub fn fails_requests(self) -> bool {
        matches!(self, Self::Fail | Self::Conflict)
    }

    /// Whether it is no outage, but makes a member slow.
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
