//! The taints that users want on members with certain conditions.

use super::{Affinity, Member, TaintEffect};

/// A policy of the user: taints that are added and removed by the conditions of members.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaintPolicy {
    /// When the policy was created, by its time stamp. Older policies come first.
    pub created: String,
    /// The members that the policy applies to; `None` is all.
    pub members: Option<Affinity>,
    /// The taints are added when all of these hold; never if the list is empty.
    pub add_on: Vec<ConditionMatch>,
    /// The taints are removed when all of these hold; never if the list is empty.
    pub remove_on: Vec<ConditionMatch>,
    /// Key and effect of each taint.
    pub taints: Vec<(String, TaintEffect)>,
}

/// A required status of a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConditionMatch {
    /// The type of the condition.
    pub condition: String,
    /// Whether the status must be none of `statuses`, rather than one of them.
    pub none_of: bool,
    /// The statuses of the comparison.
    pub statuses: Vec<String>,
}

impl ConditionMatch {
    /// Whether the condition of `member` matches. A condition that was never reported matches nothing.
    #[must_use]
    pub fn holds(&self, member: &Member) -> bool {
        member.conditions.get(&self.condition).is_some_and(|is| self.statuses.contains(is) != self.none_of)
    }
}

impl TaintPolicy {
    /// Returns whether the policy wants its taints on the member with this name.
    /// The result is `Some(true)` if the policy wants its taints on the member, and `Some(false)` if it wants them off
    /// the member. The result is `None` if the policy wants neither.
    #[must_use]
    pub fn wants(&self, name: &str, member: &Member) -> Option<bool> {
        let all =
            |matches: &[ConditionMatch]| !matches.is_empty() && matches.iter().all(|each| each.holds(member));
        let meant = self.members.as_ref().is_none_or(|members| members.admits(name, member));
        match (meant, all(&self.remove_on), all(&self.add_on)) {
            (true, true, _) => Some(false),
            (true, false, true) => Some(true),
            _ => None,
        }
    }
}
