//! Puts imported events of several clusters in order, and writes them as a history.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use jiff::Timestamp;

use super::documents::ImportedEvent;
use capsize_history::{Entry, Mark, Observer, Writer};

/// Writes the events of clusters as a history with this header.
/// Each cluster has its name: `control-plane`, or that of a member. The number of events whose time is unknown is
/// returned.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_history<W: Write>(
    header: Mark,
    clusters: Vec<(String, Vec<ImportedEvent>)>,
    out: W,
) -> io::Result<(W, usize)> {
    let mut all: Vec<(Timestamp, String, ImportedEvent)> = Vec::new();
    for (name, events) in clusters {
        // An event without a time comes after the one before it in its file, or before the first one that has a time.
        let first = events.iter().find_map(|event| event.at).unwrap_or(Timestamp::UNIX_EPOCH);
        let mut latest = first;
        for event in events {
            latest = event.at.unwrap_or(latest);
            all.push((latest, name.clone(), event));
        }
    }
    // The sort is stable, so that events with the same time keep the order of their file.
    all.sort_by_key(|(at, ..)| *at);
    let start = all.first().map(|(at, _, event)| (*at, event.latency));
    let start = start.map_or(Timestamp::UNIX_EPOCH, |(at, _)| at);
    let mut writer = Writer::new(out);
    writer.write(&Entry::mark(Duration::ZERO, header))?;
    let mut observed: BTreeMap<String, Duration> = BTreeMap::new();
    let mut unknown = 0;
    for (time, name, event) in all {
        let at = Duration::try_from(time.duration_since(start)).unwrap_or_default();
        unknown += usize::from(event.at.is_none());
        if observed.insert(name.clone(), event.latency) != Some(event.latency) {
            let observer = Observer { on: name.clone(), latency: event.latency, clock_offset: event.early() };
            writer.write(&Entry::mark(at, observer.mark()))?;
        }
        writer.write(&Entry::event(at, name, event.event, event.object.into()))?;
    }
    writer.finish().map(|out| (out, unknown))
}

impl ImportedEvent {
    /// How much later the event may have happened: not at all, unless its time is unknown.
    fn early(&self) -> Duration {
        if self.at.is_none() { self.latency } else { Duration::ZERO }
    }
}
