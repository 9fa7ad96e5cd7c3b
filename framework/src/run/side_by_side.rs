//! Does the same with many things, several at a time, each on a thread of its own.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Tells `done` what `of` says of each item, `jobs` at a time, in the order of the items.
///
/// # Errors
/// The first error of `done`; what has not begun is not done then.
pub fn side_by_side<T: Sync, R: Send, E>(
    jobs: NonZeroUsize,
    items: &[T],
    of: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(&T, R) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.get().min(items.len()) {
            let (sender, next, of) = (sender.clone(), &next, &of);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    if sender.send((index, of(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let (mut early, mut told) = (BTreeMap::new(), 0);
        for (index, result) in receiver {
            early.insert(index, result);
            while let Some(result) = early.remove(&told) {
                done(&items[told], result)?;
                told += 1;
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
    fn what_is_done_side_by_side_is_told_in_order() {
        let items: Vec<u64> = (0..50).collect();
        let mut told = Vec::new();
        let all = side_by_side(
            THREE,
            &items,
            |item| item * 2,
            |item, twice| {
                told.push((*item, twice));
                Ok::<_, ()>(())
            },
        );
        assert_eq!(all, Ok(()));
        assert!(told.iter().copied().eq(items.iter().map(|item| (*item, item * 2))));
    }

    #[test]
    fn an_error_ends_it() {
        let items: Vec<u64> = (0..1000).collect();
        let stopped =
            side_by_side(THREE, &items, |item| *item, |item, _| if *item == 7 { Err(7) } else { Ok(()) });
        assert_eq!(stopped, Err(7));
        assert_eq!(side_by_side(THREE, &[], |item: &u64| *item, |_, _| Err(())), Ok(()));
    }
}
