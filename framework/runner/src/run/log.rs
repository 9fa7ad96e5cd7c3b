//! The log of a run: what is written down in it, who waits for something to be in it, and what it adds up to.

use std::sync::Arc;
use std::time::Duration;

use capsize_clock::Clock;
use tokio::sync::{Notify, watch};

use super::judge_worker::Scribe;
use super::run_state::{Account, Eviction, Heard};
use super::watch_lines::Line;
use crate::chaos::Coverage;
use capsize_history::facts::{Fact, World};
use capsize_history::{Kind, Mark};
use capsize_judge::judge::Judgement;

/// The log of one run. Clones are the same log.
#[derive(Clone)]
pub(super) struct Log(Arc<Shared>);

struct Shared {
    clock: Clock,
    scribe: Scribe,
    changed: watch::Sender<u64>,
    runs_away: Notify,
    decided: Notify,
}

/// How long a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// To its end.
    End,
    /// Until a guarantee is violated: this one, or any where none is named.
    Violated(Option<&'static str>),
}

impl Log {
    /// A log that begins with an empty `account`, which is kept on a thread of its own if `apart`.
    #[expect(clippy::disallowed_methods, reason = "one waits at a time, so that there is no order")]
    pub(super) fn new(clock: Clock, account: Account, apart: bool) -> Self {
        let (scribe, changed) = (Scribe::new(account, apart), watch::Sender::new(0));
        let (runs_away, decided) = (Notify::new(), Notify::new());
        Self(Arc::new(Shared { clock, scribe, changed, runs_away, decided }))
    }

    /// Time since the start of the history, to the microsecond, as histories keep it.
    pub(super) fn now(&self) -> Duration {
        let micros = self.0.clock.elapsed().as_micros();
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// Writes down a mark.
    pub(super) fn mark(&self, mark: Mark) {
        self.push(Kind::Mark(mark));
    }

    /// Writes down what happens now.
    pub(super) fn push(&self, kind: Kind) {
        self.hear(Heard::Entry(kind));
    }

    /// Writes down what these lines say, which watches have sent now.
    pub(super) fn lines(&self, lines: Vec<Line>) {
        self.hear(Heard::Lines(lines));
    }

    fn hear(&self, heard: Heard) {
        let told = self.0.scribe.hear(self.now(), heard);
        if told.decided {
            self.0.decided.notify_one();
        }
        self.0.changed.send_modify(|version| *version += 1);
        if told.runs_away {
            self.0.runs_away.notify_one();
        }
    }

    /// Ends when the target does not come to rest at the present instant: time stands still then, so that no sleep ends.
    pub(super) async fn runs_away(&self) {
        self.0.runs_away.notified().await;
    }

    /// Ends when all is known that is to be known of the run.
    pub(super) async fn decided(&self) {
        self.0.decided.notified().await;
    }

    /// Says that the recording is no longer whole, and why.
    pub(super) fn break_off(&self, why: String) {
        self.0.scribe.account().broken.get_or_insert(why);
        self.0.changed.send_modify(|version| *version += 1);
    }

    /// How many entries there are at the present instant, if they are too many to end.
    pub(super) fn endless(&self) -> Option<u32> {
        self.0.scribe.account().endless()
    }

    /// Why the recording is not whole, if it is not.
    pub(super) fn broken(&self) -> Option<String> {
        self.0.scribe.account().broken.clone()
    }

    /// Looks at the present state.
    pub(super) fn look<T>(&self, look: impl FnOnce(&World, &[Eviction]) -> T) -> T {
        self.0.scribe.account().look(look)
    }

    /// The latest facts, oldest first.
    pub(super) fn recent(&self) -> Vec<Fact> {
        self.0.scribe.account().recent()
    }

    /// What has been tried so far.
    pub(super) fn coverage(&self) -> Coverage {
        self.0.scribe.account().coverage.clone()
    }

    /// Tells of every change from now on.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Ends the log: the verdicts, and the history if it was kept. Later entries are not taken.
    pub(super) fn finish(&self) -> Option<(Judgement, Option<Vec<u8>>)> {
        self.0.scribe.account().finish()
    }
}
