//! SHA-256 digests, by which a conformance report names scenarios, histories and profiles.

use std::fmt::Write as _;

use capsize_judge::profile::Profile;
use sha2::{Digest, Sha256};

/// The digest of several parts, in hexadecimal digits.
/// The length of each part counts, so that a byte that moves from one part to the next changes the digest.
pub fn digest_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut sum = Sha256::new();
    for part in parts {
        sum.update((part.len() as u64).to_le_bytes());
        sum.update(part);
    }
    hexadecimal(&sum.finalize())
}

/// The digest of one file, as `sha256sum` prints it.
#[must_use]
pub fn digest_of_file(contents: &[u8]) -> String {
    hexadecimal(&Sha256::digest(contents))
}

/// The digest of what a profile says, whatever its file looks like.
/// The file of a dialect that is data counts too.
///
/// # Panics
/// Never: a profile is always JSON.
#[must_use]
pub fn digest_of_profile(profile: &Profile) -> String {
    let text = serde_json::to_string(profile).expect("texts, numbers and lists are always JSON");
    match profile.dialect.program() {
        Some(dialect) => digest_of([text.as_bytes(), dialect.text().as_bytes()]),
        None => digest_of_file(text.as_bytes()),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
