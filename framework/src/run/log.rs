//! What has happened in a run so far: the history as it grows, the state it adds up to, and the judge of it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capsize_clock::Clock;
use tokio::sync::{Notify, watch};

use crate::chaos::Coverage;
use crate::facts::{Fact, News, World};
use crate::history::{Entry, Kind, Mark, Writer};
use crate::judge::{Judge, Judgement};
use crate::target::Profile;

/// The log of one run. Clones are the same log.
#[derive(Clone)]
pub(super) struct Log(Arc<Shared>);

struct Shared {
    clock: Clock,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
    runs_away: Notify,
    decided: Notify,
}

struct State {
    judge: Option<Judge>,
    evictions: Vec<Eviction>,
    coverage: Coverage,
    recent: VecDeque<Fact>,
    history: Option<Writer<Vec<u8>>>,
    until: Until,
    broken: Option<String>,
    instant: (Duration, u32),
    /// How many members there are to be: at the first instant there is something of each before any has joined.
    members: usize,
}

/// How long a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// To its end.
    End,
    /// Until a guarantee is violated: this one, or any where none is named.
    Violated(Option<&'static str>),
}

/// An eviction that has begun.
#[derive(Clone, Debug)]
pub(super) struct Eviction {
    pub(super) workload: String,
    pub(super) from: String,
    pub(super) began: Duration,
    pub(super) ended: Option<Duration>,
}

/// What a failure shows of what led to it.
const RECENT: usize = 6;

/// More entries than this at one instant, and this again for each member and workload, are controllers that answer
/// each other without end. Virtual time stands still meanwhile, so that no timeout would end it.
const MOST_AT_ONCE: usize = 2_000;
const MOST_AT_ONCE_FOR_EACH: usize = 100;

impl Log {
    /// An empty log of a fleet of so many `members`. Its history is written down only if `keep`.
    #[expect(clippy::disallowed_methods, reason = "one waits at a time, so that there is no order")]
    pub(super) fn new(clock: Clock, profile: Profile, members: usize, keep: bool, until: Until) -> Self {
        let state = State {
            judge: Some(Judge::new(profile)),
            evictions: Vec::new(),
            coverage: Coverage::default(),
            recent: VecDeque::new(),
            history: keep.then(|| Writer::new(Vec::new())),
            until,
            broken: None,
            instant: (Duration::ZERO, 0),
            members,
        };
        let (state, changed) = (Mutex::new(state), watch::Sender::new(0));
        let (runs_away, decided) = (Notify::new(), Notify::new());
        Self(Arc::new(Shared { clock, state, changed, runs_away, decided }))
    }

    /// Time since the start of the history, to the microsecond, as histories keep it.
    pub(super) fn now(&self) -> Duration {
        let micros = self.0.clock.elapsed().as_micros();
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// Writes down a mark.
    pub(super) fn mark(&self, mark: Mark) {
        self.push(Kind::Mark(mark));
    }

    /// Writes down what happens now.
    pub(super) fn push(&self, kind: Kind) {
        let entry = Entry { at: self.now(), kind };
        let (runs_away, decided) = {
            let mut state = self.state();
            (state.push(&entry), state.is_decided())
        };
        if decided {
            self.0.decided.notify_one();
        }
        self.0.changed.send_modify(|version| *version += 1);
        if runs_away {
            self.0.runs_away.notify_one();
        }
    }

    /// Ends when the target does not come to rest at the present instant: time stands still then, so that no sleep ends.
    pub(super) async fn runs_away(&self) {
        self.0.runs_away.notified().await;
    }

    /// Ends when all is known that is to be known of the run.
    pub(super) async fn decided(&self) {
        self.0.decided.notified().await;
    }

    /// Says that the recording is no longer whole, and why.
    pub(super) fn break_off(&self, why: String) {
        self.state().broken.get_or_insert(why);
        self.0.changed.send_modify(|version| *version += 1);
    }

    /// How many entries there are at the present instant, if they are too many to end.
    pub(super) fn endless(&self) -> Option<u32> {
        self.state().endless()
    }

    /// Why the recording is not whole, if it is not.
    pub(super) fn broken(&self) -> Option<String> {
        self.state().broken.clone()
    }

    /// Looks at the present state.
    pub(super) fn look<T>(&self, look: impl FnOnce(&World, &[Eviction]) -> T) -> T {
        let state = self.state();
        match &state.judge {
            Some(judge) => look(judge.world(), &state.evictions),
            None => look(&World::default(), &state.evictions),
        }
    }

    /// The latest facts, oldest first.
    pub(super) fn recent(&self) -> Vec<Fact> {
        self.state().recent.iter().cloned().collect()
    }

    /// What has been tried so far.
    pub(super) fn coverage(&self) -> Coverage {
        self.state().coverage.clone()
    }

    /// Tells of every change from now on.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Ends the log: the verdicts, and the history if it was kept. Later entries are not taken.
    pub(super) fn finish(&self) -> Option<(Judgement, Option<Vec<u8>>)> {
        let mut state = self.state();
        let judgement = state.judge.take()?.finish();
        let history = state.history.take().and_then(|writer| writer.finish().ok());
        Some((judgement, history))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes an entry, and answers whether there are too many at this instant.
    fn push(&mut self, entry: &Entry) -> bool {
        let (instant, entries) = self.instant;
        self.instant = if instant == entry.at { (instant, entries + 1) } else { (entry.at, 1) };
        let Some(judge) = &mut self.judge else { return self.endless().is_some() };
        if let Some(history) = &mut self.history
            && let Err(error) = history.write(entry)
        {
            self.broken.get_or_insert(error.to_string());
        }
        for fact in judge.push(entry) {
            self.evictions_after(&fact);
            if let Some(judge) = &self.judge {
                self.coverage.observe(&fact, judge.world());
            }
            if tells(&fact.news) {
                if self.recent.len() == RECENT {
                    self.recent.pop_front();
                }
                self.recent.push_back(fact);
            }
        }
        self.endless().is_some()
    }

    fn is_decided(&self) -> bool {
        match (self.until, &self.judge) {
            (Until::Violated(id), Some(judge)) => judge.is_violated(id),
            _ => false,
        }
    }

    /// How many entries there are at the present instant, if they are too many to end.
    fn endless(&self) -> Option<u32> {
        let (_, entries) = self.instant;
        let worlds = self.judge.iter().map(Judge::world);
        let each: usize =
            worlds.map(|world| world.members.len().max(self.members) + world.workloads.len()).sum();
        (entries as usize > MOST_AT_ONCE + each * MOST_AT_ONCE_FOR_EACH).then_some(entries)
    }

    fn evictions_after(&mut self, fact: &Fact) {
        match &fact.news {
            News::EvictionBegan { workload, task } => self.evictions.push(Eviction {
                workload: workload.name().to_owned(),
                from: task.member.clone(),
                began: fact.at,
                ended: None,
            }),
            News::EvictionEnded { workload, task } => {
                let open = |eviction: &&mut Eviction| {
                    eviction.ended.is_none()
                        && eviction.workload == workload.name()
                        && eviction.from == task.member
                };
                if let Some(eviction) = self.evictions.iter_mut().rev().find(open) {
                    eviction.ended = Some(fact.at);
                }
            }
            _ => {}
        }
    }
}

/// Whether a fact helps to understand a failure; the rest is noise around it.
fn tells(news: &News) -> bool {
    !matches!(
        news,
        News::Recorded(_)
            | News::Step(_)
            | News::InstanceHealth { .. }
            | News::Delivered { .. }
            | News::Rewritten { .. }
            | News::DeliveryTold { .. }
            | News::MemberChanged(_)
            | News::MemberTold { .. }
            | News::Conditions(_)
            | News::Access(_)
            | News::Policy(_)
            | News::Overrides
            | News::Template(_)
            | News::Namespace(_)
            | News::HeldBack(_)
    )
}
