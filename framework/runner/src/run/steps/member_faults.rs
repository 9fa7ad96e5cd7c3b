//! The steps that break members and the connections to them, and the step `heal` that repairs them.

use capsize_clusters::{Machine, NodeFault};
use capsize_history::FaultKind;
use capsize_history::FileValue;
use tokio::task::JoinSet;

use crate::nemesis::{Fault, FaultGuard, FaultTargets, break_node, breakdown_mark};
use crate::run::driver::{Driver, StepError};
use crate::run::log::Log;
use crate::scenario::{self, BreakdownKind, ConnectionFault, Flap};

impl Driver<'_> {
    /// The name of the member that a step breaks. Later steps can use `alias` for it.
    pub(in crate::run) fn resolve_member(
        &mut self,
        member: &scenario::MemberRef,
        alias: Option<&FileValue<String>>,
    ) -> Result<String, StepError> {
        let name = self.member_name(member)?;
        if let Some(alias) = alias {
            self.set_alias(alias, name.clone());
        }
        Ok(name)
    }

    /// The names of the members that a step breaks. Later steps can use `alias` if it is one member.
    pub(in crate::run) fn resolve_victims(
        &mut self,
        victims: &scenario::Victims,
        alias: Option<&FileValue<String>>,
    ) -> Result<Vec<String>, StepError> {
        match victims {
            scenario::Victims::Member(member) => Ok(vec![self.resolve_member(member, alias)?]),
            scenario::Victims::Domain(..) => Ok(victims.of_domain(self.scenario).unwrap_or_default()),
        }
    }

    /// Begins `fault` on all of `members` at once.
    /// The seed chooses the moment within the probe cycle of the target.
    pub(in crate::run) async fn strike(&mut self, members: &[String], fault: Fault) -> Result<(), StepError> {
        self.wait_for_random_phase().await;
        self.ask_permission(members).await?;
        for member in members {
            let guard = self.break_link(member, fault)?;
            self.faults.push((member.to_owned(), guard));
        }
        Ok(())
    }

    /// Asks the provider whether faults may strike these members, too.
    pub(in crate::run) async fn ask_permission(&self, members: &[String]) -> Result<(), StepError> {
        self.permission.ask(self.flapping.keys().chain(members)).await.map_err(StepError::Broken)
    }

    /// The fault that the step `disturb` describes, with lengths of time resolved.
    pub(in crate::run) fn connection_fault(&self, fault: &ConnectionFault) -> Result<Fault, StepError> {
        Ok(match fault {
            ConnectionFault::Jitter(by) => Fault::Jitter { by: self.length(by)? },
            ConnectionFault::Bandwidth(rate) => Fault::Bandwidth { rate: *rate },
            ConnectionFault::Cut => Fault::Cut,
            ConnectionFault::Lose(percent) => Fault::Lose { percent: *percent },
            ConnectionFault::RefuseNew => Fault::RefuseNew,
            ConnectionFault::DropNew => Fault::DropNew,
            ConnectionFault::HalfOpen => Fault::HalfOpen,
            ConnectionFault::Fail(it) => Fault::Fail { with: it.with, every: it.every.value, verb: it.verb },
            ConnectionFault::Slow(it) => Fault::Slow { by: self.length(&it.by)?, verb: it.verb },
            ConnectionFault::CutWatches(it) => Fault::CutWatches { every: it.every.value },
            ConnectionFault::OwnApi => Fault::OwnApi,
            ConnectionFault::AgentDown => Fault::AgentDown,
        })
    }

    /// Breaks the machines of all of `members` at once, as [`Self::strike`] does with connections.
    pub(in crate::run) async fn break_down(
        &mut self,
        members: &[String],
        how: &BreakdownKind,
    ) -> Result<(), StepError> {
        let how = how.breakdown(|length| self.length(length))?;
        self.wait_for_random_phase().await;
        self.ask_permission(members).await?;
        for member in members {
            self.log.mark(breakdown_mark(how, member, "begin"));
            let broken = self.machine(member)?.break_down(how).await;
            broken.map_err(|error| StepError::Broken(error.to_string()))?;
            self.broken_machines.push((member.clone(), how));
        }
        Ok(())
    }

    /// Repairs the broken machines of `members`. Returns how many there were.
    async fn mend(&mut self, members: &[String]) -> Result<usize, StepError> {
        let mended = self.broken_machines.extract_if(.., |(broken, _)| members.contains(broken));
        let mended: Vec<_> = mended.collect();
        // The latest breakdown is repaired first: nothing can be done to a machine while it is stopped.
        for (member, how) in mended.iter().rev() {
            let whole = self.machine(member)?.mend(*how).await;
            whole.map_err(|error| StepError::Broken(error.to_string()))?;
            self.log.mark(breakdown_mark(*how, member, "end"));
        }
        Ok(mended.len())
    }

    fn machine(&self, member: &str) -> Result<&dyn Machine, StepError> {
        let none =
            || StepError::Broken(format!("{member} runs in this process and has no machine of its own"));
        self.member(member)?.machine().ok_or_else(none)
    }

    /// Begins `fault` on the connection to `member`, or on its API server, at once.
    pub(in crate::run) fn break_link(&self, member: &str, fault: Fault) -> Result<FaultGuard, StepError> {
        let (log, targets) = (self.log.clone(), FaultTargets::of(self.member(member)?));
        Ok(fault.begin(member, &targets, move |mark| log.mark(mark)))
    }

    pub(in crate::run) async fn flap(&mut self, flap: &Flap) -> Result<(), StepError> {
        let name = self.resolve_member(&flap.cluster.value, flap.alias.as_ref())?;
        self.ask_permission(std::slice::from_ref(&name)).await?;
        let (down, up, times) = (self.length(&flap.down)?, self.length(&flap.up)?, flap.times.value);
        let (clock, log, permission, member) =
            (self.clock, self.log.clone(), self.permission.clone(), name.clone());
        let begin: Box<dyn Fn(Log) -> FaultGuard + Send> = match self.cluster.and_then(|it| it.kubelet(&name))
        {
            Some(kubelet) => {
                let kubelet = kubelet.clone();
                let silent = (FaultKind::Silent, NodeFault::Silent);
                Box::new(move |log| {
                    break_node((&member, &kubelet), silent.clone(), move |mark| log.mark(mark))
                })
            }
            None => {
                let targets = FaultTargets::of(self.member(&name)?);
                Box::new(move |log| Fault::Refuse.begin(&member, &targets, move |mark| log.mark(mark)))
            }
        };
        let (mut task, flapping) = (JoinSet::new(), name.clone());
        task.spawn(async move {
            for _ in 0..times {
                if let Err(why) = permission.ask([&flapping]).await {
                    return log.break_off(why);
                }
                let guard = begin(log.clone());
                clock.sleep(down).await;
                drop(guard);
                clock.sleep(up).await;
            }
        });
        self.flapping.insert(name, task);
        Ok(())
    }

    pub(in crate::run) async fn heal(&mut self, members: &[String]) -> Result<(), StepError> {
        let before = self.faults.len();
        self.faults.retain(|(broken, _)| !members.contains(broken));
        let mended = self.mend(members).await?;
        let flapping: Vec<_> = members.iter().filter_map(|member| self.flapping.remove(member)).collect();
        if before == self.faults.len() && mended == 0 && flapping.is_empty() {
            let expected = format!("a fault in force on {}, which `heal` ends", members.join(", "));
            return Err(StepError::Unmet { expected, seen: "there is none".into() });
        }
        for mut flapping in flapping {
            flapping.shutdown().await;
        }
        Ok(())
    }
}
