//! The fault `skew` of the step `faults`: a clock is wrong for a while.
//! The step `skew`, which only sets the clocks of nodes, is in `cluster.rs`.

use capsize_history::FileValue;
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::{ScenarioCheck, wrong};
use super::check_steps::Scope;
use super::fault_windows::Disturbance;
use super::member_ref::Victims;
use super::step::Component;
use super::time::Length;

/// `skew`. The file gives exactly one of `node`, `cluster` and `of`, and one of `ahead` and `behind`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClockSkew {
    /// The node or nodes whose clock is wrong.
    pub node: Option<FileValue<Victims>>,
    /// The member or members whose clock is wrong: that of the API server and of all programs there.
    pub cluster: Option<FileValue<Victims>>,
    /// The control plane, whose clock is wrong: that of the API server and its controllers.
    pub of: Option<FileValue<Component>>,
    /// By how much the clock is fast.
    pub ahead: Option<Length>,
    /// By how much the clock is slow.
    pub behind: Option<Length>,
    /// An alias, which is an error: a fault that ends by itself defines no alias.
    #[serde(rename = "as")]
    pub alias: Option<FileValue<String>>,
}

/// The owner of a wrong clock.
#[derive(Clone, Copy, Debug)]
pub enum ClockOwner<'a> {
    /// Nodes.
    Nodes(&'a FileValue<Victims>),
    /// Members.
    Members(&'a FileValue<Victims>),
    /// The control plane.
    ControlPlane,
}

impl ClockSkew {
    /// The owner of the clock, if exactly one is given.
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

/// Checks that exactly one of `ahead` and `behind` is given.
pub(super) fn one_way<T>(
    at: &FileValue<T>,
    ahead: Option<&Length>,
    behind: Option<&Length>,
) -> ScenarioCheck {
    if ahead.is_some() == behind.is_some() {
        wrong(at, "give exactly one of `ahead` and `behind`")
    } else {
        Ok(())
    }
}

impl Scope<'_> {
    pub(super) fn clock(&self, skew: &ClockSkew, fault: &FileValue<Disturbance>) -> ScenarioCheck {
        let Some(whose) = skew.whose() else {
            return wrong(
                fault,
                "give exactly one of `node`, `cluster` and `of` to say whose clock is wrong",
            );
        };
        one_way(fault, skew.ahead.as_ref(), skew.behind.as_ref())?;
        match whose {
            ClockOwner::Nodes(node) if !self.on_nodes() => {
                wrong(node, "this scenario runs on a fleet, which has no nodes: use `cluster` or `of`")
            }
            ClockOwner::Members(cluster) if self.on_nodes() => {
                wrong(cluster, "this scenario runs on a cluster, which has no members: use `node` or `of`")
            }
            ClockOwner::Nodes(victims) | ClockOwner::Members(victims) => self.victims(victims),
            ClockOwner::ControlPlane => Ok(()),
        }
    }
}
