//! Runs the same test on many inputs, on all cores.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The results of `test` for each input, in the order of the inputs. A panic of `test` is a panic of this function.
pub(crate) fn on_each<I: Sync, R: Send>(inputs: &[I], test: impl Fn(&I) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN).get();
    let next = AtomicUsize::new(0);
    let work = || {
        let places = std::iter::from_fn(|| {
            let place = next.fetch_add(1, Ordering::Relaxed);
            inputs.get(place).map(|input| (place, input))
        });
        places.map(|(place, input)| (place, test(input))).collect::<Vec<_>>()
    };
    let mut results = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let finished = workers.into_iter().flat_map(|worker| worker.join().unwrap());
        finished.collect::<Vec<_>>()
    });
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}
