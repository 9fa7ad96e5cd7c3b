//! Bounds the wall time at which a history began by the time stamps in its objects.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::observed_object::{ObservedObject, text};
use crate::format::Field;

/// The format in which servers write times. The order of such texts is the order of their times.
const WHOLE_SECONDS: &str = "2006-01-02T15:04:05Z";

/// How many lists of conditions are remembered.
const REMEMBERED: usize = 1024;

/// The stamps of servers and controllers.
/// Such a stamp is never in the future, so each bounds the start from below.
#[derive(Debug)]
pub(super) struct Stamps {
    latest: String,
    /// The digests of the lists that were read. Reading a list again yields nothing new.
    read: Box<[u64; REMEMBERED]>,
}

impl Default for Stamps {
    fn default() -> Self {
        Self { latest: String::new(), read: Box::new([0; REMEMBERED]) }
    }
}

impl Stamps {
    /// The latest wall time at the start that the stamps of `observed` allow, which was observed at `now`.
    /// Returns `None` if the stamps yield nothing new.
    pub(super) fn start(&mut self, observed: &ObservedObject<'_>, now: Duration) -> Option<Timestamp> {
        let is_new = observed.status("conditions").is_some_and(|field| self.is_new(field));
        let conditions = if is_new { observed.conditions() } else { &[] };
        let transitions = conditions.iter().filter_map(|each| each["lastTransitionTime"].as_str());
        let mut start = None;
        for stamp in transitions.chain(Some(&*text(observed.metadata("creationTimestamp")))) {
            start = start.max(self.one(stamp, now));
        }
        start
    }

    fn is_new(&mut self, field: Field<'_>) -> bool {
        let place = usize::try_from(field.digest() % REMEMBERED as u64).unwrap_or_default();
        std::mem::replace(&mut self.read[place], field.digest()) != field.digest()
    }

    fn one(&mut self, stamp: &str, now: Duration) -> Option<Timestamp> {
        // Most stamps are no later than an earlier one, and yield nothing new.
        let is_plain = stamp.len() == WHOLE_SECONDS.len() && stamp.ends_with('Z');
        if is_plain && stamp <= self.latest.as_str() {
            return None;
        }
        if is_plain {
            stamp.clone_into(&mut self.latest);
        }
        let since = SignedDuration::try_from(now).unwrap_or(SignedDuration::MAX);
        capsize_clock::parse_time(stamp).and_then(|time| time.checked_sub(since).ok())
    }
}
