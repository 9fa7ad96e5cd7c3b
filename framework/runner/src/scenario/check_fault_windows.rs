//! Checks the windows of the step `faults`.

use capsize_history::FileValue;

use super::api_faults::{Conflict, Crash, Cut, Fail, Repeat};
use super::breakdown::{BreakdownKind, Down};
use super::check::{ScenarioCheck, wrong};
use super::check_steps::Scope;
use super::fault_windows::{Disturbance, Window};
use super::member_ref::Victims;
use super::object::Subresource;
use super::step::ConnectionFault;

impl Scope<'_> {
    pub(super) fn window(&self, window: &FileValue<Window>) -> ScenarioCheck {
        let Window { after, fault, .. } = &window.value;
        if let Some(after) = after {
            let (member, workload) = after.value.about();
            self.member(member)?;
            workload.map_or(Ok(()), |workload| self.workload(workload))?;
        }
        if let Some(alias) = fault.value.alias() {
            return wrong(alias, "a fault that ends by itself cannot define an alias");
        }
        self.disturbance_fits(fault)?;
        match &fault.value {
            Disturbance::Refuse(refuse) => self.victims(&refuse.cluster),
            Disturbance::Partition(partition) => self.victims(&partition.cluster),
            Disturbance::Delay(delay) => self.victims(&delay.cluster),
            Disturbance::Disturb(disturb) => {
                possible(&disturb.by)?;
                self.victims(&disturb.cluster)
            }
            Disturbance::Restore(loss) | Disturbance::Wipe(loss) => self.victims(&loss.cluster),
            Disturbance::Silence(silence) => self.victims(&silence.node),
            Disturbance::Condition(condition) => self.victims(&condition.node),
            Disturbance::Skew(skew) => self.clock(skew, fault),
            Disturbance::Kill(party) if self.killed => wrong(party, "the controllers are dead already"),
            Disturbance::Kill(_) => Ok(()),
            Disturbance::Taint(taint) => self.member(&taint.cluster),
            Disturbance::StartUp(start_up) => self.member(&start_up.cluster),
            Disturbance::Scale(scale) => self.workload(&scale.workload),
            Disturbance::Apply(apply) if apply.subresource == Some(Subresource::Status) => {
                wrong(&apply.to, "a fault cannot change a status, because a status cannot be put back")
            }
            Disturbance::Apply(apply) => self.object(&apply.to, &apply.object),
            Disturbance::Delete(delete) => self.object(&delete.from, &delete.object),
            Disturbance::DeleteMember(member) => self.member(member),
            Disturbance::Fail(Fail { every, .. })
            | Disturbance::Conflict(Conflict { every })
            | Disturbance::Cut(Cut { every })
            | Disturbance::Repeat(Repeat { every })
            | Disturbance::Crash(Crash { write: every, .. })
                if every.value == 0 =>
            {
                wrong(every, "the number must be at least 1")
            }
            Disturbance::Fail(_)
            | Disturbance::Conflict(_)
            | Disturbance::Slow(_)
            | Disturbance::Lag(_)
            | Disturbance::Cut(_)
            | Disturbance::Repeat(_)
            | Disturbance::Stale(_)
            | Disturbance::Crash(_)
            | Disturbance::Rival(_) => Ok(()),
        }
    }

    /// Checks that a fault is allowed in its scenario.
    /// A fault for fleets needs a scenario on a fleet, and a fault for nodes needs a scenario on a cluster.
    fn disturbance_fits(&self, fault: &FileValue<Disturbance>) -> ScenarioCheck {
        let of_fleets = matches!(
            fault.value,
            Disturbance::Refuse(_)
                | Disturbance::Delay(_)
                | Disturbance::Disturb(_)
                | Disturbance::Restore(_)
                | Disturbance::Wipe(_)
                | Disturbance::StartUp(_)
                | Disturbance::Scale(_)
        );
        let of_nodes = matches!(fault.value, Disturbance::Silence(_) | Disturbance::Condition(_));
        let kind = fault.value.kind();
        match self.on_nodes() {
            true if of_fleets => {
                wrong(fault, format!("the fault `{kind}` needs a fleet, and this scenario runs on a cluster"))
            }
            false if of_nodes => {
                wrong(fault, format!("the fault `{kind}` needs a cluster, and this scenario runs on a fleet"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn down(&mut self, down: &Down) -> ScenarioCheck {
        match down.by.value {
            BreakdownKind::LosePackets(101..) => wrong(&down.by, "a percentage is at most 100"),
            _ => self.strikes(&down.cluster, down.alias.as_ref()),
        }
    }

    pub(super) fn victims(&self, victims: &FileValue<Victims>) -> ScenarioCheck {
        match &victims.value {
            Victims::Member(member) => self.member(&victims.with(member.clone())),
            domain @ Victims::Domain(..) => self.domain(domain, victims).map(drop),
        }
    }
}

/// A percentage is at most 100, and a fault at every n-th request needs an n of 1 or more.
pub(super) fn possible(fault: &FileValue<ConnectionFault>) -> ScenarioCheck {
    match &fault.value {
        ConnectionFault::Lose(101..) => wrong(fault, "a percentage is at most 100"),
        ConnectionFault::Fail(Fail { every, .. }) | ConnectionFault::CutWatches(Cut { every })
            if every.value == 0 =>
        {
            wrong(every, "the number must be at least 1")
        }
        _ => Ok(()),
    }
}
