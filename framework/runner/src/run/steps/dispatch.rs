//! Selects the function that performs a step of a scenario.

use capsize_clusters::NodeFault;

use super::super::driver::{Driver, StepError};
use super::objects::FIELD_MANAGER;
use crate::nemesis::Fault;
use crate::scenario::{Length, Step};
use capsize_history::FaultKind;

impl Driver<'_> {
    async fn sleep(&self, length: &Length) -> Result<(), StepError> {
        self.clock.sleep(self.length(length)?).await;
        Ok(())
    }

    /// Performs a step.
    pub(in crate::run) async fn step(&mut self, step: &Step) -> Result<(), StepError> {
        match step {
            Step::Workload(workload) => self.workload(workload).await,
            Step::Scale(scale) => self.scale(scale).await,
            Step::Override(step) => self.add_override(step).await,
            Step::Remedy(step) => self.remedy(step).await,
            Step::Call(call) => self.resolve_member(&call.member.value, Some(&call.alias)).map(drop),
            Step::Refuse(refuse) => {
                let members = self.resolve_victims(&refuse.cluster.value, refuse.alias.as_ref())?;
                self.strike(&members, Fault::Refuse).await
            }
            Step::Partition(partition) => {
                let members = self.resolve_victims(&partition.cluster.value, partition.alias.as_ref())?;
                if self.cluster.is_some() {
                    return self.strike_nodes(&members, FaultKind::Partition, &NodeFault::Silent).await;
                }
                self.strike(&members, Fault::Partition { direction: partition.direction }).await
            }
            Step::Delay(delay) => {
                let members = self.resolve_victims(&delay.cluster.value, delay.alias.as_ref())?;
                let by = self.length(&delay.by)?;
                self.strike(&members, Fault::Delay { by }).await
            }
            Step::Disturb(disturb) => {
                let members = self.resolve_victims(&disturb.cluster.value, disturb.alias.as_ref())?;
                let fault = self.connection_fault(&disturb.by.value)?;
                self.strike(&members, fault).await
            }
            Step::Down(down) => {
                let members = self.resolve_victims(&down.cluster.value, down.alias.as_ref())?;
                self.break_down(&members, &down.by.value).await
            }
            Step::Flap(flap) => self.flap(flap).await,
            Step::Heal(members) => {
                let members = self.resolve_victims(&members.value, None)?;
                self.heal(&members).await
            }
            Step::Kill(_) => {
                self.kill();
                Ok(())
            }
            Step::Start(_) => self.start().await,
            Step::Upgrade(upgrade) => self.upgrade(upgrade).await,
            Step::Faults(windows) => self.faults(windows).await,
            Step::Perhaps(step) => self.perhaps(&step.value).await,
            Step::Wait(length) => self.sleep(length).await,
            Step::Taint(taint) => self.edit_taints(taint, true).await,
            Step::Untaint(taint) => self.edit_taints(taint, false).await,
            Step::Join(member) => self.join(&self.member_name(&member.value)?).await,
            Step::DeleteMember(member) => {
                let name = self.member_name(&member.value)?;
                self.delete_member(&name).await
            }
            Step::StartUp(start_up) => {
                let member = self.member_name(&start_up.cluster.value)?;
                self.set_start_up(&member, &start_up.takes)
            }
            Step::Apply(apply) => self.apply(apply, FIELD_MANAGER).await,
            Step::Rejected(rejected) => self.rejected(rejected).await,
            Step::Delete(delete) => self.delete(delete).await,
            Step::Pods(_) | Step::Silence(_) | Step::ShutDown(_) | Step::Condition(_) | Step::Skew(_) => {
                self.step_of_nodes(step).await
            }
            expectation if self.cluster.is_some() => self.expect_on_nodes(expectation).await,
            expectation => self.expect_on_fleet(expectation).await,
        }
    }

    /// Performs a step that only a cluster with nodes has.
    async fn step_of_nodes(&mut self, step: &Step) -> Result<(), StepError> {
        match step {
            Step::Pods(pods) => self.pods(pods).await,
            Step::Silence(silence) => {
                let nodes = self.resolve_victims(&silence.node.value, silence.alias.as_ref())?;
                self.strike_nodes(&nodes, FaultKind::Silent, &NodeFault::Silent).await
            }
            Step::ShutDown(stops) => self.shut_down(stops).await,
            Step::Condition(condition) => self.condition(condition).await,
            Step::Skew(skew) => self.skew(skew).await,
            _ => Err(StepError::Broken("internal error: this step is not one of nodes".into())),
        }
    }

    /// Performs a step whose failure is recorded and otherwise ignored.
    async fn perhaps(&mut self, step: &Step) -> Result<(), StepError> {
        match Box::pin(self.step(step)).await {
            Err(StepError::Unmet { expected, .. }) => {
                self.mark("missed", &[("that", &expected)]);
                Ok(())
            }
            other => other,
        }
    }
}
