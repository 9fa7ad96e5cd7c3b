//! The bugs that the stand-in hub can have, and the guarantee that each of them violates.

/// A wrong behaviour of the hub or of its agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    UnknownTooEarly,
    ReportsBeforeItRenews,
    StampsAnOldTime,
    ChoosesLostMembers,
    ChoosesWhileItDeletes,
    EvictsFromAll,
    RemovesFirst,
    CountsLostCopies,
    NeverRollsOut,
    KeepsOldCopies,
    NeverEvicts,
    NeverReportsApplied,
}

/// The bugs, each with the guarantee that it violates and with a case.
/// The case is one of the suite in `leases`, and shows the violation.
pub(crate) const BUGS: [(Bug, &str, &str); 12] = [
    (Bug::UnknownTooEarly, "HEALTH-08", "evicts-after-the-toleration"),
    (Bug::ReportsBeforeItRenews, "HEALTH-09", "evicts-after-the-toleration"),
    (Bug::StampsAnOldTime, "TAINT-11", "evicts-after-the-toleration"),
    (Bug::ChoosesLostMembers, "PLACEMENT-17", "lost-member-is-no-new-home"),
    (Bug::ChoosesWhileItDeletes, "PLACEMENT-18", "chosen-again"),
    (Bug::EvictsFromAll, "EVICTION-17", "all-are-lost"),
    (Bug::RemovesFirst, "AVAILABILITY-01", "moved-by-a-person"),
    (Bug::CountsLostCopies, "STATUS-04", "evicts-after-the-toleration"),
    (Bug::NeverRollsOut, "STATUS-05", "evicts-after-the-toleration"),
    (Bug::KeepsOldCopies, "DELIVERY-02", "moved-by-a-person"),
    (Bug::NeverEvicts, "TOLERATION-01", "evicts-after-the-toleration"),
    (Bug::NeverReportsApplied, "LIVENESS-02", "evicts-after-the-toleration"),
];

impl Bug {
    /// The name as mutants have it, such as `stand-in-hub-never-evicts`.
    pub(crate) fn id(self) -> String {
        let mut id = "stand-in-hub".to_owned();
        for letter in format!("{self:?}").chars() {
            if letter.is_uppercase() {
                id.push('-');
            }
            id.extend(letter.to_lowercase());
        }
        id
    }
}
