//! That nothing of a workload outlives its template: LIVENESS.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::court::{Court, Guarantee, Reason, Topics, Waits, topics};
use crate::guarantee::{Rule, Subject};
use capsize_history::facts::{Fact, News, WorkloadKey};

static LIVENESS_07: Rule = Rule {
    id: "LIVENESS-07",
    sentence: "the record of a workload goes with its template",
    features: &[],
    formula: bounds::OUTLIVED,
    releases: "all; Karmada left records of what others depend on until 1.13 (#5943)",
    source: "Karmada pkg/detector/detector.go, CleanupResourceBinding; dependenciesdistributor",
};

/// E4: a template that was there and is gone for good. That its manifests and copies go with the record is DELIVERY-02, RECOVERY-01
/// and DELIVERY-05.
#[derive(Default)]
pub(crate) struct RecordGoesWithTemplate(Waits);

impl Guarantee for RecordGoesWithTemplate {
    fn rule(&self) -> &'static Rule {
        &LIVENESS_07
    }

    fn topics(&self) -> Topics {
        topics![Template, WorkloadGone, Recorded]
    }

    fn waits(&mut self) -> Option<&mut Waits> {
        Some(&mut self.0)
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::Template(key) => self.look(key, fact, court),
            News::Recorded(key) if self.0.has(&Subject::workload(key)) => self.look(key, fact, court),
            News::WorkloadGone(key) => {
                if let Some(left) = self.0.met(&Subject::workload(key), fact) {
                    court.book.held_by(left);
                }
            }
            _ => {}
        }
    }
}

impl RecordGoesWithTemplate {
    fn look(&mut self, key: &WorkloadKey, fact: &Fact, court: &Court<'_>) {
        let subject = Subject::workload(key);
        let recorded = court.workload(key).is_some_and(|workload| workload.recorded);
        if court.world.templates.contains_key(key) || !recorded {
            return self.0.cancel(&subject);
        }
        let reason = Reason {
            because: format!("the template of {key} is gone"),
            missing: "its record is still there".to_owned(),
        };
        self.0.start(subject, fact, bounds::outlived(court.timings()), reason);
    }
}
