//! `skew` among `faults`: a clock is wrong for a while. The step `skew`, which sets those of nodes alone, is in `cluster.rs`.

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::check::{Checked, Scope, wrong};
use super::fault_windows::Disturbance;
use super::member_ref::Victims;
use super::step::Component;
use super::time::Length;

/// `skew`. Exactly one of `node`, `cluster` and `of` is given, and of `ahead` and `behind`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClockSkew {
    /// The clock of this node, or of these.
    pub node: Option<Spanned<Victims>>,
    /// Of this member, or of these: of its API server and all that runs in it.
    pub cluster: Option<Spanned<Victims>>,
    /// Of the control plane: of its API server and the controllers beside it.
    pub of: Option<Spanned<Component>>,
    /// It is fast by so much.
    pub ahead: Option<Length>,
    /// It is slow by so much.
    pub behind: Option<Length>,
    /// A name, which what ends by itself does not give.
    #[serde(rename = "as")]
    pub alias: Option<Spanned<String>>,
}

/// Whose clock is wrong.
#[derive(Clone, Copy, Debug)]
pub enum ClockOwner<'a> {
    /// That of nodes.
    Nodes(&'a Spanned<Victims>),
    /// That of members.
    Members(&'a Spanned<Victims>),
    /// That of the control plane.
    ControlPlane,
}

impl ClockSkew {
    /// Whose clock it is, where exactly one is named.
    #[must_use]
    pub fn whose(&self) -> Option<ClockOwner<'_>> {
        match (&self.node, &self.cluster, &self.of) {
            (Some(node), None, None) => Some(ClockOwner::Nodes(node)),
            (None, Some(cluster), None) => Some(ClockOwner::Members(cluster)),
            (None, None, Some(_)) => Some(ClockOwner::ControlPlane),
            _ => None,
        }
    }
}

/// A clock is wrong one way.
pub(super) fn one_way<T>(at: &Spanned<T>, ahead: Option<&Length>, behind: Option<&Length>) -> Checked {
    if ahead.is_some() == behind.is_some() { wrong(at, "say one of `ahead` and `behind`") } else { Ok(()) }
}

impl Scope<'_> {
    pub(super) fn clock(&self, skew: &ClockSkew, fault: &Spanned<Disturbance>) -> Checked {
        let Some(whose) = skew.whose() else {
            return wrong(fault, "say one of `node`, `cluster` and `of`: whose clock it is");
        };
        one_way(fault, skew.ahead.as_ref(), skew.behind.as_ref())?;
        match whose {
            ClockOwner::Nodes(node) if !self.on_nodes() => {
                wrong(node, "this runs on a fleet, which has no nodes: say `cluster` or `of`")
            }
            ClockOwner::Members(cluster) if self.on_nodes() => {
                wrong(cluster, "this runs on a cluster, which has no members: say `node` or `of`")
            }
            ClockOwner::Nodes(victims) | ClockOwner::Members(victims) => self.victims(victims),
            ClockOwner::ControlPlane => Ok(()),
        }
    }
}
