//! What users want members tainted for.

use super::{Affinity, Member, TaintEffect};

/// A wish of the user: taints that come and go with the conditions of members.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaintPolicy {
    /// When it was made, by its time stamp; those made first come first.
    pub created: String,
    /// The members meant; `None` is all.
    pub members: Option<Affinity>,
    /// The taints come when all of these hold; never where there are none.
    pub add_on: Vec<ConditionMatch>,
    /// They go when all of these hold; never where there are none.
    pub remove_on: Vec<ConditionMatch>,
    /// Key and effect of each.
    pub taints: Vec<(String, TaintEffect)>,
}

/// What a condition must say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConditionMatch {
    /// Its type.
    pub condition: String,
    /// Whether its status must be none of `statuses`, rather than one of them.
    pub none_of: bool,
    /// What it is compared with.
    pub statuses: Vec<String>,
}

impl ConditionMatch {
    /// Whether `member` has such a condition; one that it never told matches nothing.
    #[must_use]
    pub fn holds(&self, member: &Member) -> bool {
        member.conditions.get(&self.condition).is_some_and(|is| self.statuses.contains(is) != self.none_of)
    }
}

impl TaintPolicy {
    /// Whether it wants its taints on the member called `name` (`Some(true)`), off it, or says nothing.
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
