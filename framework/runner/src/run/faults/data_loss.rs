//! Members that lose what they hold: restored from a backup that is older, or made anew.

use capsize_clusters::{Backup, Member};

use crate::nemesis::{FaultGuard, shut_off};
use crate::run::driver::{Driver, StepError};
use crate::scenario::Disturbance;

/// What a member is to be restored from.
pub(in crate::run) struct Backups {
    member: String,
    backup: Backup,
}

/// A loss of data in force.
pub(in crate::run) enum ActiveDataLoss {
    /// There are backups, which are restored in the end.
    Backups(Vec<Backups>),
    /// These have no power, and have lost what they held.
    Dark { members: Vec<String>, guards: Vec<FaultGuard> },
}

impl Driver<'_> {
    /// Lets `members` lose what they hold, or takes the backups for that, if that is what `fault` asks for.
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
            let guard = self.shut_off(name, fault.kind())?;
            self.embedded(name)?.lose_all();
            Ok(guard)
        });
        let guards = guards.collect::<Result<_, StepError>>()?;
        self.powered_off.extend(members.iter().cloned());
        Ok(ActiveDataLoss::Dark { members: members.to_vec(), guards })
    }

    /// Ends a loss. Who is restored is off until what comes back is dropped.
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
        let backup = self.embedded(name)?.backup().ok_or_else(|| not_in_reach(name))?;
        self.mark("backup", &[("cluster", name)]);
        Ok(Backups { member: name.to_owned(), backup })
    }

    /// Without power nothing is restored.
    fn restore(&mut self, backups: Vec<Backups>) -> Result<Vec<FaultGuard>, StepError> {
        let mut off = Vec::new();
        for Backups { member: name, backup } in backups {
            if self.powered_off.contains(&name) {
                continue;
            }
            off.push(self.shut_off(&name, "restore")?);
            self.embedded(&name)?.restore(&backup);
            // A copy that is back, and has no manifest any more, is nobody's to take away.
            self.leftovers_allowed.insert(name);
        }
        Ok(off)
    }

    fn shut_off(&self, name: &str, kind: &str) -> Result<FaultGuard, StepError> {
        let log = self.log.clone();
        Ok(shut_off(self.embedded(name)?, kind, move |mark| log.mark(mark)))
    }

    /// The member, if it runs in this process.
    fn embedded(&self, name: &str) -> Result<&Member, StepError> {
        let member = self.member(name)?;
        member.api().map(|_| member).ok_or_else(|| not_in_reach(name))
    }
}

fn not_in_reach(name: &str) -> StepError {
    StepError::Broken(format!("{name} does not run in this process: what it holds is not in reach"))
}
