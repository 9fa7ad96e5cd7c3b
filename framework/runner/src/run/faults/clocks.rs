//! Sets the clocks of members, of nodes or of the control plane wrong.

use std::time::Duration;

use capsize_clusters::NodeFault;
use jiff::SignedDuration;

use crate::nemesis::{FaultGuard, set_off};
use crate::run::driver::{Driver, StepError};
use crate::scenario::{ClockOwner, ClockSkew, Length};
use capsize_history::FaultKind;

impl Driver<'_> {
    /// Sets clocks wrong. Returns `None` if no member matches the selector now.
    pub(in crate::run) async fn set_clocks(
        &self,
        skew: &ClockSkew,
    ) -> Result<Option<Vec<FaultGuard>>, StepError> {
        let by = self.clock_offset(skew.ahead.as_ref(), skew.behind.as_ref())?;
        let victims = match skew.whose() {
            Some(ClockOwner::Members(cluster)) => &cluster.value,
            Some(ClockOwner::Nodes(node)) => {
                let Some(nodes) = self.victims_now(&node.value) else { return Ok(None) };
                let guards =
                    nodes.iter().map(|node| self.break_node(node, FaultKind::Skew, &NodeFault::Skew(by)));
                return guards.collect::<Result<_, StepError>>().map(Some);
            }
            _ => {
                let log = self.log.clone();
                return Ok(Some(vec![set_off(self.clock, by, None, move |mark| log.mark(mark))]));
            }
        };
        let Some(members) = self.victims_now(victims) else { return Ok(None) };
        self.ask_permission(&members).await?;
        let guards = members.iter().map(|name| {
            let (clock, log) = (self.member(name)?.clock(), self.log.clone());
            Ok(set_off(clock, by, Some(name), move |mark| log.mark(mark)))
        });
        guards.collect::<Result<_, StepError>>().map(Some)
    }

    /// The offset of a clock that is `ahead` or `behind`.
    pub(in crate::run) fn clock_offset(
        &self,
        ahead: Option<&Length>,
        behind: Option<&Length>,
    ) -> Result<SignedDuration, StepError> {
        let length = |length: Option<&Length>| length.map(|it| self.length(it)).transpose();
        let (fast, slow) = (length(ahead)?, length(behind)?);
        let by: Duration = fast.or(slow).unwrap_or_default();
        let by = SignedDuration::try_from(by).map_err(|error| StepError::Broken(error.to_string()))?;
        Ok(if fast.is_some() { by } else { -by })
    }
}
