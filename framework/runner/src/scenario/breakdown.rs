//! `down`: the machine of a member breaks down, or one of the programs on it, or its network.

use capsize_clusters::{Breakdown, Direction};
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::member_ref::Victims;
use super::time::Length;

/// `down`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Down {
    /// Which member, or which members.
    pub cluster: Spanned<Victims>,
    /// In which way.
    pub by: Spanned<BreakdownKind>,
    /// The name for later steps, of one member.
    #[serde(rename = "as")]
    pub alias: Option<Spanned<String>>,
}

/// In which way it breaks down. The words are those of [`Breakdown`].
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum BreakdownKind {
    /// All that runs there stands still.
    Pause,
    /// It has no network.
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
    /// Packets vanish.
    Vanish(Direction),
    /// Of a hundred packets that it sends, so many are lost.
    LosePackets(u8),
    /// Packets that it sends are late by this.
    LatePackets(Length),
}

impl BreakdownKind {
    /// What happens, with times as `length` reads them.
    ///
    /// # Errors
    /// As `length`.
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
