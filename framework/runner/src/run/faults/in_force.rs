//! Begins and ends one fault of the step `faults`.

use capsize_history::FaultKind;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use capsize_clusters::{ApiFaultGuard, NodeFault, StartUp};
use futures::FutureExt;

use super::data_loss::ActiveDataLoss;
use super::undo::OriginalObject;
use crate::nemesis::{Fault, FaultGuard};
use crate::run::driver::{Driver, StepError};
use crate::run::steps::nodes::fault_of_problem;
use crate::run::steps::objects::FAULT_FIELD_MANAGER;
use crate::scenario::{Disturbance, MemberRef, Scale, Taint, Victims};

/// A fault in force.
pub(in crate::run) enum InForce {
    /// Dropping the guards ends the fault.
    Guards { _guards: Vec<FaultGuard> },
    /// Members have lost their data, or will be restored from a backup.
    DataLoss(ActiveDataLoss),
    /// The controllers will crash at a later write, unless the guard is dropped before.
    ArmedCrash { _guard: ApiFaultGuard },
    /// A change that several faults may have made. The last of them undoes it.
    SharedState(String),
}

/// How a shared change is undone.
pub(in crate::run) enum Undo {
    Start,
    EndRival,
    Untaint(Taint),
    StartUp(String, StartUp),
    Scale(Scale),
    Object(Box<OriginalObject>),
}

/// The shared changes in force by name.
/// Each value says how many faults made the change, and how the last of these faults undoes it.
pub(in crate::run) type SharedChanges = BTreeMap<String, (usize, Undo)>;

/// A fault of a member: of its connection, or of the node itself.
enum MemberFault {
    Link(Fault),
    Node(FaultKind, NodeFault),
}

/// The name of the shared change that kills the controllers.
const CONTROLLERS: &str = "controllers";

impl Driver<'_> {
    /// Begins a fault. Returns `None` if the member or object that it refers to does not exist now.
    pub(in crate::run) async fn begin(
        &mut self,
        fault: &Disturbance,
        shared: &mut SharedChanges,
    ) -> Result<Option<InForce>, StepError> {
        if let Some(guard) = self.begin_api_fault(fault).await? {
            return Ok(Some(InForce::Guards { _guards: vec![guard] }));
        }
        if let Disturbance::Crash(crash) = fault {
            return Ok(Some(InForce::ArmedCrash { _guard: self.arm_crash(crash) }));
        }
        if let Disturbance::Restore(loss) | Disturbance::Wipe(loss) = fault {
            let Some(members) = self.victims_now(&loss.cluster.value) else { return Ok(None) };
            self.ask_permission(&members).await?;
            return Ok(Some(InForce::DataLoss(self.begin_data_loss(fault, &members)?)));
        }
        if let Disturbance::Skew(skew) = fault {
            let guards = self.set_clocks(skew).await?;
            return Ok(guards.map(|guards| InForce::Guards { _guards: guards }));
        }
        if let Some((victims, fault)) = self.member_fault(fault)? {
            let Some(members) = self.victims_now(victims) else { return Ok(None) };
            self.ask_permission(&members).await?;
            let guards = members.iter().map(|member| match &fault {
                MemberFault::Link(fault) => self.break_link(member, *fault),
                MemberFault::Node(kind, fault) => self.break_node(member, *kind, fault),
            });
            return Ok(Some(InForce::Guards { _guards: guards.collect::<Result<_, StepError>>()? }));
        }
        let (what, undo) = match self.change(fault).await {
            // The object to be changed does not exist now.
            Err(StepError::Unmet { .. }) => return Ok(None),
            changed => changed?,
        };
        match shared.entry(what.clone()) {
            Entry::Vacant(entry) => drop(entry.insert((1, undo))),
            Entry::Occupied(mut entry) => {
                let (count, first) = entry.get_mut();
                *count += 1;
                if let (Undo::Object(first), Undo::Object(also)) = (first, &undo) {
                    first.merge(also);
                }
            }
        }
        Ok(Some(InForce::SharedState(what)))
    }

    /// The members and their fault, if `fault` is one of members.
    fn member_fault<'f>(
        &self,
        fault: &'f Disturbance,
    ) -> Result<Option<(&'f Victims, MemberFault)>, StepError> {
        Ok(Some(match fault {
            Disturbance::Refuse(refuse) => (&refuse.cluster.value, MemberFault::Link(Fault::Refuse)),
            Disturbance::Partition(it) if self.cluster.is_some() => {
                (&it.cluster.value, MemberFault::Node(FaultKind::Partition, NodeFault::Silent))
            }
            Disturbance::Partition(it) => {
                (&it.cluster.value, MemberFault::Link(Fault::Partition { direction: it.direction }))
            }
            Disturbance::Delay(it) => {
                (&it.cluster.value, MemberFault::Link(Fault::Delay { by: self.length(&it.by)? }))
            }
            Disturbance::Disturb(it) => {
                (&it.cluster.value, MemberFault::Link(self.connection_fault(&it.by.value)?))
            }
            Disturbance::Silence(it) => {
                (&it.node.value, MemberFault::Node(FaultKind::Silent, NodeFault::Silent))
            }
            Disturbance::Condition(it) => {
                let (kind, fault) = fault_of_problem(it.is);
                (&it.node.value, MemberFault::Node(kind, fault))
            }
            _ => return Ok(None),
        }))
    }

    /// The names of the victims, or `None` if no member matches the selector now.
    pub(in crate::run) fn victims_now(&self, victims: &Victims) -> Option<Vec<String>> {
        match victims {
            Victims::Member(member) => Some(vec![self.member_name(member).ok()?]),
            Victims::Domain(..) => victims.of_domain(self.scenario),
        }
    }

    /// Makes the change of a fault. Returns the name of the change and how it is undone.
    async fn change(&mut self, fault: &Disturbance) -> Result<(String, Undo), StepError> {
        Ok(match fault {
            Disturbance::Taint(taint) => {
                let mut taint = taint.clone();
                let member = self.member_name(&taint.cluster.value)?;
                taint.cluster.value = MemberRef::Named(member.clone());
                self.edit_taints(&taint, true).await?;
                (format!("{member} {}:{}", taint.key, taint.effect), Undo::Untaint(taint))
            }
            Disturbance::StartUp(start_up) => {
                let member = self.member_name(&start_up.cluster.value)?;
                let before = self.member(&member)?.start_up();
                self.set_start_up(&member, &start_up.takes)?;
                (format!("{member} startUp"), Undo::StartUp(member, before))
            }
            Disturbance::Scale(scale) => {
                let before = Scale { workload: scale.workload.clone(), to: self.replicas(scale).await? };
                self.scale(scale).await?;
                (format!("{} replicas", scale.workload.value), Undo::Scale(before))
            }
            Disturbance::Apply(apply) => {
                let before = self.original_object(&apply.to.value, &apply.object.value, false).await?;
                self.apply(apply, FAULT_FIELD_MANAGER).await?;
                (before.to_string(), Undo::Object(Box::new(before)))
            }
            Disturbance::Delete(delete) => {
                let before = self.original_object(&delete.from.value, &delete.object.value, true).await?;
                self.delete(delete).await?;
                (before.to_string(), Undo::Object(Box::new(before)))
            }
            Disturbance::DeleteMember(member) => {
                let name = self.member_name(&member.value)?;
                let before = self.original_member(&name).await?;
                self.delete_member(&name).await?;
                (before.to_string(), Undo::Object(Box::new(before)))
            }
            Disturbance::Rival(_) => {
                self.start_rival().await?;
                ("rival".to_owned(), Undo::EndRival)
            }
            _ => {
                self.kill();
                (CONTROLLERS.to_owned(), Undo::Start)
            }
        })
    }

    /// Records that the controllers crashed at a write. They stay dead until the window of the crash ends.
    pub(in crate::run) fn crash_controllers(
        &mut self,
        in_force: &mut BTreeMap<usize, InForce>,
        shared: &mut SharedChanges,
    ) {
        self.kill();
        let arm_crash = in_force.values_mut().find(|each| matches!(each, InForce::ArmedCrash { .. }));
        if let Some(arm_crash) = arm_crash {
            *arm_crash = InForce::SharedState(CONTROLLERS.to_owned());
            shared.entry(CONTROLLERS.to_owned()).or_insert((0, Undo::Start)).0 += 1;
        }
    }

    /// Ends a fault. Returns what cannot be undone yet.
    pub(in crate::run) async fn end(
        &mut self,
        in_force: Option<InForce>,
        shared: &mut SharedChanges,
    ) -> Result<Option<InForce>, StepError> {
        let what = match in_force {
            Some(InForce::SharedState(what)) => what,
            Some(InForce::ArmedCrash { _guard: guard }) => {
                drop(guard);
                // The controllers crashed at this instant: the request that crashed them never gets a response.
                if self.fleet.api_faults().crashed().now_or_never().is_some() {
                    self.kill();
                    self.start().await?;
                }
                return Ok(None);
            }
            Some(InForce::DataLoss(loss)) => {
                let off = self.end_data_loss(loss)?;
                return Ok((!off.is_empty()).then_some(InForce::Guards { _guards: off }));
            }
            Some(InForce::Guards { .. }) | None => return Ok(None),
        };
        let Some((count, _)) = shared.get_mut(&what) else { return Ok(None) };
        *count -= 1;
        if *count > 0 {
            return Ok(None);
        }
        match shared.remove(&what).map(|(_, undo)| undo) {
            Some(Undo::Start) => self.start().await?,
            Some(Undo::EndRival) => self.end_rival(),
            Some(Undo::Untaint(taint)) => match self.edit_taints(&taint, false).await {
                // A member that left the fleet has no taints.
                Ok(()) | Err(StepError::Unmet { .. }) => {}
                broken => broken?,
            },
            Some(Undo::StartUp(member, before)) => self.restore_start_up(&member, before)?,
            Some(Undo::Scale(before)) => match self.scale(&before).await {
                Ok(()) | Err(StepError::Unmet { .. }) => {}
                broken => broken?,
            },
            Some(Undo::Object(before)) if !self.put_back(&before).await? => {
                shared.insert(what.clone(), (1, Undo::Object(before)));
                return Ok(Some(InForce::SharedState(what)));
            }
            Some(Undo::Object(_)) | None => {}
        }
        Ok(None)
    }
}
