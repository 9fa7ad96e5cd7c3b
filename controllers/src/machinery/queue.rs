//! A queue of objects to reconcile, with several workers, as Kubernetes' controllers have it.
//!
//! An object is never reconciled twice at once. A failed reconciliation is retried after a delay that doubles with each
//! failure. The controller chooses the triggers. (kube's own queue polls everything in flight whenever anything
//! happens; with thousands of objects in flight that takes most of the time.)

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

/// The time without a finished reconciliation after which an unbounded queue starts more of them.
const HELD_UP_AFTER: Duration = Duration::from_millis(1);

/// The delay between a trigger and the reconciliation. One reconciliation then observes everything that happens to the
/// object at one instant. In simulated time many triggers of an object come at one instant. A notification takes that
/// long in any case.
const SETTLED_AFTER: Duration = Duration::from_millis(1);

/// The retry delays that a context gives to its queues.
pub(crate) trait Retries: Send + Sync + 'static {
    /// The first and the longest delay before a failed reconciliation is retried.
    fn delays(&self) -> (Duration, Duration);
}

/// The next step after a successful reconciliation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Action(Option<Duration>);

impl Action {
    /// Waits until something triggers the object.
    pub(crate) const fn await_change() -> Self {
        Self(None)
    }

    /// Reconciles the object again after this time, unless something triggers it before.
    pub(crate) const fn requeue(after: Duration) -> Self {
        Self(Some(after))
    }
}

/// The objects that a controller reconciles, and their triggers.
pub(crate) struct Queue<K>
where
    K: Resource + 'static,
    K::DynamicType: Eq + Hash,
{
    /// The name in the log.
    pub name: &'static str,
    /// The objects.
    pub objects: Informer<K>,
    /// The objects to reconcile.
    pub triggers: BoxStream<'static, ObjectRef<K>>,
    /// For controllers that talk to members: more and more objects are reconciled at once while none finishes, so that
    /// a member that hangs does not stall the others.
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

/// Like [`run`], with this number of workers.
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

/// A queue that knows its objects by key only, so that it is compiled once for all kinds.
struct Work {
    name: &'static str,
    triggers: BoxStream<'static, Key>,
    room: Room,
    failures: Failures,
    /// Begins to reconcile an object; `None` if the object does not exist.
    begin: Box<Begin>,
}

impl Work {
    /// Returns when the triggers end, which end with their stores.
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
                    // The object was deleted while it was queued.
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

    /// How long until an object is reconciled again, if at all.
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

/// How many objects may be reconciled at once.
struct Room {
    workers: usize,
    /// Whether stalled reconciliations leave their places to others.
    grows: bool,
    /// How many reconciliations are stalled. There are as many places for others, so that the number of places doubles
    /// at each step.
    held_up: usize,
    /// When a reconciliation last began or ended.
    since: Instant,
}

impl Room {
    /// Whether another reconciliation may begin while this many are running.
    fn is_for(&self, working: usize) -> bool {
        working < self.held_up + self.workers.max(self.held_up)
    }

    /// When the number of places grows, if none of the running reconciliations ends before.
    fn grows_at(&self, working: usize) -> Option<Instant> {
        (self.grows && !self.is_for(working)).then(|| self.since + HELD_UP_AFTER)
    }

    /// A reconciliation has ended, and this many are still running.
    fn ended(&mut self, working: usize) {
        self.held_up = self.held_up.min(working);
        self.since = Instant::now();
    }
}

/// Returns at that time, or never.
async fn come(due: Option<Instant>) {
    match due {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Consecutive failures, by object.
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

    /// Counts a failure, and returns the delay before the retry.
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

/// References to the changed objects, without those that were deleted.
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

    /// A running queue, and a log of when each reconciliation began: `a@0` is `a` after 0 s. The test decides how long
    /// a reconciliation takes, and its outcome.
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

        /// The log after this many more seconds.
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
