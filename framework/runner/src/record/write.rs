//! Writes the observations of several clusters as one history.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use capsize_sorted::CollectSorted;
use serde_json::{Map, json};
use thiserror::Error;
use tokio::sync::mpsc::{self, Receiver};
use tokio::task::JoinSet;

use super::Source;
use super::cluster::{ClusterMessage, Follower};
use super::order::{HELD, Order};
use super::pace::Pace;
use super::sink::EntrySink;
use capsize_history::{Entry, Kind, Mark, VERSION};

/// A recording to be made.
pub struct Record {
    /// The clock of the recording.
    pub clock: Pace,
    /// The fields of the header beside the version of the format.
    pub header: Mark,
    /// The clusters.
    pub sources: Vec<Source>,
    /// Marks of the user. Each is recorded with the time at which it arrives.
    pub marks: Receiver<Mark>,
}

/// A change in the recording that the user may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingNotice {
    /// Every cluster is listed and watched. All changes from now on are recorded.
    Complete,
    /// This cluster answers again.
    Back(String),
    /// This cluster does not answer, for this reason.
    Unreachable(String, String),
}

/// The result of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingResult {
    /// The number of events, without marks.
    pub events: u64,
    /// The time from the beginning to the end.
    pub span: Duration,
}

/// Why a recording failed.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The history cannot be written.
    #[error("the history cannot be written: {0}")]
    Unwritable(#[from] io::Error),
    /// A cluster never answered.
    #[error("{cluster} cannot be recorded: {why}")]
    NeverAnswered {
        /// The name of the cluster.
        cluster: String,
        /// The reason.
        why: String,
    },
}

/// How many messages may wait to be processed.
const ROOM: usize = 4096;

/// How often the events that were held back for long enough are written.
const BETWEEN_WRITES: Duration = Duration::from_millis(50);

struct RecordingWriter<S> {
    clock: Pace,
    out: S,
    names: Vec<Arc<str>>,
    /// The latest events of each cluster.
    orders: Vec<Order>,
    /// The clusters that have never answered.
    awaited: BTreeSet<usize>,
    unreachable: BTreeSet<usize>,
    events: u64,
}

impl Record {
    /// Records into `out` until `stop` ends.
    /// Meanwhile `report` is called with changes that the user may want to know.
    ///
    /// # Errors
    /// If `out` cannot be written, or a cluster never answers.
    pub async fn run(
        self,
        out: impl EntrySink,
        stop: impl Future<Output = ()>,
        mut report: impl FnMut(RecordingNotice),
    ) -> Result<RecordingResult, RecordError> {
        let Self { clock, header, sources, mut marks } = self;
        let (to, mut from) = mpsc::channel(ROOM);
        let mut writer = RecordingWriter {
            clock,
            out,
            names: sources.iter().map(|source| source.name.as_str().into()).collect(),
            orders: sources.iter().map(|_| Order::holding(clock.scaled(HELD))).collect(),
            awaited: (0..sources.len()).collect_sorted(),
            unreachable: BTreeSet::new(),
            events: 0,
        };
        writer.begin(header)?;
        let mut followers = JoinSet::new();
        for (place, source) in sources.into_iter().enumerate() {
            followers.spawn(Follower::new(clock, source, place, to.clone()).follow());
        }
        drop(to);
        tokio::select! {
            biased;
            () = stop => {}
            ended = writer.keep(&mut from, &mut marks, &mut report) => ended?,
        }
        // `capsize mark` has already reported to the user that these marks are recorded.
        while let Ok(mark) = marks.try_recv() {
            writer.say(0, Kind::Mark(mark));
        }
        writer.end()
    }
}

impl<S: EntrySink> RecordingWriter<S> {
    fn begin(&mut self, header: Mark) -> io::Result<()> {
        let mut first = [("history".to_owned(), json!(VERSION))].collect_sorted::<Map<_, _>>();
        first.extend(header);
        self.out.write(&Entry::mark(Duration::ZERO, first))
    }

    async fn keep(
        &mut self,
        from: &mut Receiver<(usize, ClusterMessage)>,
        marks: &mut Receiver<Mark>,
        report: &mut impl FnMut(RecordingNotice),
    ) -> Result<(), RecordError> {
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                biased;
                received = from.recv_many(&mut batch, ROOM) => if received == 0 {
                    return Ok(());
                },
                // Marks take the way of the events of the control plane, which are held back for a moment.
                Some(mark) = marks.recv() => self.say(0, Kind::Mark(mark)),
                () = self.clock.sleep(BETWEEN_WRITES) => {}
            }
            for (place, message) in batch.drain(..) {
                if let Some(notice) = self.take(place, message)? {
                    report(notice);
                }
            }
            self.write(Some(self.clock.elapsed()))?;
        }
    }

    fn take(
        &mut self,
        place: usize,
        message: ClusterMessage,
    ) -> Result<Option<RecordingNotice>, RecordError> {
        let name = self.names[place].to_string();
        match message {
            ClusterMessage::Event((event, object)) => {
                self.events += 1;
                self.say(place, Kind::Event { on: Arc::clone(&self.names[place]), event, object });
                Ok(None)
            }
            ClusterMessage::Exactness(observer) => {
                self.say(place, Kind::Mark(observer.mark()));
                Ok(None)
            }
            ClusterMessage::RunningServer => {
                let complete = self.awaited.remove(&place) && self.awaited.is_empty();
                let back = self.unreachable.remove(&place).then_some(RecordingNotice::Back(name));
                Ok(if complete { Some(RecordingNotice::Complete) } else { back })
            }
            ClusterMessage::Unreachable(why) if self.awaited.contains(&place) => {
                Err(RecordError::NeverAnswered { cluster: name, why })
            }
            ClusterMessage::Unreachable(why) => {
                Ok(self.unreachable.insert(place).then_some(RecordingNotice::Unreachable(name, why)))
            }
        }
    }

    /// The last mark shows the end of the recording, and that the history is complete.
    fn end(mut self) -> Result<RecordingResult, RecordError> {
        self.write(None)?;
        let span = self.clock.elapsed();
        let ended = [("recorder".to_owned(), json!("ended"))].collect_sorted();
        self.out.write(&Entry::mark(span, ended))?;
        self.out.flush()?;
        Ok(RecordingResult { events: self.events, span })
    }

    fn say(&mut self, place: usize, kind: Kind) {
        let now = self.clock.elapsed();
        self.orders[place].take(now, kind);
    }

    /// Writes the events that are due at `now`, or all if `now` is `None`.
    fn write(&mut self, now: Option<Duration>) -> io::Result<()> {
        let mut due: Vec<Entry> = self.orders.iter_mut().flat_map(|order| order.due(now)).collect();
        due.sort_by_key(|entry| entry.at);
        for entry in &due {
            self.out.write(entry)?;
        }
        // The history can be read during the recording, and after a crash.
        if due.is_empty() { Ok(()) } else { self.out.flush() }
    }
}
