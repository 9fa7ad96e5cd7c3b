//! Which guarantee stands for which rule of failover; of those that none stands for, why.
//!
//! The rules are those that can be read from the real controllers: transitions in time (T), states (S), the choice of
//! members (L), the arithmetic of replicas (R), evictions (V), health and taints (H), and what must come in the end (E).

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// These guarantees, by their ids, say it.
    By(&'static [&'static str]),
    /// None does, for this reason.
    Not(&'static str),
}

/// A rule, in a few words, and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Covered {
    /// For example `T4a`.
    pub rule: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// What became of it.
    pub cover: Cover,
}

const fn by(rule: &'static str, about: &'static str, ids: &'static [&'static str]) -> Covered {
    Covered { rule, about, cover: Cover::By(ids) }
}

const fn not(rule: &'static str, about: &'static str, why: &'static str) -> Covered {
    Covered { rule, about, cover: Cover::Not(why) }
}

/// Every rule, in the order of its letter and number.
#[must_use]
pub fn coverage() -> &'static [Covered] {
    &COVERAGE
}

static COVERAGE: [Covered; 107] = [
    by("T1", "a probed member fails: not ready", &["HEALTH-01"]),
    not(
        "T1'",
        "the first probe after a restart has no threshold",
        "an exception that HEALTH-01 and HEALTH-04 make; it promises nothing",
    ),
    by("T2", "an agent falls silent: unknown", &["HEALTH-02"]),
    not(
        "T2'",
        "the API of a member that pulls fails: not ready",
        "faults of a member's own API are not told apart from those of its link, which cut its agent off too",
    ),
    by("T2''", "a member that never reported: unknown", &["HEALTH-06"]),
    by("T3", "not ready: NoSchedule taint", &["TAINT-01"]),
    by("T4a", "not ready for long: NoExecute taint", &["TAINT-02"]),
    by("T4b", "unknown for long: NoExecute taint", &["TAINT-07"]),
    by("T4c", "a policy's condition holds: its taint", &["TAINT-08"]),
    by("T4d", "no automatic NoExecute taint as from 1.14", &["TAINT-06"]),
    not(
        "T4e",
        "a restart begins the eviction timeout anew",
        "an exception that TAINT-02 makes: its wait begins anew when controllers are back",
    ),
    by("T5", "NoExecute taint: the end of the toleration", &["TOLERATION-01"]),
    by("T5'", "an untolerated NoExecute taint: eviction", &["TOLERATION-01"]),
    by("T6", "the end of the toleration: the task, in a queue", &["TOLERATION-01", "EVICTION-13"]),
    by("T7", "the task: its time stamp", &["EVICTION-08"]),
    by("T8", "the task: another member is chosen", &["PLACEMENT-08", "REPLICAS-03"]),
    not(
        "T8'",
        "without a member that fits, there is no bound",
        "an exception that PLACEMENT-08 and REPLICAS-03 make; LIVENESS-01 has it told",
    ),
    by("T9", "the choice: the manifest", &["DELIVERY-01", "DELIVERY-07"]),
    by("T10", "the manifest: the copy", &["DELIVERY-04"]),
    by("T11", "all are healthy: the task ends", &["EVICTION-01"]),
    by("T12", "the timeout: the task ends", &["EVICTION-02"]),
    by("T13", "the task ends: the old manifest is deleted", &["DELIVERY-02"]),
    by("T14", "the deletion: the old manifest is gone", &["RECOVERY-01"]),
    by("T15", "a member answers again: ready", &["HEALTH-04"]),
    by("T16", "ready: no NoSchedule taint", &["TAINT-03"]),
    by("T17", "ready: no automatic NoExecute taint", &["TAINT-04"]),
    by("T17'", "ready: no NoExecute taint of a policy", &["TAINT-08"]),
    by("T18", "a workload is unhealthy for long: the task", &["EVICTION-12"]),
    not(
        "T19",
        "another leader takes over",
        "no fact of its own: every wait begins anew from the end of the fault, and allows for takeover",
    ),
    by("T20", "a member is removed: workloads leave it", &["PLACEMENT-06", "LIVENESS-03"]),
    by("S1", "assigned and evicted from exclude each other", &["EVICTION-04"]),
    by("S2", "one task for a member", &["EVICTION-05"]),
    by("S3", "an assignment is well formed", &["REPLICAS-01"]),
    by("S4", "duplicated: each has all replicas", &["REPLICAS-02"]),
    by("S5", "divided: the shares add up", &["REPLICAS-03"]),
    by("S6", "divided: no empty share", &["REPLICAS-04"]),
    by("S7", "without replicas: none are assigned", &["REPLICAS-05"]),
    by("S8", "the task tells the replicas", &["EVICTION-06"]),
    by("S9", "the time stamp does not change", &["EVICTION-07", "EVICTION-08"]),
    by("S10", "who may have a timeout, and who keeps", &["EVICTION-09"]),
    by("S11", "health taints exclude each other", &["TAINT-05"]),
    by("S12", "health and NoSchedule taint agree", &["TAINT-01", "TAINT-03"]),
    by("S13", "a probed member is never unknown", &["HEALTH-03"]),
    by("S14", "what a member is not known to serve stays there", &["PLACEMENT-01"]),
    by("S15", "manifests are where the workload is", &["DELIVERY-01", "DELIVERY-02"]),
    by("S16", "no two manifests for one copy", &["DELIVERY-03"]),
    by("S17", "copies are where manifests are", &["DELIVERY-04", "DELIVERY-05"]),
    by("S18", "fully applied is told only then", &["DELIVERY-06"]),
    by("S19", "dependencies know where they are needed", &["DELIVERY-10"]),
    by("S20", "dependencies are where they are needed", &["DELIVERY-01", "DELIVERY-10"]),
    by("L1", "what is well stays", &["PLACEMENT-01"]),
    by("L2", "newcomers are tolerated", &["PLACEMENT-03"]),
    by("L3", "targets are meant", &["PLACEMENT-04", "PLACEMENT-07"]),
    by("L4", "newcomers serve the kind", &["PLACEMENT-05"]),
    by("L5", "no return while the eviction lasts", &["EVICTION-04"]),
    by("L6", "members that are removed are not chosen", &["PLACEMENT-06"]),
    by("L7", "as many members as asked for", &["PLACEMENT-02"]),
    by("L8", "as many regions as asked for", &["PLACEMENT-10"]),
    by("L9", "without limit: all that fit", &["PLACEMENT-07"]),
    by("L10", "too few that fit: nothing changes", &["PLACEMENT-01", "PLACEMENT-02"]),
    by("L11", "none that fits: none is assigned", &["PLACEMENT-07"]),
    by("L12", "groups move forward only", &["PLACEMENT-09"]),
    not(
        "L13",
        "the same inputs give the same choice",
        "one history does not hold the inputs twice; runs of one seed are compared byte by byte instead",
    ),
    by("L14", "no return by itself", &["PLACEMENT-11"]),
    by("L15", "free places are taken in order", &["PLACEMENT-12"]),
    by("R1", "fixed weights divide exactly", &["REPLICAS-06"]),
    by("R2", "seat by seat nobody loses by growth", &["REPLICAS-06"]),
    by("R3", "survivors keep their replicas", &["REPLICAS-07"]),
    by("R4", "nobody gains by shrinking", &["REPLICAS-08"]),
    by("R5", "no more than there is room for", &["REPLICAS-10"]),
    by("R6", "few members stay few", &["REPLICAS-11"]),
    by("R7", "all or nothing", &["REPLICAS-09"]),
    not(
        "R8",
        "a workload may grow on a tainted member that it is on",
        "a permission: PLACEMENT-03 asks of newcomers only",
    ),
    by("R9", "without weight, no share", &["REPLICAS-06"]),
    by("V1", "an eviction has a taint that is not tolerated", &["TOLERATION-01", "TOLERATION-02"]),
    by("V2", "such a taint evicts", &["TOLERATION-01"]),
    by("V3", "a taint that goes in time evicts nothing", &["TOLERATION-02"]),
    by("V4", "switched off, nothing is evicted", &["EVICTION-10"]),
    by("V5", "a toleration for ever lasts", &["TOLERATION-01"]),
    by("V6", "the old copy stays until the new one runs", &["EVICTION-03"]),
    by("V7", "every task ends", &["EVICTION-02"]),
    by("V8", "no task ends without a reason", &["EVICTION-02", "EVICTION-08"]),
    by("V9", "directly: the old copy goes first", &["DELIVERY-07"]),
    by("V10", "never: the old copy stays", &["EVICTION-11"]),
    by("V11", "the old manifest is frozen", &["DELIVERY-08"]),
    by("V12", "the copy in a lost member is deleted in the end", &["DELIVERY-05", "RECOVERY-01"]),
    by("V13", "a member chosen again has its copy", &["DELIVERY-04"]),
    by("V14", "the new copy is told of the old one", &["DELIVERY-09"]),
    by("V15", "evicted for ill health only after that lasted", &["EVICTION-12"]),
    by("V16", "stale health is no new health", &["EVICTION-12"]),
    by("V17", "evictions are paced", &["EVICTION-13"]),
    by("V18", "others are left alone", &["PLACEMENT-01", "PLACEMENT-11"]),
    by("V19", "tasks do not disturb each other", &["EVICTION-07"]),
    by("V20", "a restart loses nothing", &["EVICTION-02", "EVICTION-07"]),
    by("H1", "not ready only after the threshold", &["HEALTH-01"]),
    by("H2", "one success begins it anew", &["HEALTH-01"]),
    by("H3", "nothing new of a member that is away", &["HEALTH-05"]),
    by("H4", "the eviction timeout, or a wish", &["TAINT-02", "TAINT-06"]),
    by("H5", "policies: taints as conditions ask", &["TAINT-08"]),
    by("H6", "policies touch their own taints only", &["TAINT-01", "TAINT-08"]),
    by("H7", "policies do not revert what a person does", &["TAINT-08"]),
    by("H8", "unknown only where an agent is silent", &["HEALTH-02", "HEALTH-03"]),
    by("E1", "a member that is back is as before", &["TAINT-03", "TAINT-04", "DELIVERY-04", "RECOVERY-01"]),
    by("E2", "everything is placed and applied in the end", &["LIVENESS-01", "LIVENESS-02"]),
    by("E3", "a member that is removed goes", &["LIVENESS-03", "LIVENESS-04"]),
    by("E4", "cycles leave nothing behind", &["DELIVERY-02", "DELIVERY-05", "EVICTION-02", "TAINT-03"]),
    by("E5", "dependencies are closed on every target", &["DELIVERY-01", "DELIVERY-10"]),
];
