//! Makes a history of any length from recordings of cases of the suite.
//! The recordings are played again and again, many at a time. Each time has members, workloads and times of its own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt::Write as _;
use std::time::Duration;

use capsize_clock::{Seed, parse_time};
use capsize_history::{Entry, EventType, Kind, Reader, Writer};
use capsize_judge::profile::Profile;
use capsize_runner::run::{Keep, Target, run_case};
use capsize_sorted::CollectSorted;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::conformance;
use crate::exit::{CommandError, environment_error};
use crate::reference::Reference;

/// The cases that are played: every kind of object, and members that fail in several ways.
/// None of them makes the controllers go away, which would concern all that are played at the same time.
const CASES: [&str; 6] = [
    "eviction/partition",
    "eviction/two-workloads",
    "eviction/cluster-scoped",
    "placement/divided-moves-to-the-survivor",
    "tainting/flapping",
    "toleration/taint-removed-in-time",
];

/// How many histories are played at a time.
const PLAYERS: usize = 60;

/// The time from the last entry of a case until the objects that it leaves are deleted.
/// The deletion comes before anything that the case waited for is due.
const DELETED_AFTER: Duration = Duration::from_millis(100);

/// The history, made as it is asked for.
pub(crate) struct LongHistory {
    /// The header, until it is written.
    header: Option<String>,
    tapes: Vec<RecordedCase>,
    /// The next entry of each player: when, and who.
    next: BinaryHeap<Reverse<(Duration, usize)>>,
    players: Vec<Player>,
    started: usize,
}

/// A case as it was recorded.
struct RecordedCase {
    lines: Vec<(Duration, Vec<LinePiece>)>,
}

/// A case being played.
struct Player {
    tape: usize,
    line: usize,
    number: usize,
    from: Duration,
}

/// A piece of a line.
enum LinePiece {
    /// As it stands.
    Text(String),
    /// A name that each player has its own of.
    Name(String),
    /// A time, which each player shifts.
    Time(Timestamp),
}

impl LongHistory {
    /// Records the cases.
    pub(crate) fn of_the_suite(profile: &Profile) -> Result<Self, CommandError> {
        let cases = conformance::cases().map_err(|error| CommandError::input(*error))?;
        let target = Target { profile, implementation: &Reference::default() };
        let mut recorded = Vec::new();
        for id in CASES {
            let case = cases.iter().find(|case| case.id() == id).expect("the case is part of the suite");
            let history = run_case(case, target, Seed(1), Keep::History).history;
            let history = history.ok_or_else(|| environment_error!("{id} was not recorded"))?;
            recorded.push(String::from_utf8(history).expect("a history is text"));
        }
        let header = recorded[0].lines().next().unwrap_or_default().to_owned();
        let tapes: Vec<_> = recorded.iter().map(|history| RecordedCase::of(history)).collect();
        let mut long =
            Self { header: Some(header), tapes, next: BinaryHeap::new(), players: Vec::new(), started: 0 };
        for place in 0..PLAYERS {
            // They begin one after another, so that something else happens with each at any time.
            let from = Duration::from_secs(20) * u32::try_from(place).expect("few players");
            let player = long.player(from);
            long.next.push(Reverse((long.at(&player), place)));
            long.players.push(player);
        }
        Ok(long)
    }

    /// The header, at first, and so many more lines.
    pub(crate) fn next_lines(&mut self, count: usize) -> String {
        let mut text = self.header.take().map(|header| header + "\n").unwrap_or_default();
        for _ in 0..count {
            let Some(Reverse((at, place))) = self.next.pop() else { break };
            let player = &mut self.players[place];
            let tape = &self.tapes[player.tape];
            player.write(at, &tape.lines[player.line].1, &mut text);
            player.line += 1;
            if player.line == tape.lines.len() {
                // Stamps have whole seconds, so that shifts must.
                self.players[place] = self.player(Duration::from_secs(at.as_secs() + 1));
            }
            self.next.push(Reverse((self.at(&self.players[place]), place)));
        }
        text
    }

    fn player(&mut self, from: Duration) -> Player {
        self.started += 1;
        Player { tape: self.started % self.tapes.len(), line: 0, number: self.started, from }
    }

    fn at(&self, player: &Player) -> Duration {
        player.from + self.tapes[player.tape].lines[player.line].0
    }
}

impl Player {
    fn write(&self, at: Duration, pieces: &[LinePiece], text: &mut String) {
        let _ = write!(text, "{{\"at\":{:.6},", at.as_secs_f64());
        for piece in pieces {
            match piece {
                LinePiece::Text(piece) => text.push_str(piece),
                LinePiece::Name(name) => drop(write!(text, "{name}x{}", self.number)),
                LinePiece::Time(time) => {
                    let shifted = *time + self.from;
                    let _ = write!(text, "{}", shifted.strftime("%Y-%m-%dT%H:%M:%S"));
                }
            }
        }
        text.push('\n');
    }
}

impl RecordedCase {
    fn of(history: &str) -> Self {
        let entries = Reader::new("recorded", history.as_bytes());
        let entries: Vec<Entry> = entries.map(|entry| entry.expect("it was just written")).collect();
        let members = members(&entries);
        let entries: Vec<Entry> = entries.into_iter().map(|entry| confined(entry, &members)).collect();
        let mut names = BTreeSet::new();
        let mut alive = BTreeMap::new();
        let mut end = Duration::ZERO;
        for entry in &entries {
            end = entry.at;
            let Kind::Event { on, event, object } = &entry.kind else { continue };
            let object = object.value();
            let text = |pointer: &str| {
                object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let kind = text("/kind");
            names.extend(match kind.as_str() {
                "Cluster" => Some(text("/metadata/name")),
                "ResourceBinding" | "ClusterResourceBinding" => Some(text("/spec/resource/name")),
                _ => None,
            });
            let key = (leaving_order(&kind), on, kind, text("/metadata/namespace"), text("/metadata/name"));
            match event {
                EventType::Deleted => drop(alive.remove(&key)),
                _ => drop(alive.insert(key, object)),
            }
        }
        let gone = alive.into_iter().map(|((_, on, ..), object)| {
            format!(r#"{{"at":0,"on":"{on}","event":"DELETED","object":{object}}}"#)
        });
        let at = |line: &str| {
            let (at, rest) = line.trim_start_matches("{\"at\":").split_once(',').expect("`at` is first");
            (Duration::from_secs_f64(at.parse().expect("`at` is a number")), pieces(rest, &names))
        };
        // The header is everyone's.
        let lines = entries[1..].iter().map(|entry| at(&written(entry)));
        let lines = lines.chain(gone.map(|line| (end + DELETED_AFTER, at(&line).1)));
        Self { lines: lines.collect() }
    }
}

/// The members of a case.
fn members(entries: &[Entry]) -> BTreeSet<String> {
    let name = |entry: &Entry| match &entry.kind {
        Kind::Event { object, .. } if object.kind() == "Cluster" => {
            Some(object.text("metadata", "name").into_owned())
        }
        _ => None,
    };
    entries.iter().filter_map(name).collect_sorted()
}

/// The kinds that say where a workload may go.
const PLACED: [&str; 4] =
    ["ResourceBinding", "ClusterResourceBinding", "PropagationPolicy", "ClusterPropagationPolicy"];

/// Returns the same entry, with workloads that can go only to `members`.
/// The entry changes only for workloads that might go anywhere, because there are other members at the same time.
fn confined(mut entry: Entry, members: &BTreeSet<String>) -> Entry {
    if let Kind::Event { object, .. } = &mut entry.kind
        && PLACED.contains(&&*object.kind())
    {
        let mut value = object.value();
        if let Some(placement) = value.pointer_mut("/spec/placement").and_then(Value::as_object_mut)
            && !placement.contains_key("clusterAffinities")
        {
            placement.entry("clusterAffinity").or_insert_with(|| json!({"clusterNames": members}));
        }
        *object = value.into();
    }
    entry
}

fn written(entry: &Entry) -> String {
    let mut line = Writer::new(Vec::new());
    line.write(entry).expect("memory takes it");
    String::from_utf8(line.finish().expect("memory takes it")).expect("it is text").trim_end().to_owned()
}

/// Workloads are deleted before the members that carry them.
fn leaving_order(kind: &str) -> u8 {
    match kind {
        "ResourceBinding" | "ClusterResourceBinding" => 0,
        "Cluster" => 2,
        _ => 1,
    }
}

/// `line` taken apart where it has one of `names` as a whole word, or a time.
fn pieces(line: &str, names: &BTreeSet<String>) -> Vec<LinePiece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let word = &rest[..length];
        let time = rest.get(..19).filter(|_| length == 4).and_then(|time| parse_time(&format!("{time}Z")));
        let taken = if let Some(time) = time {
            pieces.push(LinePiece::Text(std::mem::take(&mut text)));
            pieces.push(LinePiece::Time(time));
            19
        } else if names.contains(word) {
            pieces.push(LinePiece::Text(std::mem::take(&mut text)));
            pieces.push(LinePiece::Name(word.to_owned()));
            length
        } else {
            let length = if length == 0 { rest.chars().next().map_or(1, char::len_utf8) } else { length };
            text.push_str(&rest[..length]);
            length
        };
        rest = &rest[taken..];
    }
    pieces.push(LinePiece::Text(text));
    pieces
}
