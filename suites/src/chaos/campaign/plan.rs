//! How a campaign divides its seeds: into slices, one for each pod, and slices into batches.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::Range;

use crate::chaos::journal::{CampaignHeader, Header};
use crate::chaos::seeds::Seeds;
use crate::chaos::session::Session;
use crate::exit::{CommandError, input_error};
use crate::run::digest_of_profile;

/// The largest batch. It bounds the work that is lost when a pod is killed.
const LARGEST_BATCH: u64 = 100;

/// The number of batches of a slice, as long as batches are not the largest.
const BATCHES: u64 = 10;

/// The seeds of a campaign, and the number of slices.
pub(in crate::chaos) struct Campaign {
    seeds: Seeds,
    completions: u64,
}

impl Campaign {
    /// A campaign of `completions` slices.
    ///
    /// # Errors
    /// When a slice would have no seed.
    pub(in crate::chaos) fn new(seeds: &Seeds, completions: NonZeroU64) -> Result<Self, CommandError> {
        let count = seeds.0.end - seeds.0.start;
        if completions.get() > count {
            return Err(input_error!(
                "--completions {completions}: there are only {count} seeds, and each slice needs one"
            ));
        }
        Ok(Self { seeds: seeds.clone(), completions: completions.get() })
    }

    /// The campaign that the header of a result names, if it names one.
    pub(super) fn of(header: &Header) -> Option<Self> {
        let campaign = header.campaign.as_ref()?;
        let completions = NonZeroU64::new(campaign.completions)?;
        Self::new(&campaign.seeds.parse().ok()?, completions).ok()
    }

    /// The header of all results of the campaign.
    pub(in crate::chaos) fn header(&self, session: &Session<'_>) -> Header {
        Header {
            target: session.target_name(),
            style: session.style.to_string(),
            first_seed: self.seeds.0.start,
            campaign: Some(CampaignHeader {
                seeds: self.seeds.to_string(),
                completions: self.completions,
                profile: digest_of_profile(session.target.profile),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            }),
        }
    }

    /// The seeds of the slice with this index, from 0 on.
    ///
    /// # Errors
    /// When there is no such slice.
    pub(in crate::chaos) fn slice(&self, index: u64) -> Result<Range<u64>, CommandError> {
        if index >= self.completions {
            let last = self.completions - 1;
            return Err(input_error!("--index {index}: the slices are 0 to {last}"));
        }
        Ok(self.start(index)..self.start(index + 1))
    }

    /// The first seed of a slice.
    fn start(&self, index: u64) -> u64 {
        let Range { start, end } = self.seeds.0;
        let before = u128::from(end - start) * u128::from(index) / u128::from(self.completions);
        start + u64::try_from(before).expect("it is at most the number of seeds")
    }

    /// All slices with their indices.
    pub(super) fn slices(&self) -> impl Iterator<Item = (u64, Range<u64>)> {
        (0..self.completions).map(|index| (index, self.start(index)..self.start(index + 1)))
    }
}

impl fmt::Display for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {} slices", self.seeds, self.completions)
    }
}

/// The batches of a slice, in order. A batch is put into the store as a whole.
pub(super) fn batches(slice: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let size = ((slice.end - slice.start) / BATCHES).clamp(1, LARGEST_BATCH);
    let end = slice.end;
    // A start may exceed `end` only beyond the largest number, where it ends the sequence.
    std::iter::successors(Some(slice.start), move |start| start.checked_add(size))
        .take_while(move |start| *start < end)
        .map(move |start| start..end.min(start.saturating_add(size)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(seeds: &str, completions: u64) -> Result<Campaign, CommandError> {
        Campaign::new(&seeds.parse().unwrap(), NonZeroU64::new(completions).unwrap())
    }

    #[test]
    fn slices_and_batches_have_each_seed_once_in_order() {
        let largest = format!("{}..{}", u64::MAX - 7, u64::MAX);
        for (seeds, completions) in [("0..12", 3), ("5..12", 7), ("3..1000", 7), (&*largest, 2)] {
            let campaign = campaign(seeds, completions).unwrap();
            let slices: Vec<_> = campaign.slices().collect();
            assert_eq!(slices.len() as u64, completions);
            assert!(slices.iter().all(|(index, slice)| campaign.slice(*index).unwrap() == *slice));
            let all: Vec<u64> = slices.into_iter().flat_map(|(_, slice)| batches(slice)).flatten().collect();
            assert_eq!(all, campaign.seeds.0.collect::<Vec<_>>(), "{seeds}");
        }
    }

    #[test]
    fn a_batch_is_a_tenth_of_a_slice_and_at_most_a_hundred_seeds() {
        let first = |slice: Range<u64>| batches(slice).next().unwrap();
        assert_eq!((first(0..4), first(0..50), first(0..5000)), (0..1, 0..5, 0..100));
    }

    #[test]
    fn a_slice_without_seeds_is_refused() {
        assert!(matches!(campaign("0..2", 3), Err(CommandError::Input(_))));
        assert!(matches!(campaign("0..2", 2).unwrap().slice(2), Err(CommandError::Input(_))));
    }
}
