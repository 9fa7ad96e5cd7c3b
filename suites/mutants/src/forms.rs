//! The forms of workloads in which a wrong rule is noticed, besides the scenario that the mutant names.
//!
//! A form is a scenario of the group `forms`: it takes a workload of that form through the same life. In a form that is not
//! listed for a mutant, the wrong rule breaks no promise; mostly the history is the same as with the right rule.

/// All forms.
const ALL: &str = "duplicated divided by-room spread cluster-scoped";

/// The mutant, the guarantee that names the cause, and the forms in which it does.
const NOTICED: [(&str, &str, &str); 76] = [
    ("a-copy-is-forgotten-while-its-member-is-away", "AVAILABILITY-02", "divided by-room spread"),
    ("a-copy-is-forgotten-while-its-member-is-away", "DELIVERY-05", "duplicated cluster-scoped"),
    ("a-copy-is-waited-for-where-the-member-is-back", "RECOVERY-01", ALL),
    ("a-copy-that-is-being-left-is-written-anew", "DELIVERY-08", "divided"),
    ("a-dead-member-is-not-avoided", "TAINT-01", ALL),
    ("a-dead-member-is-not-ready-and-unreachable-at-once", "TAINT-05", ALL),
    ("a-dead-member-is-only-avoided-where-that-can-be-helped", "TAINT-01", ALL),
    ("a-healthy-replacement-is-not-noticed", "EVICTION-01", ALL),
    ("a-member-is-named-twice", "REPLICAS-01", ALL),
    ("a-member-that-is-back-is-never-reported-ready", "HEALTH-04", ALL),
    ("a-member-that-is-probed-falls-silent", "HEALTH-03", ALL),
    ("a-move-does-not-wait-for-the-new-copy", "EVICTION-03", "divided by-room"),
    ("a-move-does-not-wait-for-the-new-copy", "EVICTION-02", "spread cluster-scoped"),
    ("a-ready-member-is-tainted-all-the-same", "TAINT-03", ALL),
    ("a-record-outlives-its-template", "LIVENESS-07", ALL),
    ("a-replica-is-lost", "REPLICAS-03", "divided by-room"),
    ("a-replica-is-lost", "REPLICAS-02", "duplicated spread"),
    ("a-replica-is-lost-where-there-is-room", "REPLICAS-09", "by-room"),
    ("a-replica-is-lost-where-there-is-room", "REPLICAS-03", "divided"),
    ("a-replica-is-lost-where-there-is-room", "REPLICAS-02", "duplicated spread"),
    ("a-tainted-member-is-chosen", "PLACEMENT-16", "divided by-room cluster-scoped spread"),
    ("a-tainted-member-is-chosen", "PLACEMENT-03", "duplicated"),
    ("a-task-records-one-replica-too-many", "EVICTION-06", "duplicated divided by-room spread"),
    ("a-template-has-twice-its-ready-replicas", "STATUS-03", "duplicated divided by-room spread"),
    ("all-copies-have-one-name", "STATUS-02", ALL),
    ("an-eviction-leaves-no-task", "PLACEMENT-01", "duplicated divided by-room spread"),
    ("an-eviction-leaves-two-tasks", "EVICTION-05", ALL),
    ("copies-are-left-behind", "DELIVERY-05", ALL),
    ("duplicated-replicas-are-one-too-few", "REPLICAS-03", "divided by-room"),
    ("duplicated-replicas-are-one-too-few", "REPLICAS-02", "duplicated spread"),
    ("earlier-health-counts", "EVICTION-03", "divided by-room"),
    ("every-event-divides-replicas-again", "PLACEMENT-11", "divided"),
    ("every-namespace-is-synced", "DELIVERY-12", ALL),
    ("every-running-copy-is-called-healthy", "EVICTION-03", "divided by-room spread"),
    ("every-running-copy-is-called-healthy", "STATUS-01", "duplicated"),
    ("every-task-has-a-timeout-of-its-own", "EVICTION-09", ALL),
    ("everything-is-tolerated", "TOLERATION-01", ALL),
    ("evicted-workloads-are-not-placed-again", "REPLICAS-03", "divided by-room"),
    ("evicted-workloads-are-not-placed-again", "PLACEMENT-08", "cluster-scoped"),
    ("evicted-workloads-are-not-placed-again", "REPLICAS-02", "duplicated spread"),
    ("evictions-ignore-that-the-taint-is-gone", "TOLERATION-02", ALL),
    ("health-taints-bear-an-earlier-time", "TAINT-11", ALL),
    ("milliseconds-are-taken-for-seconds", "TOLERATION-01", ALL),
    ("no-copy-is-reported-to-be-healthy", "STATUS-01", "duplicated divided by-room spread"),
    ("no-copy-is-reported-to-be-healthy", "LIVENESS-06", "cluster-scoped"),
    ("no-finalizer", "DELIVERY-02", "duplicated divided spread cluster-scoped"),
    ("no-toleration-counts-if-the-member-is-lost", "TOLERATION-01", ALL),
    ("objects-without-replicas-get-one", "REPLICAS-05", "cluster-scoped"),
    ("one-failed-probe-is-enough", "HEALTH-01", ALL),
    ("one-member-is-forgotten-in-the-status", "LIVENESS-02", ALL),
    ("one-member-too-few-is-chosen", "REPLICAS-12", "by-room"),
    ("one-member-too-few-is-chosen", "PLACEMENT-08", "spread cluster-scoped"),
    ("one-member-too-few-is-chosen", "REPLICAS-06", "divided"),
    ("one-member-too-few-is-chosen", "PLACEMENT-07", "duplicated"),
    ("one-member-too-many-is-chosen", "PLACEMENT-02", "spread cluster-scoped"),
    ("own-patch-unobserved", "LIVENESS-01", "divided by-room"),
    ("reports-on-members-that-were-left-stay", "STATUS-02", ALL),
    ("statusless-unknown", "LIVENESS-06", "cluster-scoped"),
    ("taints-drive-out", "PLACEMENT-01", "duplicated divided by-room spread"),
    ("taints-of-ill-health-stay", "TAINT-03", ALL),
    ("tasks-are-never-stamped", "EVICTION-08", ALL),
    ("tasks-lost", "EVICTION-01", ALL),
    ("the-copy-goes-as-soon-as-it-is-evicted", "EVICTION-03", "divided by-room spread cluster-scoped"),
    ("the-end-of-an-eviction-is-not-announced", "EVICTION-16", ALL),
    ("the-eviction-timeout-begins-anew-with-every-look", "TAINT-02", ALL),
    ("the-eviction-timeout-is-halved", "TAINT-02", ALL),
    ("the-failure-threshold-is-doubled", "HEALTH-01", ALL),
    ("the-last-by-name-is-the-first-choice", "PLACEMENT-12", "spread cluster-scoped"),
    ("the-old-copy-goes-before-the-new-one-is-healthy", "EVICTION-03", "divided by-room"),
    ("the-old-copy-goes-before-the-new-one-is-healthy", "EVICTION-02", "spread cluster-scoped"),
    ("the-present-members-do-not-count", "PLACEMENT-01", "spread"),
    ("the-taint-that-evicts-comes-and-goes", "TAINT-10", "duplicated divided spread cluster-scoped"),
    ("the-taint-that-evicts-is-never-taken-away", "TAINT-04", ALL),
    ("tolerations-are-not-looked-at", "TOLERATION-01", ALL),
    ("tolerations-end-half-a-minute-late", "TOLERATION-01", ALL),
    ("tolerations-end-ten-seconds-early", "TOLERATION-01", ALL),
];

/// Returns the scenarios of the forms in which the mutant called `id` is noticed.
/// Each scenario has the guarantee that notices the mutant.
pub(crate) fn of(id: &str) -> impl Iterator<Item = (String, &'static str)> {
    let of_id = NOTICED.into_iter().filter(move |(mutant, ..)| *mutant == id);
    of_id.flat_map(|(_, guarantee, forms)| {
        forms.split(' ').map(move |form| (format!("forms/{form}"), guarantee))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_belongs_to_a_mutant() {
        let mutants = crate::all();
        for (id, ..) in NOTICED {
            assert!(mutants.iter().any(|mutant| mutant.id == id), "there is no mutant {id}");
        }
    }
}
