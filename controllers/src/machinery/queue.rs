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

use super::per_object::Key;
use super::work_queue::WorkQueue;
use super::{Change, Error, Informer};

/// How many objects the real controllers reconcile at once (`--concurrent-*-syncs`).
const CONCURRENCY: usize = 5;

/// The time without a finished reconciliation after which an unbounded queue starts more of them.
const GROWS_AFTER: Duration = Duration::from_millis(1);

/// The delay between a trigger and the reconciliation.
/// One reconciliation then observes everything that happens to the object at one instant. In simulated time many
/// triggers of an object come at one instant. A notification takes that long in any case.
const TRIGGER_DELAY: Duration = Duration::from_millis(1);

/// The retry delays that a context gives to its queues.
pub(crate) trait RetryDelays: Send + Sync + 'static {
    /// The first and the longest delay before a failed reconciliation is retried.
    fn delays(&self) -> (Duration, Duration);
}

/// The next step after a successful reconciliation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Action(NextRun);

#[derive(Clone, Copy, Debug)]
enum NextRun {
    OnChange,
    After(Duration),
    At(Instant),
}

impl Action {
    /// Waits until something triggers the object.
    pub(crate) const fn await_change() -> Self {
        Self(NextRun::OnChange)
    }

    /// Reconciles the object again after this time, unless something triggers it before.
    pub(crate) const fn requeue(after: Duration) -> Self {
        Self(NextRun::After(after))
    }

    /// Reconciles the object again at this time, unless something triggers it before.
    pub(crate) const fn requeue_at(at: Instant) -> Self {
        Self(NextRun::At(at))
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
    /// The number of objects that are reconciled at once grows while no object finishes.
    /// The field is true for controllers that talk to members, so that a member that hangs does not stall the other
    /// members.
    pub unbounded: bool,
}

/// Reconciles what is in the queue, for ever.
pub(crate) async fn run<C, K, F, Fut>(context: Arc<C>, queue: Queue<K>, reconcile: F)
where
    C: RetryDelays,
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
    C: RetryDelays,
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone + Unpin + Send + Sync,
    F: Fn(Arc<C>, Arc<K>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, Error>> + Send + 'static,
{
    let delays = context.delays();
    keyed(context, queue, workers, delays, None, reconcile).await.run().await;
}

/// Reconciles the objects of a queue by priority, with one worker.
/// The function is like [`run_with`], but the worker takes the object with the highest priority first. The delays
/// before retries are those of `delays`.
pub(crate) async fn run_by_priority<C, K, F, Fut>(
    context: Arc<C>,
    queue: Queue<K>,
    delays: (Duration, Duration),
    priority: impl Fn(&K) -> i32 + Send + Sync + 'static,
    reconcile: F,
) where
    C: Send + Sync + 'static,
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone + Unpin + Send + Sync,
    F: Fn(Arc<C>, Arc<K>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, Error>> + Send + 'static,
{
    let objects = queue.objects.clone();
    let priority =
        move |(namespace, name): &Key| objects.get(namespace, name).map_or(0, |object| priority(&object));
    keyed(context, queue, 1, delays, Some(Box::new(priority)), reconcile).await.run().await;
}

async fn keyed<C, K, F, Fut>(
    context: Arc<C>,
    queue: Queue<K>,
    workers: usize,
    delays: (Duration, Duration),
    priority: Option<Box<Priority>>,
    reconcile: F,
) -> KeyedQueue
where
    C: Send + Sync + 'static,
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone + Unpin + Send + Sync,
    F: Fn(Arc<C>, Arc<K>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, Error>> + Send + 'static,
{
    let Queue { name, objects, triggers, unbounded } = queue;
    objects.ready().await;
    let key = |object: ObjectRef<K>| (object.namespace.unwrap_or_default(), object.name);
    KeyedQueue {
        name,
        triggers: triggers.map(key).boxed(),
        capacity: Capacity { workers, grows: unbounded, stalled: 0, since: Instant::now() },
        failures: Failures::new(delays),
        priority,
        start_one: Box::new(move |(namespace, name)| {
            let object = objects.get(namespace, name)?;
            Some(reconcile(Arc::clone(&context), object).boxed())
        }),
    }
}

type Priority = dyn Fn(&Key) -> i32 + Send + Sync;
type Outcome = BoxFuture<'static, Result<Action, Error>>;
type Start = dyn Fn(&Key) -> Option<Outcome> + Send + Sync;

/// A queue that knows its objects by key only, so that it is compiled once for all kinds.
struct KeyedQueue {
    name: &'static str,
    triggers: BoxStream<'static, Key>,
    capacity: Capacity,
    failures: Failures,
    /// The priority of an object; without it, the objects are taken in the order in which they were queued.
    priority: Option<Box<Priority>>,
    /// Begins to reconcile an object; `None` if the object does not exist.
    start_one: Box<Start>,
}

impl KeyedQueue {
    /// Returns when the triggers end, which end with their stores.
    async fn run(mut self) {
        let mut queue = WorkQueue::default();
        let mut running = FuturesUnordered::new();
        loop {
            while let Some(trigger) = self.triggers.next().now_or_never() {
                let Some(key) = trigger else { return };
                queue.add(key, Instant::now() + TRIGGER_DELAY);
            }
            queue.queue_due(Instant::now());
            while self.capacity.admits(running.len())
                && let Some(key) = self.take(&mut queue)
            {
                match (self.start_one)(&key) {
                    Some(outcome) => {
                        running.push(outcome.map(|outcome| (key, outcome)));
                        self.capacity.since = Instant::now();
                    }
                    // The object was deleted while it was queued.
                    None => {
                        self.failures.forget(&key);
                        queue.done(key, None);
                    }
                }
            }
            let grows_at = self.capacity.grows_at(running.len()).filter(|_| queue.has_queued());
            tokio::select! {
                biased;
                trigger = self.triggers.next() => match trigger {
                    Some(key) => queue.add(key, Instant::now() + TRIGGER_DELAY),
                    None => return,
                },
                Some((key, outcome)) = running.next() => {
                    let again = self.retry_at(&key, outcome);
                    queue.done(key, again);
                    self.capacity.finished(running.len());
                }
                () = wait_until(queue.next_due()) => {}
                () = wait_until(grows_at) => self.capacity.stalled = running.len(),
            }
        }
    }

    fn take(&self, queue: &mut WorkQueue) -> Option<Arc<Key>> {
        match &self.priority {
            None => queue.take(),
            Some(priority) => queue.take_highest(|key| priority(key)),
        }
    }

    /// When an object is reconciled again, if at all.
    fn retry_at(&mut self, key: &Key, outcome: Result<Action, Error>) -> Option<Instant> {
        match outcome {
            Ok(Action(again)) => {
                self.failures.forget(key);
                match again {
                    NextRun::OnChange => None,
                    NextRun::After(after) => Instant::now().checked_add(after),
                    NextRun::At(at) => Some(at),
                }
            }
            Err(error) => {
                let object = format_args!("{}/{}", key.0, key.1);
                tracing::debug!(controller = self.name, %object, %error, "reconciliation failed and is tried again");
                Instant::now().checked_add(self.failures.delay(key))
            }
        }
    }
}

/// How many objects may be reconciled at once.
struct Capacity {
    workers: usize,
    /// Whether stalled reconciliations leave their places to others.
    grows: bool,
    /// How many reconciliations are stalled.
    /// There are as many places for others, so that the number of places doubles at each step.
    stalled: usize,
    /// When a reconciliation last began or ended.
    since: Instant,
}

impl Capacity {
    /// Whether another reconciliation may begin while this many are running.
    fn admits(&self, running: usize) -> bool {
        running < self.stalled + self.workers.max(self.stalled)
    }

    /// When the number of places grows, if none of the running reconciliations ends before.
    fn grows_at(&self, running: usize) -> Option<Instant> {
        (self.grows && !self.admits(running)).then(|| self.since + GROWS_AFTER)
    }

    /// A reconciliation has ended, and this many are still running.
    fn finished(&mut self, running: usize) {
        self.stalled = self.stalled.min(running);
        self.since = Instant::now();
    }
}

/// Returns at that time, or never.
async fn wait_until(due: Option<Instant>) {
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
    fn delays_double_up_to_the_longest_and_start_over_after_a_success() {
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

    /// A running queue, and a log of when each reconciliation began: `a@0` is `a` after 0 s.
    /// The test decides how long a reconciliation takes, and its outcome.
    struct TestQueue {
        triggers: UnboundedSender<Key>,
        started: Arc<Mutex<Vec<String>>>,
        _task: JoinSet<()>,
    }

    impl TestQueue {
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
            let (started, start) = (Arc::new(Mutex::new(Vec::new())), Instant::now());
            let log = Arc::clone(&started);
            let work = KeyedQueue {
                name: "trial",
                triggers: receiver.boxed(),
                capacity: Capacity { workers, grows, stalled: 0, since: start },
                failures: Failures::new((SECOND, 3 * SECOND)),
                priority: None,
                start_one: Box::new(move |(_, name)| {
                    log.lock().unwrap().push(format!("{name}@{}", start.elapsed().as_secs()));
                    let outcome = async move {
                        sleep(takes).await;
                        outcome()
                    };
                    (name != "gone").then(|| outcome.boxed())
                }),
            };
            let mut task = JoinSet::new();
            task.spawn(work.run());
            Self { triggers, started, _task: task }
        }

        fn trigger(&self, names: &[&str]) {
            names.iter().for_each(|name| self.triggers.unbounded_send(key(name)).unwrap());
        }

        /// The log after this many more seconds.
        async fn log_after(&self, seconds: u32) -> String {
            sleep(seconds * SECOND + SECOND / 2).await;
            self.started.lock().unwrap().join(" ")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn objects_are_reconciled_in_order_by_a_limited_number_of_workers() {
        let queue = TestQueue::of(2, 2 * SECOND, || Ok(Action::await_change()));
        queue.trigger(&["c", "a", "b", "a"]);
        assert_eq!(queue.log_after(9).await, "c@0 a@0 b@2");
    }

    #[tokio::test(start_paused = true)]
    async fn stalled_reconciliations_leave_their_places_to_others() {
        let queue = TestQueue::with(1, true, 20 * SECOND, || Ok(Action::await_change()));
        queue.trigger(&["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
        assert_eq!(queue.log_after(1).await, "a@0 b@0 c@0 d@0 e@0 f@0 g@0 h@0 i@0");
    }

    #[test]
    fn the_number_of_places_doubles_while_all_reconciliations_are_stalled() {
        let since = Instant::now();
        let mut capacity = Capacity { workers: 5, grows: true, stalled: 0, since };
        let places = |capacity: &Capacity| (0..40).filter(|running| capacity.admits(*running)).count();
        assert_eq!((places(&capacity), capacity.grows_at(4)), (5, None));
        assert_eq!(capacity.grows_at(5), Some(since + GROWS_AFTER));
        for (stalled, expected) in [(5, 10), (10, 20), (3, 8)] {
            capacity.stalled = stalled;
            assert_eq!(places(&capacity), expected);
        }
        capacity.finished(2);
        assert_eq!(places(&capacity), 7);
        assert_eq!(Capacity { grows: false, ..capacity }.grows_at(100), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_triggered_while_it_is_reconciled_is_reconciled_once_more() {
        let queue = TestQueue::of(5, 2 * SECOND, || Ok(Action::await_change()));
        queue.trigger(&["a"]);
        assert_eq!(queue.log_after(1).await, "a@0");
        queue.trigger(&["a", "a"]);
        assert_eq!(queue.log_after(9).await, "a@0 a@2");
    }

    #[tokio::test(start_paused = true)]
    async fn a_trigger_before_a_requeue_replaces_the_requeue() {
        let queue = TestQueue::of(5, Duration::ZERO, || Ok(Action::requeue(10 * SECOND)));
        queue.trigger(&["a"]);
        assert_eq!(queue.log_after(4).await, "a@0");
        queue.trigger(&["a"]);
        assert_eq!(queue.log_after(20).await, "a@0 a@4 a@14 a@24");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_retried_after_growing_delays() {
        let queue = TestQueue::of(5, Duration::ZERO, || Err(Error::NotYet("not yet".into())));
        queue.trigger(&["a"]);
        assert_eq!(queue.log_after(9).await, "a@0 a@1 a@3 a@6 a@9");
    }

    #[tokio::test(start_paused = true)]
    async fn a_deleted_object_takes_no_place() {
        let queue = TestQueue::of(1, SECOND, || Ok(Action::requeue(SECOND)));
        queue.trigger(&["gone", "a"]);
        assert_eq!(queue.log_after(3).await, "gone@0 a@0 a@2");
    }
}
