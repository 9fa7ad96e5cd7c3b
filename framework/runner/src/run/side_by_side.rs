//! Does the same with many things, several at a time, each on a thread of its own.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// Tells `done` what `of` says of each item, `jobs` at a time, in the order of the items, of which there may be any number:
/// one is asked for when there is a hand free for it.
///
/// # Errors
/// The first error of `done`; what has not begun is not done then.
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
        let (mut early, mut told) = (BTreeMap::new(), 0);
        for (index, item, result) in receiver {
            early.insert(index, (item, result));
            while let Some((item, result)) = early.remove(&told) {
                done(item, result)?;
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
        let mut told = Vec::new();
        let all = side_by_side(
            THREE,
            0_u64..50,
            |item| item * 2,
            |item, twice| {
                told.push((item, twice));
                Ok::<_, ()>(())
            },
        );
        assert_eq!(all, Ok(()));
        assert!(told.into_iter().eq((0..50).map(|item| (item, item * 2))));
    }

    #[test]
    fn an_error_ends_it() {
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
