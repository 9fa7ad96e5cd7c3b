//! A queue of objects to reconcile, as Kubernetes' controllers have it: a line of names, and so many at work on them.
//!
//! An object is never reconciled twice at once, and what fails is tried again after a delay that doubles with each
//! failure. What wakes it is up to the controller. (kube's own polls everything that is in flight whenever anything
//! happens: with thousands of objects in flight that is most of the time.)

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, FuturesUnordered};
use futures::{Stream, StreamExt};
use kube::Resource;
use kube::runtime::reflector::ObjectRef;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep_until};

use super::notes::Key;
use super::turns::Turns;
use super::{Change, Error, Informer};

/// How many objects the real controllers reconcile at once (`--concurrent-*-syncs`).
const CONCURRENCY: usize = 5;

/// Where those that wait for a member are not to hold up others, these are begun after so long without an end of one.
const HELD_UP_AFTER: Duration = Duration::from_millis(1);

/// How long after it was woken an object is reconciled: what happens to it at one instant is then seen by one
/// reconciliation, and where time is simulated much of what wakes an object does happen at one instant. News of a change
/// take that long anyway.
const SETTLED_AFTER: Duration = Duration::from_millis(1);

/// What a queue has to know of what it is given for its reconciliations.
pub(crate) trait Retries: Send + Sync + 'static {
    /// The first delay before something that failed is tried again, and the longest.
    fn delays(&self) -> (Duration, Duration);
}

/// What comes after a reconciliation that went well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Action(Option<Duration>);

impl Action {
    /// Nothing, until something wakes the object.
    pub(crate) const fn await_change() -> Self {
        Self(None)
    }

    /// Another one after so long, if nothing wakes the object before.
    pub(crate) const fn requeue(after: Duration) -> Self {
        Self(Some(after))
    }
}

/// What a controller reconciles, and what wakes it.
pub(crate) struct Queue<K>
where
    K: Resource + 'static,
    K::DynamicType: Eq + Hash,
{
    /// For the log.
    pub name: &'static str,
    /// The objects.
    pub objects: Informer<K>,
    /// Those to look at.
    pub triggers: BoxStream<'static, ObjectRef<K>>,
    /// For what talks to members, so that one that hangs does not stall the others: more and more are reconciled at once for
    /// as long as none ends.
    pub unbounded: bool,
}

/// Reconciles what is in the queue, for ever.
pub(crate) async fn run<C, K, F, Fut>(context: Arc<C>, queue: Queue<K>, reconcile: F)
where
    C: Retries,
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone + Unpin + Send + Sync,
    F: Fn(Arc<C>, Arc<K>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, Error>> + Send + 'static,
{
    run_with(context, queue, CONCURRENCY, reconcile).await;
}

/// The same with so many at once.
pub(crate) async fn run_with<C, K, F, Fut>(context: Arc<C>, queue: Queue<K>, workers: usize, reconcile: F)
where
    C: Retries,
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone + Unpin + Send + Sync,
    F: Fn(Arc<C>, Arc<K>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, Error>> + Send + 'static,
{
    let Queue { name, objects, triggers, unbounded } = queue;
    objects.ready().await;
    let key = |object: ObjectRef<K>| (object.namespace.unwrap_or_default(), object.name);
    let work = Work {
        name,
        triggers: triggers.map(key).boxed(),
        room: Room { workers, grows: unbounded, held_up: 0, since: Instant::now() },
        failures: Failures::new(context.delays()),
        begin: Box::new(move |(namespace, name)| {
            let object = objects.get(namespace, name)?;
            Some(reconcile(Arc::clone(&context), object).boxed())
        }),
    };
    work.run().await;
}

type Outcome = BoxFuture<'static, Result<Action, Error>>;
type Begin = dyn Fn(&Key) -> Option<Outcome> + Send + Sync;

/// A queue that knows its objects by name only, so that all are one when compiled.
struct Work {
    name: &'static str,
    triggers: BoxStream<'static, Key>,
    room: Room,
    failures: Failures,
    /// Begins to reconcile an object, if it is there.
    begin: Box<Begin>,
}

impl Work {
    /// Ends with the triggers, which end with the stores that they come from.
    async fn run(mut self) {
        let mut turns = Turns::default();
        let mut working = FuturesUnordered::new();
        loop {
            while let Some(trigger) = self.triggers.next().now_or_never() {
                let Some(key) = trigger else { return };
                turns.come(key, Instant::now() + SETTLED_AFTER);
            }
            turns.come_due(Instant::now());
            while self.room.is_for(working.len())
                && let Some(key) = turns.serve()
            {
                match (self.begin)(&key) {
                    Some(outcome) => {
                        working.push(outcome.map(|outcome| (key, outcome)));
                        self.room.since = Instant::now();
                    }
                    // An object that is gone before its turn is nothing to do.
                    None => {
                        self.failures.forget(&key);
                        turns.served(key, None);
                    }
                }
            }
            let grows_at = self.room.grows_at(working.len()).filter(|_| turns.is_awaited());
            tokio::select! {
                biased;
                trigger = self.triggers.next() => match trigger {
                    Some(key) => turns.come(key, Instant::now() + SETTLED_AFTER),
                    None => return,
                },
                Some((key, outcome)) = working.next() => {
                    let again = self.after(&key, outcome).and_then(|after| Instant::now().checked_add(after));
                    turns.served(key, again);
                    self.room.ended(working.len());
                }
                () = come(turns.next_due()) => {}
                () = come(grows_at) => self.room.held_up = working.len(),
            }
        }
    }

    /// How long until an object is to be looked at again, if at all.
    fn after(&mut self, key: &Key, outcome: Result<Action, Error>) -> Option<Duration> {
        match outcome {
            Ok(Action(after)) => {
                self.failures.forget(key);
                after
            }
            Err(error) => {
                let object = format_args!("{}/{}", key.0, key.1);
                tracing::debug!(controller = self.name, %object, %error, "reconciliation failed and is tried again");
                Some(self.failures.delay(key))
            }
        }
    }
}

/// How many are reconciled at once.
struct Room {
    workers: usize,
    /// Whether those that are held up leave their places to others.
    grows: bool,
    /// So many are held up. There are as many places for others, so that few steps lead to any number.
    held_up: usize,
    /// When one began or ended last.
    since: Instant,
}

impl Room {
    /// Whether there is a place beside so many.
    fn is_for(&self, working: usize) -> bool {
        working < self.held_up + self.workers.max(self.held_up)
    }

    /// When there is more of it, if none of so many ends before.
    fn grows_at(&self, working: usize) -> Option<Instant> {
        (self.grows && !self.is_for(working)).then(|| self.since + HELD_UP_AFTER)
    }

    /// One has ended, and so many have not.
    fn ended(&mut self, working: usize) {
        self.held_up = self.held_up.min(working);
        self.since = Instant::now();
    }
}

/// Ends at that time, or never.
async fn come(due: Option<Instant>) {
    match due {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Failures in a row, by object.
#[derive(Debug)]
struct Failures {
    base: Duration,
    longest: Duration,
    counts: BTreeMap<Key, u32>,
}

impl Failures {
    fn new((base, longest): (Duration, Duration)) -> Self {
        Self { base, longest, counts: BTreeMap::new() }
    }

    /// Counts one more, and returns how long to wait.
    fn delay(&mut self, key: &Key) -> Duration {
        let count = self.counts.entry(key.clone()).or_default();
        let delay = self.base.saturating_mul(2_u32.saturating_pow(*count)).min(self.longest);
        *count = count.saturating_add(1);
        delay
    }

    fn forget(&mut self, key: &Key) {
        self.counts.remove(key);
    }
}

/// References to what changed, other than by vanishing.
pub(crate) fn refs<K>(
    changes: impl Stream<Item = Change<K>> + Send + 'static,
) -> BoxStream<'static, ObjectRef<K>>
where
    K: Resource<DynamicType = ()> + Send + Sync + 'static,
{
    changes
        .filter_map(|change| std::future::ready(change.after.map(|object| ObjectRef::from_obj(&*object))))
        .boxed()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::channel::mpsc::{UnboundedSender, unbounded};
    use tokio::task::JoinSet;
    use tokio::time::sleep;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn key(name: &str) -> Key {
        (String::new(), name.into())
    }

    #[test]
    fn delays_double_up_to_the_longest_and_begin_anew_after_a_success() {
        let mut failures = Failures::new((Duration::from_millis(5), Duration::from_millis(30)));
        let delays: Vec<_> = (0..5).map(|_| failures.delay(&key("a")).as_millis()).collect();
        assert_eq!(delays, [5, 10, 20, 30, 30]);
        failures.forget(&key("a"));
        assert_eq!(failures.delay(&key("a")).as_millis(), 5);
    }

    #[test]
    fn a_thousand_failures_do_not_overflow() {
        let mut failures = Failures::new((Duration::from_millis(5), 1000 * SECOND));
        assert_eq!((0..1000).map(|_| failures.delay(&key("a"))).last(), Some(1000 * SECOND));
    }

    /// A queue at work, and when it began what: `a@0` is `a` at once. What each takes, and what comes of it, is up to the
    /// test.
    struct Trial {
        triggers: UnboundedSender<Key>,
        begun: Arc<Mutex<Vec<String>>>,
        _task: JoinSet<()>,
    }

    impl Trial {
        fn of(workers: usize, takes: Duration, outcome: fn() -> Result<Action, Error>) -> Self {
            Self::with(workers, false, takes, outcome)
        }

        fn with(
            workers: usize,
            grows: bool,
            takes: Duration,
            outcome: fn() -> Result<Action, Error>,
        ) -> Self {
            let (triggers, receiver) = unbounded();
            let (begun, start) = (Arc::new(Mutex::new(Vec::new())), Instant::now());
            let begins = Arc::clone(&begun);
            let work = Work {
                name: "trial",
                triggers: receiver.boxed(),
                room: Room { workers, grows, held_up: 0, since: start },
                failures: Failures::new((SECOND, 3 * SECOND)),
                begin: Box::new(move |(_, name)| {
                    begins.lock().unwrap().push(format!("{name}@{}", start.elapsed().as_secs()));
                    let outcome = async move {
                        sleep(takes).await;
                        outcome()
                    };
                    (name != "gone").then(|| outcome.boxed())
                }),
            };
            let mut task = JoinSet::new();
            task.spawn(work.run());
            Self { triggers, begun, _task: task }
        }

        fn trigger(&self, names: &[&str]) {
            names.iter().for_each(|name| self.triggers.unbounded_send(key(name)).unwrap());
        }

        /// What has begun after so many seconds more.
        async fn after(&self, seconds: u32) -> String {
            sleep(seconds * SECOND + SECOND / 2).await;
            self.begun.lock().unwrap().join(" ")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_first_is_reconciled_first_and_only_so_many_at_once() {
        let trial = Trial::of(2, 2 * SECOND, || Ok(Action::await_change()));
        trial.trigger(&["c", "a", "b", "a"]);
        assert_eq!(trial.after(9).await, "c@0 a@0 b@2");
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_are_held_up_leave_their_places_to_others() {
        let trial = Trial::with(1, true, 20 * SECOND, || Ok(Action::await_change()));
        trial.trigger(&["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
        assert_eq!(trial.after(1).await, "a@0 b@0 c@0 d@0 e@0 f@0 g@0 h@0 i@0");
    }

    #[test]
    fn there_is_room_beside_those_that_are_held_up_for_as_many_others() {
        let since = Instant::now();
        let mut room = Room { workers: 5, grows: true, held_up: 0, since };
        let rooms = |room: &Room| (0..40).filter(|working| room.is_for(*working)).count();
        assert_eq!((rooms(&room), room.grows_at(4)), (5, None));
        assert_eq!(room.grows_at(5), Some(since + HELD_UP_AFTER));
        for (held_up, places) in [(5, 10), (10, 20), (3, 8)] {
            room.held_up = held_up;
            assert_eq!(rooms(&room), places);
        }
        room.ended(2);
        assert_eq!(rooms(&room), 7);
        assert_eq!(Room { grows: false, ..room }.grows_at(100), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_woken_while_it_is_reconciled_is_reconciled_once_more_afterwards() {
        let trial = Trial::of(5, 2 * SECOND, || Ok(Action::await_change()));
        trial.trigger(&["a"]);
        assert_eq!(trial.after(1).await, "a@0");
        trial.trigger(&["a", "a"]);
        assert_eq!(trial.after(9).await, "a@0 a@2");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_woken_before_it_was_to_be_looked_at_again_is_not_looked_at_then() {
        let trial = Trial::of(5, Duration::ZERO, || Ok(Action::requeue(10 * SECOND)));
        trial.trigger(&["a"]);
        assert_eq!(trial.after(4).await, "a@0");
        trial.trigger(&["a"]);
        assert_eq!(trial.after(20).await, "a@0 a@4 a@14 a@24");
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_is_tried_again_after_growing_delays() {
        let trial = Trial::of(5, Duration::ZERO, || Err(Error::NotYet("not yet".into())));
        trial.trigger(&["a"]);
        assert_eq!(trial.after(9).await, "a@0 a@1 a@3 a@6 a@9");
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_is_gone_takes_no_place() {
        let trial = Trial::of(1, SECOND, || Ok(Action::requeue(SECOND)));
        trial.trigger(&["gone", "a"]);
        assert_eq!(trial.after(3).await, "gone@0 a@0 a@2");
    }
}
