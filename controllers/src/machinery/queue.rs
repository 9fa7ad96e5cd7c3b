//! A queue of objects to reconcile: kube's applier, with the back-off of the real controllers.
//!
//! An object is never reconciled twice at once, and what fails is tried again after a delay that doubles with each
//! failure. What wakes it is up to the controller.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Debug;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use kube::Resource;
use kube::runtime::controller::{Action, Config, applier};
use kube::runtime::reflector::{ObjectRef, Store};

use super::{Change, Error};

/// How many objects the real controllers reconcile at once (`--concurrent-*-syncs`).
const CONCURRENCY: u16 = 5;

/// What a queue has to know of what it is given for its reconciliations.
pub(crate) trait Retries: Send + Sync + 'static {
    /// The first delay before something that failed is tried again, and the longest.
    fn delays(&self) -> (Duration, Duration);
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
    pub store: Store<K>,
    /// Those to look at.
    pub triggers: BoxStream<'static, ObjectRef<K>>,
    /// No bound on how many at once: for what talks to members, so that one that hangs does not stall the others.
    pub unbounded: bool,
}

/// Failures in a row, by object.
#[derive(Debug, Default)]
struct Failures(Mutex<BTreeMap<String, u32>>);

impl Failures {
    /// Counts one more, and returns how long to wait.
    fn delay(&self, key: String, base: Duration, longest: Duration) -> Duration {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(key).or_default();
        let delay = base.saturating_mul(2_u32.saturating_pow(*count)).min(longest);
        *count += 1;
        delay
    }

    fn forget(&self, key: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// Reconciles what is in the queue, for ever.
pub(crate) fn run<C, K, F, Fut>(context: Arc<C>, queue: Queue<K>, reconcile: F) -> BoxFuture<'static, ()>
where
    C: Retries,
    K: Resource + Clone + Debug + Send + Sync + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone + Unpin + Send + Sync,
    F: Fn(Arc<C>, Arc<K>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, Error>> + Send + 'static,
{
    let workers = if queue.unbounded { 0 } else { CONCURRENCY };
    run_with(context, queue, workers, reconcile)
}

/// The same with so many at once; without a bound where that is 0.
pub(crate) fn run_with<C, K, F, Fut>(
    context: Arc<C>,
    queue: Queue<K>,
    workers: u16,
    reconcile: F,
) -> BoxFuture<'static, ()>
where
    C: Retries,
    K: Resource + Clone + Debug + Send + Sync + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone + Unpin + Send + Sync,
    F: Fn(Arc<C>, Arc<K>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, Error>> + Send + 'static,
{
    // What comes next is large when compiled, and made once for each kind rather than for each controller.
    work(context, queue, workers, Box::new(move |context, object| reconcile(context, object).boxed())).boxed()
}

type Outcome = BoxFuture<'static, Result<Action, Error>>;

async fn work<C, K>(
    context: Arc<C>,
    queue: Queue<K>,
    workers: u16,
    reconcile: Box<dyn Fn(Arc<C>, Arc<K>) -> Outcome + Send + Sync>,
) where
    C: Retries,
    K: Resource + Clone + Debug + Send + Sync + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone + Unpin + Send + Sync,
{
    let Queue { name, store, triggers, .. } = queue;
    let failures = Arc::new(Failures::default());
    let key = |object: &K| {
        let meta = object.meta();
        format!(
            "{}/{}",
            meta.namespace.as_deref().unwrap_or_default(),
            meta.name.as_deref().unwrap_or_default()
        )
    };
    let reconciler = |object: Arc<K>, context: Arc<C>| {
        let (key, failures) = (key(&object), Arc::clone(&failures));
        let outcome = reconcile(context, object);
        async move {
            let outcome = outcome.await;
            if outcome.is_ok() {
                failures.forget(&key);
            }
            outcome
        }
        .boxed()
    };
    let retry = |object: Arc<K>, error: &Error, context: Arc<C>| {
        let (base, longest) = context.delays();
        let key = key(&object);
        tracing::debug!(controller = name, object = key, %error, "reconciliation failed and is tried again");
        Action::requeue(failures.delay(key, base, longest))
    };
    let config = Config::default().concurrency(workers);
    let triggers = triggers.map(Ok::<_, Infallible>);
    let outcomes = applier(reconciler, retry, context, store, triggers, config);
    // Errors have been dealt with; an object that is gone before its turn is nothing to do.
    outcomes.for_each(|_| std::future::ready(())).await;
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
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_and_begin_anew_after_a_success() {
        let failures = Failures::default();
        let delay =
            || failures.delay("a".into(), Duration::from_millis(5), Duration::from_millis(30)).as_millis();
        assert_eq!([delay(), delay(), delay(), delay(), delay()], [5, 10, 20, 30, 30]);
        failures.forget("a");
        assert_eq!(
            failures.delay("a".into(), Duration::from_millis(5), Duration::from_secs(1)).as_millis(),
            5
        );
    }

    #[test]
    fn a_thousand_failures_do_not_overflow() {
        let failures = Failures::default();
        let longest = Duration::from_secs(1000);
        let last = (0..1000).map(|_| failures.delay("a".into(), Duration::from_millis(5), longest)).last();
        assert_eq!(last, Some(longest));
    }
}
