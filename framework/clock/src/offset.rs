//! How far clocks are off. A clock is copied everywhere, so its copies share a cell that lives as long as the program;
//! those of a simulation are used again when it has ended, so that a thousand runs need no more of them than one.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How far a clock and its copies are off, in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Offset(&'static AtomicI64);

/// Cells that no clock uses.
static IDLE: Mutex<Vec<Offset>> = Mutex::new(Vec::new());

thread_local! {
    /// The cells that the simulation on this thread has taken; `None` where there is none.
    static TAKEN: RefCell<Option<Vec<Offset>>> = const { RefCell::new(None) };
}

impl Offset {
    /// Of a clock that is right.
    pub(crate) fn none() -> Self {
        let idle = idle().pop();
        let offset = idle.unwrap_or_else(|| Self(Box::leak(Box::default())));
        offset.0.store(0, Ordering::Relaxed);
        TAKEN.with_borrow_mut(|taken| {
            if let Some(taken) = taken {
                taken.push(offset);
            }
        });
        offset
    }

    pub(crate) fn nanoseconds(self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(self, nanoseconds: i64) {
        self.0.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

impl fmt::Debug for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.nanoseconds())
    }
}

fn idle() -> std::sync::MutexGuard<'static, Vec<Offset>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes back, when it is dropped, what the clocks that are made on this thread have taken. They must not be used then.
#[must_use = "cells are taken back when it is dropped"]
pub(crate) struct Returns(());

impl Returns {
    pub(crate) fn on_this_thread() -> Self {
        TAKEN.set(Some(Vec::new()));
        Self(())
    }
}

impl Drop for Returns {
    fn drop(&mut self) {
        idle().extend(TAKEN.take().unwrap_or_default());
    }
}
