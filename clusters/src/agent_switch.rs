//! Says whether the agent in a member is killed. Faults set it, and the runner of the agent obeys.

use tokio::sync::watch;

/// The switch of one agent. Copies are the same switch.
#[derive(Clone, Debug, Default)]
pub struct AgentSwitch {
    /// The number of faults in force that kill the agent.
    killed: watch::Sender<usize>,
}

/// A fault that kills the agent until the guard is dropped.
#[derive(Debug)]
#[must_use = "the agent is started again when the guard is dropped"]
pub struct AgentKill(AgentSwitch);

impl AgentSwitch {
    /// Kills the agent until the guard is dropped.
    pub fn kill(&self) -> AgentKill {
        self.killed.send_modify(|killed| *killed += 1);
        AgentKill(self.clone())
    }

    /// Waits until the agent must be dead, if `dead` is true, or must run.
    pub async fn turns(&self, dead: bool) {
        // The sender lives as long as this switch.
        let _ = self.killed.subscribe().wait_for(|killed| (*killed > 0) == dead).await;
    }
}

impl Drop for AgentKill {
    fn drop(&mut self) {
        self.0.killed.send_modify(|killed| *killed -= 1);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn an_agent_is_dead_while_any_fault_kills_it() {
        let switch = AgentSwitch::default();
        let is_dead = || switch.turns(true).now_or_never().is_some();
        assert!(!is_dead());
        let (first, second) = (switch.kill(), switch.clone().kill());
        drop(first);
        assert!(is_dead());
        drop(second);
        assert!(!is_dead());
    }
}
