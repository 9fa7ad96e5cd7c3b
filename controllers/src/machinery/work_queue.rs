//! A work queue as in client-go, without its workers: first in, first out, with delayed keys.
//!
//! A key is queued at most once, and processed by one worker at a time. A key that is added while it is processed is
//! queued again afterwards. A delayed key has one due time, the earliest that was requested.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;
use tokio::time::Instant;

use super::notes::Key;

/// The state of each key, which is only looked up by key. A key without a state has nothing to do.
#[derive(Debug, Default)]
pub(super) struct Turns {
    places: IndexMap<Arc<Key>, Place>,
    line: VecDeque<Arc<Key>>,
    /// The delayed keys in the order of their due times; keys that are due at the same time, in the order of the
    /// requests.
    later: BTreeSet<(Instant, u64, Arc<Key>)>,
    asked: u64,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Later(Instant, u64),
    InLine,
    Served,
    /// The key was added again while it was processed.
    ServedAgain,
}

impl Turns {
    /// Adds a key that is due at `at`, unless it is due before.
    pub(super) fn come(&mut self, key: Key, at: Instant) {
        match self.places.get_mut(&key) {
            Some(Place::InLine | Place::ServedAgain) => {}
            Some(place @ Place::Served) => *place = Place::ServedAgain,
            Some(Place::Later(before, _)) if *before <= at => {}
            Some(Place::Later(before, asked)) => {
                let (before, asked, key) = (*before, *asked, Arc::new(key));
                self.later.remove(&(before, asked, Arc::clone(&key)));
                self.wait(key, at);
            }
            None => self.wait(Arc::new(key), at),
        }
    }

    /// Queues the delayed keys that are due.
    pub(super) fn come_due(&mut self, now: Instant) {
        while self.next_due().is_some_and(|at| at <= now) {
            let Some((_, _, key)) = self.later.pop_first() else { return };
            self.enqueue(key);
        }
    }

    /// When the next delayed key is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.later.first().map(|(at, _, _)| *at)
    }

    /// Whether a key is queued.
    pub(super) fn is_awaited(&self) -> bool {
        !self.line.is_empty()
    }

    /// Takes the first queued key, to process it.
    pub(super) fn serve(&mut self) -> Option<Arc<Key>> {
        let key = self.line.pop_front()?;
        self.places.insert(Arc::clone(&key), Place::Served);
        Some(key)
    }

    /// A key has been processed. It is due at `again`, if given, or at once if it was added meanwhile.
    pub(super) fn served(&mut self, key: Arc<Key>, again: Option<Instant>) {
        match (self.places.get(&key), again) {
            (Some(Place::ServedAgain), _) => self.enqueue(key),
            (_, Some(at)) => self.wait(key, at),
            (_, None) => {
                self.places.swap_remove(&key);
            }
        }
    }

    fn wait(&mut self, key: Arc<Key>, at: Instant) {
        self.asked += 1;
        self.later.insert((at, self.asked, Arc::clone(&key)));
        self.places.insert(key, Place::Later(at, self.asked));
    }

    fn enqueue(&mut self, key: Arc<Key>) {
        self.places.insert(Arc::clone(&key), Place::InLine);
        self.line.push_back(key);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    /// A work queue by its definition, which answers each question by a search through all keys.
    #[derive(Default)]
    struct Model {
        line: Vec<u8>,
        served: Vec<u8>,
        again: Vec<u8>,
        later: Vec<(u64, u8)>,
    }

    impl Model {
        fn come(&mut self, key: u8, at: u64) {
            if self.served.contains(&key) {
                self.again.push(key);
            } else if !self.line.contains(&key)
                && !self.later.iter().any(|(due, of)| *of == key && *due <= at)
            {
                self.later.retain(|(_, of)| *of != key);
                self.later.push((at, key));
            }
        }

        fn come_due(&mut self, now: u64) {
            self.later.sort_by_key(|(at, _)| *at);
            let due = self.later.iter().take_while(|(at, _)| *at <= now).count();
            self.line.extend(self.later.drain(..due).map(|(_, key)| key));
        }

        fn serve(&mut self) -> Option<u8> {
            let key = (!self.line.is_empty()).then(|| self.line.remove(0))?;
            self.served.push(key);
            Some(key)
        }

        fn served(&mut self, key: u8, again: Option<u64>) {
            self.served.retain(|of| *of != key);
            if self.again.contains(&key) {
                self.again.retain(|of| *of != key);
                self.line.push(key);
            } else {
                self.later.extend(again.map(|at| (at, key)));
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Come(u8, u64),
        Pass(u64),
        Serve,
        /// The processing of one of the keys ends, and the key is due again after this time, if any.
        Served(usize, Option<u64>),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..6_u8, 0..3_u64).prop_map(|(number, after)| Step::Come(number, after)),
            (0..4_u64).prop_map(Step::Pass),
            Just(Step::Serve),
            (any::<usize>(), proptest::option::of(0..6_u64)).prop_map(|(which, at)| Step::Served(which, at)),
        ]
    }

    fn key(number: u8) -> Key {
        ("ns".into(), number.to_string())
    }

    proptest! {
        #[test]
        fn turns_are_those_of_a_workqueue(steps in proptest::collection::vec(step(), 0..200)) {
            let start = Instant::now();
            let at = |seconds: u64| start + Duration::from_secs(seconds);
            let (mut turns, mut model, mut now) = (Turns::default(), Model::default(), 0);
            for step in steps {
                match step {
                    Step::Come(number, after) => {
                        turns.come(key(number), at(now + after));
                        model.come(number, now + after);
                    }
                    Step::Pass(seconds) => {
                        now += seconds;
                        turns.come_due(at(now));
                        model.come_due(now);
                    }
                    Step::Serve => {
                        let served = model.serve();
                        prop_assert_eq!(turns.serve(), served.map(|number| Arc::new(key(number))));
                    }
                    Step::Served(which, after) if !model.served.is_empty() => {
                        let number = model.served[which % model.served.len()];
                        let again = after.map(|after| now + after);
                        turns.served(Arc::new(key(number)), again.map(at));
                        model.served(number, again);
                    }
                    Step::Served(..) => {}
                }
                prop_assert_eq!(turns.next_due(), model.later.iter().map(|(due, _)| at(*due)).min());
                let places = model.line.len() + model.served.len() + model.later.len();
                prop_assert_eq!(turns.places.len(), places, "a key is remembered too long or twice");
            }
        }
    }
}
