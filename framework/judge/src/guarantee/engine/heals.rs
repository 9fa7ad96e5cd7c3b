//! Two habits of guarantees: a state that may be wrong for a while but must heal, and a suspicion that another watch may
//! still dispel.

use std::collections::BTreeMap;
use std::time::Duration;

use super::court::{Charge, Court, NEVER, Reason, Waits};
use crate::guarantee::{Bound, Subject};
use capsize_history::facts::Fact;

impl Waits {
    /// What is `wrong` with `subject` must heal within `allowed`; where nothing is, a wait that there was is over.
    pub(crate) fn heal(
        &mut self,
        subject: Subject,
        fact: &Fact,
        allowed: Duration,
        wrong: Option<Reason>,
        court: &mut Court<'_>,
    ) {
        match wrong {
            Some(reason) => self.start(subject, fact, allowed, reason),
            None => {
                if let Some(left) = self.met(&subject, fact) {
                    court.book.held_by(left);
                }
            }
        }
    }
}

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
