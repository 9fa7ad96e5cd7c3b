//! Parses the lines of watches and sorts them into the order in which they were written.

use std::sync::Arc;

use kube::core::WatchEvent;
use serde_json::Value;

use capsize_history::{EventType, Field, Kind, Object, Recall};

/// One line of one watch.
pub(super) struct WatchLine {
    pub(super) source: usize,
    /// The name of the cluster that the watch is on.
    pub(super) on: Arc<str>,
    /// How often its API server was restored from a backup.
    /// Resource versions before and after a restore cannot be compared.
    pub(super) restores: u32,
    pub(super) text: String,
}

/// Parses the lines that arrived at one instant, and sorts them.
/// The result has the order in which the lines were written. Separate watches of one API server do not keep that order.
/// Lines that cannot be parsed are reported to `failed`.
pub(super) fn in_order(
    recall: &mut Recall,
    lines: Vec<WatchLine>,
    mut failed: impl FnMut(String),
) -> Vec<Kind> {
    let mut seen = Vec::with_capacity(lines.len());
    for WatchLine { source, on, restores, text } in lines {
        match read(recall, &on, &text) {
            Ok(Some((event, object))) => {
                let version = object.field("metadata", "resourceVersion").and_then(Field::text);
                let version: u64 = version.and_then(|version| version.parse().ok()).unwrap_or_default();
                seen.push(((source, restores, version), Kind::Event { on, event, object }));
            }
            Ok(None) => {}
            Err(why) => failed(why),
        }
    }
    seen.sort_by_key(|(place, _)| *place);
    seen.into_iter().map(|(_, kind)| kind).collect()
}

/// The event in a line, or `None` for a bookmark.
fn read(recall: &mut Recall, on: &str, text: &str) -> Result<Option<(EventType, Object)>, String> {
    if let Some(usual) = recall.read_watched(on, text) {
        return Ok(Some(usual));
    }
    let event: WatchEvent<Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(match event {
        WatchEvent::Added(object) => Some((EventType::Added, object.into())),
        WatchEvent::Modified(object) => Some((EventType::Modified, object.into())),
        WatchEvent::Deleted(object) => Some((EventType::Deleted, object.into())),
        WatchEvent::Bookmark(_) => None,
        WatchEvent::Error(status) => return Err(status.to_string()),
    })
}
