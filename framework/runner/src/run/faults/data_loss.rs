//! Faults that cost members their data: a restore from an older backup, or a new start with nothing.

use capsize_clusters::{Backup, Member};
use capsize_history::FaultKind;

use crate::nemesis::{FaultGuard, shut_off};
use crate::run::driver::{Driver, StepError};
use crate::scenario::Disturbance;

/// The backup of one member.
pub(in crate::run) struct Backups {
    member: String,
    backup: Backup,
}

/// A data loss that has begun.
pub(in crate::run) enum ActiveDataLoss {
    /// Backups are taken. The members are restored from them at the end of the fault.
    Backups(Vec<Backups>),
    /// The members have no power and have lost their data.
    Dark { members: Vec<String>, guards: Vec<FaultGuard> },
}

impl Driver<'_> {
    /// Takes backups of `members` for `restore`, or deletes their data for `wipe`.
    pub(in crate::run) fn begin_data_loss(
        &mut self,
        fault: &Disturbance,
        members: &[String],
    ) -> Result<ActiveDataLoss, StepError> {
        if matches!(fault, Disturbance::Restore(_)) {
            return members
                .iter()
                .map(|name| self.take_backup(name))
                .collect::<Result<_, StepError>>()
                .map(ActiveDataLoss::Backups);
        }
        let guards = members.iter().map(|name| {
            let guard = self.shut_off(name, FaultKind::Wipe)?;
            self.embedded(name)?.lose_all();
            Ok(guard)
        });
        let guards = guards.collect::<Result<_, StepError>>()?;
        self.powered_off.extend(members.iter().cloned());
        Ok(ActiveDataLoss::Dark { members: members.to_vec(), guards })
    }

    /// Ends a data loss. Members that are restored stay shut off until the returned guards are dropped.
    pub(in crate::run) fn end_data_loss(
        &mut self,
        loss: ActiveDataLoss,
    ) -> Result<Vec<FaultGuard>, StepError> {
        match loss {
            ActiveDataLoss::Backups(backups) => self.restore(backups),
            ActiveDataLoss::Dark { members, guards } => {
                for name in members {
                    let place = self.powered_off.iter().position(|dark| *dark == name);
                    place.map(|place| self.powered_off.swap_remove(place));
                    if !self.powered_off.contains(&name) {
                        self.embedded(&name)?.begin_anew();
                    }
                }
                drop(guards);
                Ok(Vec::new())
            }
        }
    }

    fn take_backup(&self, name: &str) -> Result<Backups, StepError> {
        let backup = self.embedded(name)?.backup().ok_or_else(|| not_in_this_process(name))?;
        self.mark("backup", &[("cluster", name)]);
        Ok(Backups { member: name.to_owned(), backup })
    }

    /// A member without power is not restored.
    fn restore(&mut self, backups: Vec<Backups>) -> Result<Vec<FaultGuard>, StepError> {
        let mut off = Vec::new();
        for Backups { member: name, backup } in backups {
            if self.powered_off.contains(&name) {
                continue;
            }
            off.push(self.shut_off(&name, FaultKind::Restore)?);
            self.embedded(&name)?.restore(&backup);
            // A restored copy without a Work is never removed by the control plane.
            self.leftovers_allowed.insert(name);
        }
        Ok(off)
    }

    fn shut_off(&self, name: &str, kind: FaultKind) -> Result<FaultGuard, StepError> {
        let log = self.log.clone();
        Ok(shut_off(self.embedded(name)?, kind, move |mark| log.mark(mark)))
    }

    /// The member, if it runs in this process.
    fn embedded(&self, name: &str) -> Result<&Member, StepError> {
        let member = self.member(name)?;
        member.api().map(|_| member).ok_or_else(|| not_in_this_process(name))
    }
}

fn not_in_this_process(name: &str) -> StepError {
    StepError::Broken(format!(
        "{name} does not run in this process, so that its data cannot be deleted or restored"
    ))
}
