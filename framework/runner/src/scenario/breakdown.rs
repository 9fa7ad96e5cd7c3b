//! The step `down`: breaks the machine of a member, a program on it, or its network.

use capsize_clusters::{Breakdown, Direction};
use capsize_history::FileValue;
use schemars::JsonSchema;
use serde::Deserialize;

use super::member_ref::Victims;
use super::time::Length;

/// `down`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Down {
    /// The member or members whose machines break.
    pub cluster: FileValue<Victims>,
    /// How the machine breaks.
    pub by: FileValue<BreakdownKind>,
    /// An alias of the member for later steps, if it is one.
    #[serde(rename = "as")]
    pub alias: Option<FileValue<String>>,
}

/// How a machine breaks. The variants are those of [`Breakdown`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum BreakdownKind {
    /// All programs on it are paused.
    Pause,
    /// It is disconnected from the network.
    Disconnect,
    /// It is shut down.
    Stop,
    /// It loses power.
    Crash,
    /// Its API server is shut down.
    ApiServer,
    /// Its kubelets are shut down.
    Kubelet,
    /// Its etcd is shut down.
    Etcd,
    /// Packets are dropped.
    Vanish(Direction),
    /// This percentage of the packets that it sends is lost.
    LosePackets(u8),
    /// Packets that it sends are delayed by this.
    LatePackets(Length),
}

impl BreakdownKind {
    /// The breakdown, with lengths of time resolved by `length`.
    ///
    /// # Errors
    /// The error of `length`.
    pub fn breakdown<E>(
        &self,
        length: impl FnOnce(&Length) -> Result<std::time::Duration, E>,
    ) -> Result<Breakdown, E> {
        Ok(match self {
            Self::Pause => Breakdown::Pause,
            Self::Disconnect => Breakdown::Disconnect,
            Self::Stop => Breakdown::Stop,
            Self::Crash => Breakdown::Crash,
            Self::ApiServer => Breakdown::ApiServer,
            Self::Kubelet => Breakdown::Kubelet,
            Self::Etcd => Breakdown::Etcd,
            Self::Vanish(direction) => Breakdown::Vanish(*direction),
            Self::LosePackets(percent) => Breakdown::LosePackets(*percent),
            Self::LatePackets(by) => Breakdown::LatePackets(length(by)?),
        })
    }
}
