//! The override of libc's `getrandom`: seeded during a simulation on the thread, random otherwise.
//!
//! Hash maps of std and of dependencies take their keys from `getrandom`, and their order decides which
//! object a controller processes first. The symbol defined here comes before libc's in every program that
//! links this crate. Outside a simulation it forwards to the kernel, so TLS keys of real runs stay random.
//!
//! Every call on a thread gets the same bytes. A stream would not be deterministic: some libraries ask once a
//! process, on any thread, and would shift the bytes of all later calls on that thread.

use std::cell::Cell;
use std::ffi::{c_uint, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The random source of a simulated thread.
#[derive(Clone, Copy, Debug)]
struct ThreadRandomness {
    /// The source of the bytes of `getrandom`.
    seed: u64,
    /// How many hashers ahash has made on the thread.
    hashers: u64,
}

thread_local! {
    /// The source of the thread; `None` outside a simulation.
    /// It must not allocate, because the allocator itself may call `getrandom`.
    static CHANCE: Cell<Option<ThreadRandomness>> = const { Cell::new(None) };
}

/// Makes `getrandom` on this thread draw from `seed` until the guard is dropped.
#[must_use = "the override ends when the guard is dropped"]
pub fn override_on_this_thread(seed: u64) -> OverrideGuard {
    share_nothing_between_threads();
    OverrideGuard { before: CHANCE.replace(Some(ThreadRandomness { seed, hashers: 0 })) }
}

/// Ends the override when dropped.
#[derive(Debug)]
pub struct OverrideGuard {
    before: Option<ThreadRandomness>,
}

impl Drop for OverrideGuard {
    fn drop(&mut self) {
        CHANCE.set(self.before);
    }
}

/// Makes the state of ahash independent of other threads.
/// The stores of kube hash with ahash, which has keys and a counter for the whole process, so that one simulation would
/// change the others. The keys become the same in every process, and each thread gets a counter.
fn share_nothing_between_threads() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        // The call fails only if ahash was used before the first simulation. Its keys then stay as they are.
        let _refused = ahash::random_state::set_random_source(RandomSourceOfThread);
        let before = CHANCE.replace(Some(ThreadRandomness { seed: 0, hashers: 0 }));
        let _keys = ahash::RandomState::new();
        CHANCE.set(before);
    });
}

/// Draws from the simulation of the thread, if there is one.
struct RandomSourceOfThread;

impl ahash::random_state::RandomSource for RandomSourceOfThread {
    fn gen_hasher_seed(&self) -> usize {
        static OUTSIDE: AtomicUsize = AtomicUsize::new(0);
        let Some(ThreadRandomness { seed, hashers }) = CHANCE.try_with(Cell::get).ok().flatten() else {
            return OUTSIDE.fetch_add(1, Ordering::Relaxed);
        };
        CHANCE.set(Some(ThreadRandomness { seed, hashers: hashers + 1 }));
        let drawn = next(&mut seed.wrapping_add(hashers));
        usize::try_from(drawn & u64::from(u32::MAX)).unwrap_or_default()
    }
}

/// One step of SplitMix64: small, allocation free, and good enough for hash keys.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn fill(buffer: &mut [u8], seed: u64) {
    let mut state = seed;
    for chunk in buffer.chunks_mut(8) {
        chunk.copy_from_slice(&next(&mut state).to_le_bytes()[..chunk.len()]);
    }
}

/// `ssize_t getrandom(void *buf, size_t buflen, unsigned int flags)`, as in `<sys/random.h>`.
///
/// # Safety
/// `buffer` must be valid for writes of `length` bytes, as libc asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    match CHANCE.try_with(Cell::get).ok().flatten() {
        Some(chance) if length > 0 => {
            // SAFETY: the caller vouches for `length` writable bytes at `buffer`, and they are not read.
            let bytes = unsafe {
                buffer.write_bytes(0, length);
                std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length)
            };
            fill(bytes, chance.seed);
            isize::try_from(length).unwrap_or(isize::MAX)
        }
        // SAFETY: the same arguments, handed on to the kernel, which checks them.
        _ => unsafe { libc::syscall(libc::SYS_getrandom, buffer, length, flags) as isize },
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use super::*;

    fn hash_on_a_fresh_thread(seed: Option<u64>) -> u64 {
        let hash = move || {
            let _guard = seed.map(override_on_this_thread);
            RandomState::new().hash_one("which object comes first")
        };
        std::thread::spawn(hash).join().unwrap()
    }

    fn draw() -> [u8; 16] {
        let mut buffer = [0_u8; 16];
        // SAFETY: the buffer is 16 bytes long.
        assert_eq!(unsafe { getrandom(buffer.as_mut_ptr().cast(), 16, 0) }, 16);
        buffer
    }

    #[test]
    fn hash_keys_follow_the_seed_while_overridden() {
        assert_eq!(hash_on_a_fresh_thread(Some(7)), hash_on_a_fresh_thread(Some(7)));
        assert_ne!(hash_on_a_fresh_thread(Some(7)), hash_on_a_fresh_thread(Some(8)));
    }

    #[test]
    fn hash_keys_are_the_systems_without_an_override() {
        assert_ne!(hash_on_a_fresh_thread(None), hash_on_a_fresh_thread(None));
    }

    #[test]
    fn ahash_follows_the_seed_despite_other_threads() {
        let hash = || {
            let _guard = override_on_this_thread(7);
            ahash::RandomState::new().hash_one("which object comes first")
        };
        let alone = std::thread::spawn(hash).join().unwrap();
        let _other = ahash::RandomState::new();
        assert_eq!(std::thread::spawn(hash).join().unwrap(), alone);
    }

    #[test]
    fn the_first_call_on_a_thread_does_not_change_later_calls() {
        let _guard = override_on_this_thread(7);
        assert_eq!(draw(), draw());
    }

    #[test]
    fn the_override_ends_with_its_guard() {
        drop(override_on_this_thread(7));
        assert_ne!(draw(), draw());
    }
}
