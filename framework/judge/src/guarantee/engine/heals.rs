//! Suspected violations, which the watch of another object may still explain.

use std::collections::BTreeMap;
use std::time::Duration;

use super::court::{Charge, Court, NEVER};
use crate::guarantee::{Bound, Subject};
use capsize_history::facts::Fact;

/// What looks wrong, until the watches of other objects have had time to tell of a reason.
#[derive(Debug, Default)]
pub(crate) struct Suspects(BTreeMap<Subject, Suspect>);

#[derive(Debug)]
struct Suspect {
    fact: Fact,
    because: String,
    seen: String,
}

impl Suspects {
    /// `fact` looks wrong: it must never be.
    pub(crate) fn suspect(&mut self, subject: Subject, fact: &Fact, because: String, seen: String) {
        self.0.entry(subject).or_insert(Suspect { fact: fact.clone(), because, seen });
    }

    /// Nothing is decided before that.
    pub(crate) fn due(&self) -> Duration {
        self.0.values().map(|suspect| suspect.fact.at).min().unwrap_or(NEVER)
    }

    /// Time has come to `now`: those are charged that nothing has dispelled, unless they are `innocent` by now.
    pub(crate) fn pass(
        &mut self,
        now: Duration,
        court: &mut Court<'_>,
        innocent: impl Fn(&Subject, &Fact, &Court<'_>) -> bool,
    ) {
        let skew = court.disorder();
        for (subject, suspect) in self.0.extract_if(.., |_, suspect| now > suspect.fact.at + skew) {
            let Suspect { fact, because, seen } = suspect;
            if innocent(&subject, &fact, court) {
                court.book.held();
            } else {
                court.violated(Charge::by(&fact, subject, Bound::Never, because, seen));
            }
        }
    }
}
