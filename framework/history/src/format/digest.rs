//! A number that stands for bytes: of equal bytes it is equal, of others as good as never.

use std::hash::{BuildHasherDefault, Hasher};

use indexmap::IndexMap;

/// Where a digest begins.
pub const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
/// Odd, so that nothing is lost by multiplying with it; its bits are those of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number of what `state` stands for and then `bytes`.
///
/// Eight bytes at a time. The length goes first: a word of one byte and zeros is not that byte.
pub fn digest(state: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let state = words
        .iter()
        .fold(mix(state, bytes.len() as u64), |state, word| mix(state, u64::from_le_bytes(*word)));
    rest.iter().fold(state, |state, byte| mix(state, u64::from(*byte)))
}

/// A product carries differences up only; the shift brings them down, so that no later word cancels them.
fn mix(state: u64, word: u64) -> u64 {
    let product = (state ^ word).wrapping_mul(FACTOR);
    product ^ (product >> 32)
}

/// Finds by digests: they are as good as hashes.
pub type ByDigest = BuildHasherDefault<DigestHasher>;

/// What is found by its key. Its order is the same in every run, and means nothing.
pub type Table<K, V> = IndexMap<K, V, ByDigest>;

/// The last number that it was given.
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
