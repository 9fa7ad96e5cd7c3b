//! Checks that the record of a workload is deleted with its template: LIVENESS.

use std::collections::BTreeSet;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use capsize_history::facts::{Change, Fact, WorkloadKey};

static LIVENESS_07: GuaranteeSpec = GuaranteeSpec {
    id: "LIVENESS-07",
    sentence: "the record of a workload is deleted after its template",
    features: &[],
    formula: bounds::RECORD_DELETED,
    releases: "all; Karmada left the records of dependencies until 1.13 (#5943)",
    source: "Karmada pkg/detector/detector.go, CleanupResourceBinding; dependenciesdistributor",
};

/// Requirement E4: for a template that existed and is gone.
/// A user may delete a template without what it owns. DELIVERY-02, RECOVERY-01 and DELIVERY-05 check the manifests and copies.
#[derive(Default)]
pub(crate) struct RecordIsDeletedWithTemplate {
    /// The workloads whose templates leave behind what they own when they are deleted.
    orphaned: BTreeSet<WorkloadKey>,
    deadlines: Deadlines,
}

impl Guarantee for RecordIsDeletedWithTemplate {
    accessors!(LIVENESS_07, [Template, WorkloadGone, Recorded], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        match &fact.change {
            Change::Template(key) => self.look(key, fact, context),
            Change::Recorded(key) if self.deadlines.has(&Subject::workload(key)) => {
                self.look(key, fact, context);
            }
            Change::WorkloadGone(key) => {
                self.orphaned.remove(key);
                if let Some(margin) = self.deadlines.close_as_met(&Subject::workload(key), fact) {
                    context.tally.record_held_by(margin);
                }
            }
            _ => {}
        }
    }
}

impl RecordIsDeletedWithTemplate {
    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &JudgeContext<'_>) {
        let subject = Subject::workload(key);
        let recorded = context.workload(key).is_some_and(|workload| workload.recorded);
        let template = context.world.templates.get(key);
        match template {
            Some(template) if template.orphans => drop(self.orphaned.insert(key.clone())),
            Some(_) => drop(self.orphaned.remove(key)),
            None => {}
        }
        if template.is_some() || !recorded || self.orphaned.contains(key) {
            return self.deadlines.cancel(&subject);
        }
        let expectation = Expectation {
            because: format!("the template of {key} is gone"),
            observed: "its record still exists".to_owned(),
        };
        self.deadlines.start(subject, fact, bounds::record_deleted(context.timings()), expectation);
    }
}
