//! The log of a run: adds entries to the history and notifies the steps that wait for changes.

use std::sync::Arc;
use std::time::Duration;

use capsize_clock::Clock;
use tokio::sync::{Notify, watch};

use super::judge_worker::JudgeWorker;
use super::run_state::{Eviction, Input, RunState};
use super::watch_lines::WatchLine;
use capsize_history::facts::World;
use capsize_history::{Kind, Mark};

/// The log of one run. Clones share the same log.
#[derive(Clone)]
pub(super) struct Log(Arc<SharedState>);

struct SharedState {
    clock: Clock,
    worker: JudgeWorker,
    changed: watch::Sender<u64>,
    livelock: Notify,
    decided: Notify,
}

/// How long a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// To the end of the scenario.
    End,
    /// Until a guarantee is violated: the named one, or any if none is named.
    Violated(Option<&'static str>),
}

impl Log {
    /// A log that begins with `state`. With `on_thread`, a second thread updates the state.
    #[expect(clippy::disallowed_methods, reason = "one waits at a time, so that there is no order")]
    pub(super) fn new(clock: Clock, state: RunState, on_thread: bool) -> Self {
        let (worker, changed) = (JudgeWorker::new(state, on_thread), watch::Sender::new(0));
        let (livelock, decided) = (Notify::new(), Notify::new());
        Self(Arc::new(SharedState { clock, worker, changed, livelock, decided }))
    }

    /// The time since the start of the history, to the microsecond, as histories record it.
    pub(super) fn now(&self) -> Duration {
        let micros = self.0.clock.elapsed().as_micros();
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// Records a mark now.
    pub(super) fn mark(&self, mark: Mark) {
        self.entry(Kind::Mark(mark));
    }

    /// Records an entry now.
    pub(super) fn entry(&self, kind: Kind) {
        self.push(Input::Entry(kind));
    }

    /// Records the lines that watches received now.
    pub(super) fn lines(&self, lines: Vec<WatchLine>) {
        self.push(Input::Lines(lines));
    }

    fn push(&self, input: Input) {
        let result = self.0.worker.push(self.now(), input);
        if result.decided {
            self.0.decided.notify_one();
        }
        self.0.changed.send_modify(|version| *version += 1);
        if result.livelock {
            self.0.livelock.notify_one();
        }
    }

    /// Returns when one instant has too many entries.
    /// No sleep would end then, because virtual time stands still.
    pub(super) async fn livelock(&self) {
        self.0.livelock.notified().await;
    }

    /// Returns when the rest of the run cannot change the result that was asked for.
    pub(super) async fn decided(&self) {
        self.0.decided.notified().await;
    }

    /// Records that the history is incomplete from now on, and why.
    pub(super) fn break_off(&self, why: String) {
        self.state(|state| _ = state.broken.get_or_insert(why));
        self.0.changed.send_modify(|version| *version += 1);
    }

    /// Reads the state of the run after all entries so far.
    /// `read` must not use the log, which is locked meanwhile.
    pub(super) fn state<T>(&self, read: impl FnOnce(&mut RunState) -> T) -> T {
        read(&mut self.0.worker.state())
    }

    /// Reads the present state of the world and the evictions so far.
    pub(super) fn look<T>(&self, look: impl FnOnce(&World, &[Eviction]) -> T) -> T {
        self.state(|state| state.look(look))
    }

    /// The number of changes so far.
    pub(super) fn version(&self) -> u64 {
        *self.0.changed.borrow()
    }

    /// A channel that receives a value at every change from now on.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }
}
