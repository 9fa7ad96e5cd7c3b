//! Draws the timings of a random scenario.

use capsize_clock::Stream;
use capsize_sorted::CollectSorted;
use rand::RngExt;
use serde_json::{Map, Value, json};

use super::style::Style;
use capsize_history::dialect::DialectKind;

/// The timings for fleets with their smallest and largest values in whole seconds.
/// The defaults of targets are within.
const RANGES: [(&str, u64, u64); 9] = [
    ("statusUpdateFrequency", 5, 20),
    ("failureThreshold", 10, 60),
    ("successThreshold", 10, 60),
    ("monitorPeriod", 2, 10),
    ("monitorGracePeriod", 35, 90),
    ("failoverEvictionTimeout", 10, 300),
    ("gracefulEvictionTimeout", 20, 600),
    ("notReadyTolerationSeconds", 0, 300),
    ("unreachableTolerationSeconds", 0, 300),
];

/// The timings for clusters with nodes.
const OF_NODES: [(&str, u64, u64); 4] = [
    ("statusUpdateFrequency", 5, 15),
    ("monitorPeriod", 2, 10),
    ("monitorGracePeriod", 40, 90),
    ("failoverEvictionTimeout", 10, 300),
];

/// Draws the timings that differ from those of the target.
/// In the style lite, four of five runs have no such timings, and in the other styles half of the runs. In the
/// remaining runs, each timing differs with probability one half.
pub(super) fn draw(rng: &mut Stream, style: Style, dialect: &DialectKind) -> Map<String, Value> {
    let often = match style {
        Style::Lite => 0.2,
        Style::Swarm | Style::Storm | Style::Graft => 0.5,
    };
    if !rng.random_bool(often) {
        return Map::new();
    }
    let ranges: &[_] = match dialect {
        DialectKind::Karmada | DialectKind::Data(_) => &RANGES,
        DialectKind::Nodes => &OF_NODES,
    };
    let drawn = ranges.iter().filter_map(|&(name, least, most)| {
        let seconds = rng.random_range(least..=most);
        rng.random_bool(0.5).then(|| (name.to_owned(), json!(format!("{seconds}s"))))
    });
    drawn.collect_sorted()
}
