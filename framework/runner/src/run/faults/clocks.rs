//! Clocks that are wrong: those of members, and that of the control plane.

use std::time::Duration;

use capsize_clusters::NodeFault;
use jiff::SignedDuration;

use crate::nemesis::{FaultGuard, set_off};
use crate::run::driver::{Driver, Miss};
use crate::scenario::{Length, Whose, WrongClock};
use capsize_history::facts::SKEW;

impl Driver<'_> {
    /// Sets clocks wrong; `None` where nobody plays the part that it would strike.
    pub(in crate::run) async fn set_clocks(
        &self,
        skew: &WrongClock,
    ) -> Result<Option<Vec<FaultGuard>>, Miss> {
        let by = self.off_by(skew.ahead.as_ref(), skew.behind.as_ref())?;
        let victims = match skew.whose() {
            Some(Whose::Members(cluster)) => &cluster.value,
            Some(Whose::Nodes(node)) => {
                let Some(nodes) = self.struck(&node.value) else { return Ok(None) };
                let guards = nodes.iter().map(|node| self.break_node(node, SKEW, &NodeFault::Skew(by)));
                return guards.collect::<Result<_, Miss>>().map(Some);
            }
            _ => {
                let log = self.log.clone();
                return Ok(Some(vec![set_off(self.clock, by, None, move |mark| log.mark(mark))]));
            }
        };
        let Some(members) = self.struck(victims) else { return Ok(None) };
        self.ask_leave(&members).await?;
        let guards = members.iter().map(|name| {
            let (clock, log) = (self.member(name)?.clock(), self.log.clone());
            Ok(set_off(clock, by, Some(name), move |mark| log.mark(mark)))
        });
        guards.collect::<Result<_, Miss>>().map(Some)
    }

    /// How far a clock is to be off.
    pub(in crate::run) fn off_by(
        &self,
        ahead: Option<&Length>,
        behind: Option<&Length>,
    ) -> Result<SignedDuration, Miss> {
        let length = |length: Option<&Length>| length.map(|it| self.length(it)).transpose();
        let (fast, slow) = (length(ahead)?, length(behind)?);
        let by: Duration = fast.or(slow).unwrap_or_default();
        let by = SignedDuration::try_from(by).map_err(|error| Miss::Broken(error.to_string()))?;
        Ok(if fast.is_some() { by } else { -by })
    }
}
