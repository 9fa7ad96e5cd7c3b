//! Calls a function for many items on all cores.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::thread;

use capsize_runner::run::side_by_side;

/// The results of `of` for each item, in the order of the items.
pub(crate) fn on_all_cores<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let jobs = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut results = Vec::new();
    let collect = |_, result| {
        results.push(result);
        Ok::<_, Infallible>(())
    };
    let Ok(()) = side_by_side(jobs, items, |item| of(item), collect);
    results
}
