//! Processes many items in parallel, on several threads, and returns the results in order.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// Calls `of` for each item on `jobs` threads, and `done` with the results in the order of the items. An item is taken
/// when a thread is free, so there may be any number of them.
///
/// # Errors
/// The first error of `done`. Items that have not begun are skipped then.
pub fn side_by_side<T: Send, R: Send, E>(
    jobs: NonZeroUsize,
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    of: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(T, R) -> Result<(), E>,
) -> Result<(), E> {
    let items = Mutex::new(items.into_iter().enumerate());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.get() {
            let (sender, next, of) = (sender.clone(), &next, &of);
            scope.spawn(move || {
                while let Some((index, item)) = next() {
                    let result = of(&item);
                    if sender.send((index, item, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let (mut early, mut delivered) = (BTreeMap::new(), 0);
        for (index, item, result) in receiver {
            early.insert(index, (item, result));
            while let Some((item, result)) = early.remove(&delivered) {
                done(item, result)?;
                delivered += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: NonZeroUsize = NonZeroUsize::new(3).expect("three is not zero");

    #[test]
    fn results_are_delivered_in_the_order_of_the_items() {
        let mut results = Vec::new();
        let all = side_by_side(
            THREE,
            0_u64..50,
            |item| item * 2,
            |item, twice| {
                results.push((item, twice));
                Ok::<_, ()>(())
            },
        );
        assert_eq!(all, Ok(()));
        assert!(results.into_iter().eq((0..50).map(|item| (item, item * 2))));
    }

    #[test]
    fn the_first_error_ends_the_processing() {
        let livelock_entries = 0_u64..;
        let stopped = side_by_side(
            THREE,
            livelock_entries,
            |item| *item,
            |item, _| if item == 7 { Err(7) } else { Ok(()) },
        );
        assert_eq!(stopped, Err(7));
        assert_eq!(side_by_side(THREE, 0..0, |item: &u64| *item, |_, _| Err(())), Ok(()));
    }
}
