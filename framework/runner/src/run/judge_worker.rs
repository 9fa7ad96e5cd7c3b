//! Who keeps the account of a run: whoever tells of something, there and then; or, of a run of so many machines that this takes
//! long, a thread of its own, which is waited for when somebody looks.
//!
//! What is in the account does not depend on it: it is told the same in the same order, and nobody sees it behind.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{mem, thread};

use super::run_state::{Account, Heard, MOST_AT_ONCE, Told};

/// So much is handed to the thread at a time, as to wake it takes longer than to judge a line.
const AT_ONCE: usize = 256;

/// So many times that may wait for it; then who tells of more waits as well.
const ROOM: usize = 16;

/// Keeps an account.
pub(super) struct Scribe {
    account: Arc<Mutex<Account>>,
    /// The way to the thread, if there is one.
    apart: Option<Apart>,
}

struct Apart {
    to: SyncSender<Work>,
    gathered: Mutex<Gathered>,
}

/// What is not yet handed over.
#[derive(Default)]
struct Gathered {
    heard: Vec<(Duration, Heard)>,
    /// How many lines and other entries that is.
    entries: usize,
    instant: Duration,
    /// How many there were at the present instant: at least as many as will be in the account.
    at_once: usize,
    /// So long as there are no more, there are not too many.
    room: usize,
}

enum Work {
    Take(Vec<(Duration, Heard)>),
    /// Says that all before it is in the account.
    Reached(SyncSender<()>),
}

impl Scribe {
    /// Keeps `account`, on a thread of its own if `apart` and the machine has one.
    pub(super) fn new(account: Account, apart: bool) -> Self {
        let account = Arc::new(Mutex::new(account));
        let (to, work) = sync_channel(ROOM);
        let of_thread = Arc::clone(&account);
        let keep = move || keep(&of_thread, &work);
        let thread = apart.then(|| thread::Builder::new().name("judge".into()).spawn(keep));
        let is_there = thread.is_some_and(|thread| thread.is_ok());
        Self { account, apart: is_there.then(|| Apart { to, gathered: Mutex::default() }) }
    }

    /// Takes what was heard at a time.
    pub(super) fn hear(&self, at: Duration, heard: Heard) -> Told {
        let Some(apart) = &self.apart else {
            return locked(&self.account).take(at, heard);
        };
        if apart.gather(at, heard) {
            return Told::default();
        }
        let (entries, room) = self.account().at_once(at);
        let mut gathered = locked(&apart.gathered);
        (gathered.at_once, gathered.room) = (entries, room);
        Told { runs_away: entries > room, decided: false }
    }

    /// The account, with all in it that was heard.
    pub(super) fn account(&self) -> MutexGuard<'_, Account> {
        if let Some(apart) = &self.apart {
            apart.hand_over(&mut locked(&apart.gathered));
            let (to, reached) = sync_channel(1);
            let asked = apart.to.send(Work::Reached(to));
            assert!(asked.is_ok() && reached.recv().is_ok(), "the thread that keeps the account panicked");
        }
        locked(&self.account)
    }
}

impl Apart {
    /// Takes what was heard at a time. Whether it is certain that there is not too much of the same instant.
    fn gather(&self, at: Duration, heard: Heard) -> bool {
        let more = match &heard {
            Heard::Entry(_) => 1,
            Heard::Lines(lines) => lines.len(),
        };
        let mut gathered = locked(&self.gathered);
        if gathered.instant != at {
            (gathered.instant, gathered.at_once, gathered.room) = (at, 0, 0);
        }
        gathered.at_once += more;
        gathered.entries += more;
        gathered.heard.push((at, heard));
        if gathered.entries >= AT_ONCE {
            self.hand_over(&mut gathered);
        }
        gathered.at_once <= gathered.room.max(MOST_AT_ONCE)
    }

    /// Hands over what there is. Of a thread that has panicked whoever looks is told.
    fn hand_over(&self, gathered: &mut Gathered) {
        gathered.entries = 0;
        drop(self.to.send(Work::Take(mem::take(&mut gathered.heard))));
    }
}

/// Keeps the account until nobody tells of anything any more.
fn keep(account: &Mutex<Account>, work: &Receiver<Work>) {
    for work in work {
        match work {
            Work::Take(gathered) => {
                let mut account = locked(account);
                gathered.into_iter().for_each(|(at, heard)| _ = account.take(at, heard));
            }
            // Who asked may have gone.
            Work::Reached(to) => drop(to.send(())),
        }
    }
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;
    use crate::run::log::Until;
    use capsize_history::Kind;
    use capsize_judge::profile::Profile;

    #[test]
    fn who_keeps_an_account_makes_no_difference_to_it() {
        let heard = |number: usize| {
            Heard::Entry(Kind::Mark(Map::from_iter([("step".to_owned(), Value::from(number))])))
        };
        let kept = |apart: bool, members: usize| {
            let text = include_str!("../../../../suites/targets/reference.yaml");
            let profile = Profile::parse("reference.yaml", text).unwrap();
            let scribe = Scribe::new(Account::new(profile, members, true, Until::End), apart);
            let instant = |number: usize| Duration::from_secs(if number < 10 { 0 } else { 1 });
            let most = MOST_AT_ONCE + members * 100;
            let told = (0..most + 15).map(|number| scribe.hear(instant(number), heard(number)));
            let runs_away = told.map(|told| told.runs_away).collect::<Vec<_>>();
            let (judgement, history) = scribe.account().finish().unzip();
            (runs_away, judgement.map(|judgement| judgement.entries), history.flatten())
        };
        for members in [0, 3] {
            let (here, apart) = (kept(false, members), kept(true, members));
            assert!(here == apart);
            assert_eq!(here.0.iter().filter(|runs_away| **runs_away).count(), 5);
        }
    }
}
