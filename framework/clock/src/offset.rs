//! The offsets of clocks. All copies of a clock share one cell, which lives as long as the program.
//!
//! The cells of a simulation are reused after its end, so that a thousand runs need no more cells than one.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The offset of a clock and its copies, in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Offset(&'static AtomicI64);

/// Cells that no clock uses.
static IDLE: Mutex<Vec<Offset>> = Mutex::new(Vec::new());

thread_local! {
    /// The cells that the simulation on this thread has taken; `None` outside a simulation.
    static TAKEN: RefCell<Option<Vec<Offset>>> = const { RefCell::new(None) };
}

impl Offset {
    /// The offset of a right clock.
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

/// Makes the cells of the clocks of this thread reusable when it is dropped.
/// The clocks must not be used afterwards.
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
