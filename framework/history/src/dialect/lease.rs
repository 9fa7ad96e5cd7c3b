//! Leases: a renewal to a later time than ever before is a sign of life of its member.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::facts::{Change, World};

/// The renewals of each Lease.
#[derive(Debug, Default)]
pub struct Leases(BTreeMap<String, LeaseRenewal>);

/// The times of the renewals of a Lease.
#[derive(Clone, Copy, Debug)]
struct LeaseRenewal {
    /// The latest time since the controllers started.
    latest: Timestamp,
    /// The time of the latest version, which is earlier than `latest` if a clock was set back.
    last: Timestamp,
    /// Whether the member was created again, or became Unknown, since `latest`.
    /// A controller that forgets deleted members knows only the last renewal. Real controllers never forget them, but
    /// they know only the last renewal of a node that they have made Unknown.
    may_be_forgotten: bool,
    /// Whether the record of the member was ever observed.
    /// A member that is deleted may go on to renew its Lease.
    was_member: bool,
}

impl Leases {
    /// Whether a version of the Lease was observed before.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Notes that the controllers start again, and know only the last renewals.
    pub fn begin_anew(&mut self) {
        self.0.values_mut().for_each(|known| known.latest = known.last);
    }

    /// Notes that the member with this name is created, perhaps again.
    pub fn made_anew(&mut self, name: &str) {
        if let Some(known) = self.0.get_mut(name) {
            known.may_be_forgotten = true;
            known.was_member = true;
        }
    }

    /// Notes that the member with this name has become Unknown.
    /// Controllers may know only its last renewal from then on.
    pub fn became_unknown(&mut self, name: &str) {
        if let Some(known) = self.0.get_mut(name) {
            known.may_be_forgotten = true;
        }
    }

    /// Takes over a version of the Lease with this name, which was renewed at `renewed`.
    /// The first observed version may be old.
    pub fn observe(&mut self, world: &mut World, name: &str, renewed: Timestamp) -> Option<Change> {
        world.heartbeats_shown = true;
        let is_member = world.members.contains_key(name);
        let fresh =
            LeaseRenewal { latest: renewed, last: renewed, may_be_forgotten: false, was_member: is_member };
        let Some(known) = self.0.get_mut(name) else {
            self.0.insert(name.to_owned(), fresh);
            return None;
        };
        let is_later = renewed > known.latest;
        let is_a_sign = is_later || known.may_be_forgotten && renewed > known.last;
        let was_member = is_member || known.was_member;
        let next = if is_later { fresh } else { LeaseRenewal { last: renewed, ..*known } };
        *known = LeaseRenewal { was_member, ..next };
        if !is_a_sign {
            return None;
        }
        let Some(member) = world.members.get_mut(name) else {
            if !was_member {
                world.strangers.insert(name.to_owned());
            }
            return None;
        };
        // A renewal that only some controllers count as one starts no deadline.
        member.sign_of_life = is_later.then_some(world.now);
        Some(Change::SignOfLife(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Member;

    #[test]
    fn only_a_lease_whose_member_was_never_observed_is_that_of_a_stranger() {
        let renewed_at = |second| Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(second);
        let may_have_unobserved_members = |was_member: bool| {
            let (mut world, mut leases) = (World::default(), Leases::default());
            if was_member {
                world.members.insert("n1".to_owned(), Member::default());
            }
            leases.observe(&mut world, "n1", renewed_at(1));
            world.members.clear();
            leases.observe(&mut world, "n1", renewed_at(2));
            world.may_have_unobserved_members()
        };
        assert!(!may_have_unobserved_members(true));
        assert!(may_have_unobserved_members(false));
    }
}
