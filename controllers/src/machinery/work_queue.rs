//! A work queue as in client-go, without its workers: first in, first out, with delayed keys.
//!
//! A key is queued at most once, and processed by one worker at a time. A key that is added while it is processed is
//! queued again afterwards. A delayed key has one due time, the earliest that was requested.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;
use tokio::time::Instant;

use super::per_object::Key;

/// The state of each key, which is only looked up by key. A key without a state has nothing to do.
#[derive(Debug, Default)]
pub(super) struct WorkQueue {
    states: IndexMap<Arc<Key>, State>,
    queue: VecDeque<Arc<Key>>,
    /// The delayed keys in the order of their due times.
    /// Keys that are due at the same time are in the order of the requests.
    delayed: BTreeSet<(Instant, u64, Arc<Key>)>,
    requests: u64,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Delayed(Instant, u64),
    Queued,
    Processing,
    /// The key was added again while it was processed.
    AddedWhileProcessing,
}

impl WorkQueue {
    /// Adds a key that is due at `at`, unless it is due before.
    pub(super) fn add(&mut self, key: Key, at: Instant) {
        match self.states.get_mut(&key) {
            Some(State::Queued | State::AddedWhileProcessing) => {}
            Some(state @ State::Processing) => *state = State::AddedWhileProcessing,
            Some(State::Delayed(before, _)) if *before <= at => {}
            Some(State::Delayed(before, request)) => {
                let (before, request, key) = (*before, *request, Arc::new(key));
                self.delayed.remove(&(before, request, Arc::clone(&key)));
                self.delay(key, at);
            }
            None => self.delay(Arc::new(key), at),
        }
    }

    /// Queues the delayed keys that are due.
    pub(super) fn queue_due(&mut self, now: Instant) {
        while self.next_due().is_some_and(|at| at <= now) {
            let Some((_, _, key)) = self.delayed.pop_first() else { return };
            self.enqueue(key);
        }
    }

    /// When the next delayed key is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.delayed.first().map(|(at, _, _)| *at)
    }

    /// Whether a key is queued.
    pub(super) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Takes the first queued key, to process it.
    pub(super) fn take(&mut self) -> Option<Arc<Key>> {
        let key = self.queue.pop_front()?;
        self.states.insert(Arc::clone(&key), State::Processing);
        Some(key)
    }

    /// Takes the queued key with the highest priority, and of several the first.
    pub(super) fn take_highest(&mut self, priority: impl Fn(&Key) -> i32) -> Option<Arc<Key>> {
        let ranked = self.queue.iter().enumerate().map(|(index, key)| (priority(key), Reverse(index)));
        let (_, Reverse(index)) = ranked.max()?;
        let key = self.queue.remove(index)?;
        self.states.insert(Arc::clone(&key), State::Processing);
        Some(key)
    }

    /// A key has been processed. It is due at `again`, if given, or at once if it was added meanwhile.
    pub(super) fn done(&mut self, key: Arc<Key>, again: Option<Instant>) {
        match (self.states.get(&key), again) {
            (Some(State::AddedWhileProcessing), _) => self.enqueue(key),
            (_, Some(at)) => self.delay(key, at),
            (_, None) => {
                self.states.swap_remove(&key);
            }
        }
    }

    fn delay(&mut self, key: Arc<Key>, at: Instant) {
        self.requests += 1;
        self.delayed.insert((at, self.requests, Arc::clone(&key)));
        self.states.insert(key, State::Delayed(at, self.requests));
    }

    fn enqueue(&mut self, key: Arc<Key>) {
        self.states.insert(Arc::clone(&key), State::Queued);
        self.queue.push_back(key);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_highest_priority_is_taken_first_and_of_several_the_first() {
        let (mut queue, now) = (WorkQueue::default(), Instant::now());
        for name in ["low", "high", "middle", "high too"] {
            queue.add((String::new(), name.into()), now);
        }
        queue.queue_due(now);
        let priority = |(_, name): &Key| match name.as_str() {
            "low" => -1,
            "middle" => 0,
            _ => 5,
        };
        let taken: Vec<_> =
            std::iter::from_fn(|| queue.take_highest(priority)).map(|key| key.1.clone()).collect();
        assert_eq!(taken, ["high", "high too", "middle", "low"]);
    }

    /// A work queue by its definition, which answers each question by a search through all keys.
    #[derive(Default)]
    struct Model {
        queue: Vec<u8>,
        processing: Vec<u8>,
        again: Vec<u8>,
        delayed: Vec<(u64, u8)>,
    }

    impl Model {
        fn add(&mut self, key: u8, at: u64) {
            if self.processing.contains(&key) {
                self.again.push(key);
            } else if !self.queue.contains(&key)
                && !self.delayed.iter().any(|(due, of)| *of == key && *due <= at)
            {
                self.delayed.retain(|(_, of)| *of != key);
                self.delayed.push((at, key));
            }
        }

        fn queue_due(&mut self, now: u64) {
            self.delayed.sort_by_key(|(at, _)| *at);
            let due = self.delayed.iter().take_while(|(at, _)| *at <= now).count();
            self.queue.extend(self.delayed.drain(..due).map(|(_, key)| key));
        }

        fn take(&mut self) -> Option<u8> {
            let key = (!self.queue.is_empty()).then(|| self.queue.remove(0))?;
            self.processing.push(key);
            Some(key)
        }

        fn done(&mut self, key: u8, again: Option<u64>) {
            self.processing.retain(|of| *of != key);
            if self.again.contains(&key) {
                self.again.retain(|of| *of != key);
                self.queue.push(key);
            } else {
                self.delayed.extend(again.map(|at| (at, key)));
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Add(u8, u64),
        Pass(u64),
        Take,
        /// The processing of one of the keys ends, and the key is due again after this time, if any.
        Done(usize, Option<u64>),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..6_u8, 0..3_u64).prop_map(|(number, after)| Step::Add(number, after)),
            (0..4_u64).prop_map(Step::Pass),
            Just(Step::Take),
            (any::<usize>(), proptest::option::of(0..6_u64)).prop_map(|(which, at)| Step::Done(which, at)),
        ]
    }

    fn key(number: u8) -> Key {
        ("ns".into(), number.to_string())
    }

    proptest! {
        #[test]
        fn a_work_queue_matches_a_simple_model(steps in proptest::collection::vec(step(), 0..200)) {
            let start = Instant::now();
            let at = |seconds: u64| start + Duration::from_secs(seconds);
            let (mut queue, mut model, mut now) = (WorkQueue::default(), Model::default(), 0);
            for step in steps {
                match step {
                    Step::Add(number, after) => {
                        queue.add(key(number), at(now + after));
                        model.add(number, now + after);
                    }
                    Step::Pass(seconds) => {
                        now += seconds;
                        queue.queue_due(at(now));
                        model.queue_due(now);
                    }
                    Step::Take => {
                        let taken = model.take();
                        prop_assert_eq!(queue.take(), taken.map(|number| Arc::new(key(number))));
                    }
                    Step::Done(which, after) if !model.processing.is_empty() => {
                        let number = model.processing[which % model.processing.len()];
                        let again = after.map(|after| now + after);
                        queue.done(Arc::new(key(number)), again.map(at));
                        model.done(number, again);
                    }
                    Step::Done(..) => {}
                }
                prop_assert_eq!(queue.next_due(), model.delayed.iter().map(|(due, _)| at(*due)).min());
                let states = model.queue.len() + model.processing.len() + model.delayed.len();
                prop_assert_eq!(queue.states.len(), states, "a key is remembered too long or twice");
            }
        }
    }
}
