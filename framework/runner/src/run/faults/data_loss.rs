//! Members that lose what they hold: restored from a backup that is older, or made anew.

use capsize_clusters::{Backup, Member};

use crate::nemesis::{FaultGuard, shut_off};
use crate::run::driver::{Driver, Miss};
use crate::scenario::Disturbance;

/// What a member is to be restored from.
pub(in crate::run) struct Saved {
    member: String,
    backup: Backup,
}

/// A loss of data in force.
pub(in crate::run) enum Loss {
    /// There are backups, which are restored in the end.
    Saved(Vec<Saved>),
    /// These have no power, and have lost what they held.
    Dark { members: Vec<String>, guards: Vec<FaultGuard> },
}

impl Driver<'_> {
    /// Lets `members` lose what they hold, or takes the backups for that, if that is what `fault` asks for.
    pub(in crate::run) fn lose(&mut self, fault: &Disturbance, members: &[String]) -> Result<Loss, Miss> {
        if matches!(fault, Disturbance::Restore(_)) {
            return members.iter().map(|name| self.save(name)).collect::<Result<_, Miss>>().map(Loss::Saved);
        }
        let guards = members.iter().map(|name| {
            let guard = self.shut_off(name, fault.kind())?;
            self.embedded(name)?.lose_all();
            Ok(guard)
        });
        let guards = guards.collect::<Result<_, Miss>>()?;
        self.dark.extend(members.iter().cloned());
        Ok(Loss::Dark { members: members.to_vec(), guards })
    }

    /// Ends a loss. Who is restored is off until what comes back is dropped.
    pub(in crate::run) fn regain(&mut self, loss: Loss) -> Result<Vec<FaultGuard>, Miss> {
        match loss {
            Loss::Saved(saved) => self.restore(saved),
            Loss::Dark { members, guards } => {
                for name in members {
                    let place = self.dark.iter().position(|dark| *dark == name);
                    place.map(|place| self.dark.swap_remove(place));
                    if !self.dark.contains(&name) {
                        self.embedded(&name)?.begin_anew();
                    }
                }
                drop(guards);
                Ok(Vec::new())
            }
        }
    }

    fn save(&self, name: &str) -> Result<Saved, Miss> {
        let backup = self.embedded(name)?.backup().ok_or_else(|| not_in_reach(name))?;
        self.mark("backup", &[("cluster", name)]);
        Ok(Saved { member: name.to_owned(), backup })
    }

    /// Without power nothing is restored.
    fn restore(&mut self, saved: Vec<Saved>) -> Result<Vec<FaultGuard>, Miss> {
        let mut off = Vec::new();
        for Saved { member: name, backup } in saved {
            if self.dark.contains(&name) {
                continue;
            }
            off.push(self.shut_off(&name, "restore")?);
            self.embedded(&name)?.restore(&backup);
            // A copy that is back, and has no manifest any more, is nobody's to take away.
            self.unkept.insert(name);
        }
        Ok(off)
    }

    fn shut_off(&self, name: &str, kind: &str) -> Result<FaultGuard, Miss> {
        let log = self.log.clone();
        Ok(shut_off(self.embedded(name)?, kind, move |mark| log.mark(mark)))
    }

    /// The member, if it runs in this process.
    fn embedded(&self, name: &str) -> Result<&Member, Miss> {
        let member = self.member(name)?;
        member.api().map(|_| member).ok_or_else(|| not_in_reach(name))
    }
}

fn not_in_reach(name: &str) -> Miss {
    Miss::Broken(format!("{name} does not run in this process: what it holds is not in reach"))
}
