//! The numbers of a release of Karmada.

/// The major and the minor number of a release.
pub type ReleaseNumber = (u32, u32);

/// The first release without the former names of purge modes (karmada-io/karmada #7792).
pub const FORMER_PURGE_MODES_END: ReleaseNumber = (1, 19);

/// The numbers of a release such as `v1.18.2`.
/// A text without numbers counts as 1.5, the release of the reference.
#[must_use]
pub fn release_number(release: &str) -> ReleaseNumber {
    let mut numbers = release.trim_start_matches('v').split('.').map_while(|part| part.parse().ok());
    (numbers.next().unwrap_or(1), numbers.next().unwrap_or(5))
}
