//! Feeds the entries of a run to the judge: at once, or on a second thread for runs with many machines.
//!
//! The thread changes nothing in the result. It receives the same input in the same order, and every read of the state
//! waits until the thread has processed all of it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{mem, thread};

use super::run_state::{Input, MOST_AT_ONCE, PushResult, RunState};

/// Entries in one batch for the thread. Waking the thread costs more than judging a single entry.
const BATCH_SIZE: usize = 256;

/// Batches that may wait for the thread before the sender blocks.
const QUEUE_CAPACITY: usize = 16;

/// Owns the state of a run and updates it with all input.
pub(super) struct JudgeWorker {
    state: Arc<Mutex<RunState>>,
    /// The second thread, if this run has one.
    thread: Option<JudgeThread>,
}

struct JudgeThread {
    to: SyncSender<Message>,
    batch: Mutex<Batch>,
}

/// Input that is not yet sent to the thread.
#[derive(Default)]
struct Batch {
    input: Vec<(Duration, Input)>,
    /// How many watch lines and other entries the batch contains.
    entries: usize,
    /// The time of the latest input.
    instant: Duration,
    /// An upper bound for the entries at `instant`: some watch lines become no entry.
    at_once: usize,
    /// The entry limit for `instant`, as the state reported it last.
    limit: usize,
}

enum Message {
    /// Input to be added to the state.
    Batch(Vec<(Duration, Input)>),
    /// A request to confirm that all earlier messages are processed.
    Flush(SyncSender<()>),
}

impl JudgeWorker {
    /// Owns `state`. With `on_thread`, a second thread updates the state, if the machine can start one.
    pub(super) fn new(state: RunState, on_thread: bool) -> Self {
        let state = Arc::new(Mutex::new(state));
        let (to, messages) = sync_channel(QUEUE_CAPACITY);
        let state_of_thread = Arc::clone(&state);
        let process = move || process(&state_of_thread, &messages);
        let thread = on_thread.then(|| thread::Builder::new().name("judge".into()).spawn(process));
        let started = thread.is_some_and(|thread| thread.is_ok());
        Self { state, thread: started.then(|| JudgeThread { to, batch: Mutex::default() }) }
    }

    /// Adds `input`, which was received `at` this time.
    pub(super) fn push(&self, at: Duration, input: Input) -> PushResult {
        let Some(thread) = &self.thread else {
            return locked(&self.state).take(at, input);
        };
        if thread.add(at, input) {
            return PushResult::default();
        }
        let (entries, limit) = self.state().at_once(at);
        let mut batch = locked(&thread.batch);
        (batch.at_once, batch.limit) = (entries, limit);
        PushResult { livelock: entries > limit, decided: false }
    }

    /// The state after all input so far.
    pub(super) fn state(&self) -> MutexGuard<'_, RunState> {
        if let Some(thread) = &self.thread {
            thread.send(&mut locked(&thread.batch));
            let (to, flushed) = sync_channel(1);
            let sent = thread.to.send(Message::Flush(to));
            assert!(sent.is_ok() && flushed.recv().is_ok(), "the judge thread panicked");
        }
        locked(&self.state)
    }
}

impl JudgeThread {
    /// Adds `input` to the batch.
    /// Returns true if the entries at this time are certainly within their limit.
    fn add(&self, at: Duration, input: Input) -> bool {
        let more = match &input {
            Input::Entry(_) => 1,
            Input::Lines(lines) => lines.len(),
        };
        let mut batch = locked(&self.batch);
        if batch.instant != at {
            (batch.instant, batch.at_once, batch.limit) = (at, 0, 0);
        }
        batch.at_once += more;
        batch.entries += more;
        batch.input.push((at, input));
        if batch.entries >= BATCH_SIZE {
            self.send(&mut batch);
        }
        batch.at_once <= batch.limit.max(MOST_AT_ONCE)
    }

    /// Sends the batch to the thread.
    /// A panic of the thread is reported by the next call of [`JudgeWorker::state`].
    fn send(&self, batch: &mut Batch) {
        batch.entries = 0;
        drop(self.to.send(Message::Batch(mem::take(&mut batch.input))));
    }
}

/// The loop of the thread. It ends when the worker is dropped.
fn process(state: &Mutex<RunState>, messages: &Receiver<Message>) {
    for message in messages {
        match message {
            Message::Batch(batch) => {
                let mut state = locked(state);
                batch.into_iter().for_each(|(at, input)| _ = state.take(at, input));
            }
            // The send fails if the caller no longer waits, which is no error.
            Message::Flush(to) => drop(to.send(())),
        }
    }
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Map, Value};

    use super::*;
    use crate::run::case::Keep;
    use crate::run::log::Until;
    use capsize_history::Kind;
    use capsize_judge::profile::Profile;

    #[test]
    fn a_second_thread_changes_neither_the_verdicts_nor_the_history() {
        let input = |number: usize| {
            Input::Entry(Kind::Mark(Map::from_iter([("step".to_owned(), Value::from(number))])))
        };
        let run = |on_thread: bool, members: usize| {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/targets/reference.yaml");
            let profile = Profile::parse("reference.yaml", &fs::read_to_string(file).unwrap()).unwrap();
            let worker =
                JudgeWorker::new(RunState::new(profile, members, Keep::History, Until::End), on_thread);
            let instant = |number: usize| Duration::from_secs(if number < 10 { 0 } else { 1 });
            let most = MOST_AT_ONCE + members * 100;
            let results = (0..most + 15).map(|number| worker.push(instant(number), input(number)));
            let livelocks = results.map(|result| result.livelock).collect::<Vec<_>>();
            let (judgement, history) = worker.state().finish().unzip();
            (livelocks, judgement.map(|judgement| judgement.entries), history.flatten())
        };
        for members in [0, 3] {
            let (inline, on_thread) = (run(false, members), run(true, members));
            assert!(inline == on_thread);
            assert_eq!(inline.0.iter().filter(|livelock| **livelock).count(), 5);
        }
    }
}
