//! A digest of bytes: equal bytes have equal digests, and different bytes almost never do.

use std::hash::{BuildHasherDefault, Hasher};

use indexmap::IndexMap;

/// The start value of a digest.
pub const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
/// The factor. It is odd, so that multiplication loses nothing. Its bits are those of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Continues the digest `state` with `bytes`.
///
/// Reads eight bytes at a time. The length goes first, so that a byte differs from a word of that byte and
/// zeros.
pub fn digest(state: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let state = words
        .iter()
        .fold(mix(state, bytes.len() as u64), |state, word| mix(state, u64::from_le_bytes(*word)));
    rest.iter().fold(state, |state, byte| mix(state, u64::from(*byte)))
}

/// Mixes a word into the state.
/// A product carries differences up only. The shift brings them down, so that no later word cancels them.
fn mix(state: u64, word: u64) -> u64 {
    let product = (state ^ word).wrapping_mul(FACTOR);
    product ^ (product >> 32)
}

/// Uses digests as the hashes of a table.
pub type ByDigest = BuildHasherDefault<DigestHasher>;

/// A table by key. Its order is the same in every run, and has no meaning.
pub type Table<K, V> = IndexMap<K, V, ByDigest>;

/// A hasher that returns the last number written to it.
#[derive(Default)]
pub struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = digest(self.0, bytes);
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
