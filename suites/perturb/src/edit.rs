//! Edits of a history: versions that are replaced, left out, inserted or moved.

use std::time::Duration;

use capsize_history::{Entry, EventType, Kind};
use serde_json::Value;

/// One change of a history.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// The entry with this number has another object.
    Replace(usize, Value),
    /// The entry with this number is left out.
    Remove(usize),
    /// An entry is inserted at this time, after the other entries of that time.
    Insert(f64, String, EventType, Value),
}

/// All changes that one wrong behaviour makes.
pub(crate) type Edit = Vec<Change>;

/// The history `entries` with `edit`.
pub(crate) fn apply(entries: &[Entry], edit: &Edit) -> Vec<Entry> {
    let mut edited: Vec<Option<Entry>> = entries.iter().cloned().map(Some).collect();
    let mut inserted = Vec::new();
    for change in edit {
        match change {
            Change::Replace(place, object) => {
                if let Some(Entry { kind: Kind::Event { object: old, .. }, .. }) = &mut edited[*place] {
                    *old = object.clone().into();
                }
            }
            Change::Remove(place) => edited[*place] = None,
            Change::Insert(at, on, event, object) => {
                inserted.push(Entry::event(time(*at), on.as_str(), *event, object.clone().into()));
            }
        }
    }
    let mut entries: Vec<Entry> = edited.into_iter().flatten().collect();
    // Each inserted entry comes after the last entry that is not later. The rest keeps the order of the recorder.
    for entry in inserted {
        let place = entries.iter().rposition(|other| other.at <= entry.at).map_or(0, |last| last + 1);
        entries.insert(place, entry);
    }
    entries
}

fn time(at: f64) -> Duration {
    Duration::from_micros(Duration::from_secs_f64(at.max(0.0)).as_micros().try_into().unwrap_or(u64::MAX))
}
