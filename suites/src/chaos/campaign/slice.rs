//! The results of one slice of a campaign, which are put into the store batch by batch.
//!
//! A seed belongs to one batch, and a batch has one name. So a pod that runs again, or two pods with the same index, can
//! only put the same results under the same name.

use std::ops::Range;

use super::plan::{Campaign, batches};
use super::store::Store;
use crate::chaos::find::Find;
use crate::chaos::journal::{DIFFERS, Header, SeedResult, line, read};
use crate::chaos::session::Keep;
use crate::exit::{CommandError, input_error};

/// The file in a store with the header of its campaign.
const CAMPAIGN: &str = "campaign.jsonl";

/// The folder of the results in a store.
pub(super) const RESULTS: &str = "results";

/// The folder of the failures in a store.
pub(super) const FOUND: &str = "found";

/// The results of one slice in a store.
pub(in crate::chaos) struct Slice {
    store: Store,
    header: Header,
    /// The batches in the store, and the others.
    complete: Vec<Range<u64>>,
    missing: Vec<Range<u64>>,
    /// The results that are not in the store yet.
    waiting: Vec<SeedResult>,
}

impl Slice {
    /// Looks up which batches of `slice` are in the store.
    /// A store without a campaign becomes that of this campaign.
    ///
    /// # Errors
    /// When the store cannot be read and written, or is that of another campaign.
    pub(in crate::chaos) fn open(
        store: Store,
        slice: Range<u64>,
        header: Header,
    ) -> Result<Self, CommandError> {
        match header_of(&store)? {
            None => store.put(CAMPAIGN, line(&header).as_bytes())?,
            Some(found) if found == header => {}
            Some(_) => {
                return Err(input_error!("{store} is that of another campaign: {DIFFERS}"));
            }
        }
        let names = store.list(RESULTS)?;
        let (complete, missing) = batches(slice).partition(|batch| names.binary_search(&file(batch)).is_ok());
        Ok(Self { store, header, complete, missing, waiting: Vec::new() })
    }

    /// Calls `done` for each result that is in the store.
    ///
    /// # Errors
    /// When a result cannot be read, or is of another campaign.
    pub(in crate::chaos) fn resume(&self, mut done: impl FnMut(SeedResult)) -> Result<(), CommandError> {
        for batch in &self.complete {
            read_batch(&self.store, batch, &self.header, &mut done)?;
        }
        Ok(())
    }

    /// The seeds that have no result in the store, and their number.
    pub(in crate::chaos) fn missing(&self) -> (impl Iterator<Item = u64> + Send + use<>, u64) {
        let count = self.missing.iter().map(|batch| batch.end - batch.start).sum();
        (self.missing.clone().into_iter().flatten(), count)
    }
}

impl Keep for Slice {
    fn found(&mut self, find: &Find) -> Result<(), CommandError> {
        let mut files = find.files().into_iter();
        files.try_for_each(|(name, contents)| self.store.put(&format!("{FOUND}/{name}"), &contents))
    }

    fn done(&mut self, done: SeedResult) -> Result<(), CommandError> {
        let seed = done.seed;
        self.waiting.push(done);
        let Some(batch) = self.missing.iter().find(|batch| seed + 1 == batch.end) else { return Ok(()) };
        let lines: String = self.waiting.drain(..).map(|done| line(&done)).collect();
        self.store.put(&path(batch), (line(&self.header) + &lines).as_bytes())
    }
}

/// The name of the file of a batch.
pub(super) fn file(batch: &Range<u64>) -> String {
    format!("{}..{}.jsonl", batch.start, batch.end)
}

fn path(batch: &Range<u64>) -> String {
    format!("{RESULTS}/{}", file(batch))
}

/// Reads a batch from the store, and calls `done` for each of its results.
///
/// # Errors
/// When the batch cannot be read, is not whole, or is of another campaign.
pub(super) fn read_batch(
    store: &Store,
    batch: &Range<u64>,
    header: &Header,
    mut done: impl FnMut(SeedResult),
) -> Result<(), CommandError> {
    let name = path(batch);
    let text = store.get(&name)?;
    let place = format!("{name} in {store}");
    let mut results = Vec::new();
    read(text.as_slice(), &place, |found| found == header, |done| results.push(done))?;
    if !results.iter().map(|done| done.seed).eq(batch.clone()) {
        let help = "delete it, and run its slice again";
        return Err(input_error!(help = help, "{place} does not have its seeds once each"));
    }
    results.into_iter().for_each(&mut done);
    Ok(())
}

/// The header of the campaign of a store, if there is one.
fn header_of(store: &Store) -> Result<Option<Header>, CommandError> {
    if !store.list("")?.iter().any(|name| name == CAMPAIGN) {
        return Ok(None);
    }
    let text = store.get(CAMPAIGN)?;
    let mut header = None;
    let keep = |found: &Header| {
        header = Some(found.clone());
        true
    };
    read(text.as_slice(), &format!("{CAMPAIGN} in {store}"), keep, |_| ())?;
    Ok(header)
}

/// The campaign of a store.
///
/// # Errors
/// When no pod of a campaign has written there, or the store cannot be read.
pub(super) fn campaign_of(store: &Store) -> Result<(Header, Campaign), CommandError> {
    let header = header_of(store)?;
    let found = header.and_then(|header| Campaign::of(&header).map(|campaign| (header, campaign)));
    found.ok_or_else(|| input_error!("{store} has no campaign: no pod has begun to run seeds"))
}
