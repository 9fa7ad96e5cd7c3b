//! Processes many items in parallel, on several threads.
//! The results are delivered in the order of the items, or as the items end.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Calls `of` for each item on `jobs` threads, and `done` with the results in the order of the items.
/// An item is taken when a thread is free, so there may be any number of them.
///
/// # Errors
/// The first error of `done`. Items that have not begun are skipped then.
pub fn side_by_side<T: Send, R: Send, E>(
    jobs: NonZeroUsize,
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    of: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(T, R) -> Result<(), E>,
) -> Result<(), E> {
    let (mut early, mut delivered) = (BTreeMap::new(), 0);
    let of = |(_, item): &(usize, T)| of(item);
    as_they_end(jobs, items.into_iter().enumerate(), of, |(index, item), result| {
        early.insert(index, (item, result));
        while let Some((item, result)) = early.remove(&delivered) {
            done(item, result)?;
            delivered += 1;
        }
        Ok(())
    })
}

/// Does the same as [`side_by_side`], but calls `done` with each result as soon as its item has ended.
///
/// # Errors
/// The first error of `done`. Items that have not begun are skipped then.
pub fn as_they_end<T: Send, R: Send, E>(
    jobs: NonZeroUsize,
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    of: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(T, R) -> Result<(), E>,
) -> Result<(), E> {
    let (items, ended) = (Mutex::new(items.into_iter()), Mutex::new(VecDeque::new()));
    let next = || lock(&items).next();
    let work = |sender: &Sender<()>| {
        while let Some(item) = next() {
            let result = of(&item);
            lock(&ended).push_back((item, result));
            if sender.send(()).is_err() {
                return;
            }
        }
    };
    let mut outcome = Ok(());
    run_threads(jobs, &work, &mut || {
        let (item, result) = lock(&ended).pop_front().expect("a result was sent");
        outcome = done(item, result);
        outcome.is_ok()
    });
    outcome
}

/// Runs `work` on `jobs` threads, and calls `deliver` for each message.
/// The function returns when all threads have ended. After `deliver` has returned false, messages cannot be sent.
///
/// This function is compiled once, because channels and threads for each type of an item would be much code.
fn run_threads(jobs: NonZeroUsize, work: &(dyn Fn(&Sender<()>) + Sync), deliver: &mut dyn FnMut() -> bool) {
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.get() {
            let sender = sender.clone();
            scope.spawn(move || work(&sender));
        }
        drop(sender);
        receiver.into_iter().all(|()| deliver());
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn a_long_item_does_not_hold_back_the_results_of_others() {
        let (release, held) = mpsc::channel();
        let held = Mutex::new(held);
        let mut ended = Vec::new();
        let all = as_they_end(
            THREE,
            0..5,
            |item| if *item == 0 { held.lock().unwrap().recv() } else { Ok(()) },
            |item, _| {
                ended.push(item);
                // The first item ends only after the results of all others have been delivered.
                if ended.len() == 4 { release.send(()) } else { Ok(()) }
            },
        );
        assert_eq!((all, ended.pop()), (Ok(()), Some(0)));
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
