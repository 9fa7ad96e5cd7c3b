//! Whose turn it is: the line that a workqueue of Kubernetes keeps, without what waits and what works.
//!
//! Who comes first is served first. Nobody is in the line twice, and nobody is served twice at once: who is to come
//! meanwhile has another turn afterwards. Who is to come later has one time to come, the earliest that was asked for.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;
use tokio::time::Instant;

use super::notes::Key;

/// Where everybody is, which is only ever asked by name. Who is not in it has nothing to come for.
#[derive(Debug, Default)]
pub(super) struct Turns {
    places: IndexMap<Arc<Key>, Place>,
    line: VecDeque<Arc<Key>>,
    /// In the order in which they come. Of those who come at once, the first is who was asked first.
    later: BTreeSet<(Instant, u64, Arc<Key>)>,
    asked: u64,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Later(Instant, u64),
    InLine,
    Served,
    /// With another turn afterwards.
    ServedAgain,
}

impl Turns {
    /// This one is to come at that time, if it does not come before.
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

    /// Those whose time has come, come.
    pub(super) fn come_due(&mut self, now: Instant) {
        while self.next_due().is_some_and(|at| at <= now) {
            let Some((_, _, key)) = self.later.pop_first() else { return };
            self.enqueue(key);
        }
    }

    /// When the next one is to come by itself.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.later.first().map(|(at, _, _)| *at)
    }

    /// Whether somebody is in the line.
    pub(super) fn is_awaited(&self) -> bool {
        !self.line.is_empty()
    }

    /// The first of the line is served now.
    pub(super) fn serve(&mut self) -> Option<Arc<Key>> {
        let key = self.line.pop_front()?;
        self.places.insert(Arc::clone(&key), Place::Served);
        Some(key)
    }

    /// This one has been served, and comes again at a time, if at any. It does so at once if it has been asked to meanwhile.
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

    /// What a workqueue is by its definition, each question answered by looking through all there is.
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
        /// The one that has been served the longest, or any other; and when it is to come again.
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
