//! The reaper: undoes what runs left that did not end by themselves.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use capsize_clock::Clock;

use crate::docker::{Engine, clear};
use crate::journal::{Deed, Left, at_work};
use crate::{kubeconfig, process};

/// What Docker has may take so long to be gone, and is looked for so often.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(250);

/// After so many looks at which nothing was there, nothing comes any more: a busy Docker was seen to take over half a second
/// for a network that a killed run had asked for.
const LOOKS_IN_VAIN: u32 = 12;

/// What was done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Healed {
    /// What was undone.
    pub undone: Vec<Deed>,
    /// What could not be, and why. It stays in its journal.
    pub left: Vec<(Deed, String)>,
}

/// Undoes what the journals in `folder` say of runs that are over, and removes what Docker has with the labels of such
/// runs: it may have been made after the end of a run that had asked for it.
///
/// # Errors
/// When the journals cannot be read.
pub async fn heal(folder: &Path) -> io::Result<Healed> {
    let mut healed = Healed::default();
    // Without a folder there was no run.
    let Ok(folder) = folder.canonicalize() else { return Ok(healed) };
    let mut journals = Left::find(&folder)?;
    for journal in &mut journals {
        for deed in journal.deeds.clone() {
            match undo(&deed).await {
                Some(Ok(())) => {
                    journal.deeds.retain(|one| *one != deed);
                    healed.undone.push(deed);
                }
                Some(Err(why)) => healed.left.push((deed, why)),
                None => {}
            }
        }
    }
    let of_docker = |journals: &[Left]| dockers(journals).cloned().collect::<Vec<_>>();
    let left = match Engine::find().await {
        Ok(engine) => {
            // What a killed run asked for last may be under way, and cannot be removed before it is there.
            let in_vain = if of_docker(&journals).is_empty() { LOOKS_IN_VAIN - 1 } else { 0 };
            let (journals, undone) = (&mut journals, &mut healed.undone);
            let look = async || look(&engine, &folder, journals, undone).await;
            until_nothing_comes(Clock::real(), in_vain, look).await?
        }
        Err(error) => of_docker(&journals).into_iter().map(|deed| (deed, error.to_string())).collect(),
    };
    healed.left.extend(left);
    for journal in journals {
        if journal.deeds.is_empty() {
            journal.close()?;
        }
    }
    Ok(healed)
}

/// What journals say of Docker.
fn dockers(journals: &[Left]) -> impl Iterator<Item = &Deed> {
    let is_one = |deed: &&Deed| matches!(deed, Deed::Network(_) | Deed::Volume(_) | Deed::Container(_));
    journals.iter().flat_map(|journal| &journal.deeds).filter(is_one)
}

/// Undoes what is not Docker's.
async fn undo(deed: &Deed) -> Option<Result<(), String>> {
    Some(match deed {
        Deed::Folder(path) => match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        },
        Deed::Programs(label) => process::end(label).await,
        Deed::Copies(copies) => kubeconfig::undo(copies).await.map_err(|error| error.to_string()),
        Deed::Network(_) | Deed::Volume(_) | Deed::Container(_) => return None,
    })
}

/// What came of a look at what Docker has.
#[derive(Debug, Default)]
struct Look {
    /// Whether anything was there, or said to be.
    found: bool,
    /// What could not be removed now, and why.
    left: Vec<(Deed, String)>,
}

/// Looks until nothing has come for a while, of which so many looks are over, or for as long as anybody may wait. Answers what was left
/// at the last look: Docker refuses for a moment what it is still about.
async fn until_nothing_comes(
    clock: Clock,
    mut in_vain: u32,
    mut look: impl AsyncFnMut() -> io::Result<Look>,
) -> io::Result<Vec<(Deed, String)>> {
    let since = clock.elapsed();
    loop {
        let Look { found, left } = look().await?;
        in_vain = if found { 0 } else { in_vain + 1 };
        if in_vain >= LOOKS_IN_VAIN || clock.elapsed().saturating_sub(since) > PATIENCE {
            return Ok(left);
        }
        clock.sleep(PAUSE).await;
    }
}

/// Removes from Docker what the journals say, which is struck out there, and what no run is at work with.
async fn look(
    engine: &Engine,
    folder: &Path,
    journals: &mut [Left],
    undone: &mut Vec<Deed>,
) -> io::Result<Look> {
    let mut deeds: Vec<Deed> = dockers(journals).cloned().collect();
    if let Ok(ours) = engine.ours(&folder.display().to_string()).await {
        // Looked at after what there is: a run that begins now has made nothing of that.
        let mut at_work = at_work(folder)?;
        // These are locked by this one.
        at_work.retain(|run| journals.iter().all(|journal| journal.run() != *run));
        let over = ours.into_iter().filter(|(run, _)| !at_work.contains(run)).map(|(_, deed)| deed);
        let unwritten = over.filter(|deed| !deeds.contains(deed)).collect::<Vec<_>>();
        deeds.extend(unwritten);
    }
    let mut look = Look { found: !deeds.is_empty(), left: Vec::new() };
    for deed in deeds {
        match clear(engine, std::slice::from_ref(&deed)).await {
            Ok(()) => {
                journals.iter_mut().for_each(|journal| journal.deeds.retain(|one| *one != deed));
                if !undone.contains(&deed) {
                    undone.push(deed);
                }
            }
            Err(error) => look.left.push((deed, error.to_string())),
        }
    }
    Ok(look)
}

#[cfg(test)]
mod tests {
    use capsize_clock::{Seed, simulate};

    use super::*;

    fn network() -> Deed {
        Deed::Network("n".into())
    }

    /// What is left in the end, and for how long it was looked, where a look at a moment comes to that.
    fn looked(in_vain: u32, mut at: impl FnMut(Duration) -> Look + Send) -> (Vec<(Deed, String)>, Duration) {
        simulate(Seed(1), |run| async move {
            let look = async || Ok(at(run.clock.elapsed()));
            let left = until_nothing_comes(run.clock, in_vain, look).await.unwrap();
            (left, run.clock.elapsed())
        })
    }

    #[test]
    fn what_docker_refuses_for_a_moment_is_asked_for_again() {
        let busy = Duration::from_secs(10);
        let (left, _) = looked(0, |now| match now < busy {
            true => Look { found: true, left: vec![(network(), "has active endpoints".into())] },
            false => Look::default(),
        });
        assert_eq!(left, []);
    }

    #[test]
    fn what_docker_refuses_for_good_is_left_after_a_while() {
        let refused = || vec![(network(), "has active endpoints".to_owned())];
        let (left, took) = looked(0, |_| Look { found: true, left: refused() });
        assert_eq!(left, refused());
        assert!(took > PATIENCE && took < PATIENCE + PAUSE * 2, "{took:?}");
    }

    #[test]
    fn what_a_killed_run_asked_for_may_come_seconds_later() {
        let late = Duration::from_secs(2);
        let mut removed = Vec::new();
        let (left, took) = looked(0, |now| {
            let is_there = now >= late && removed.is_empty();
            removed.extend(is_there.then(network));
            Look { found: is_there, left: Vec::new() }
        });
        assert_eq!((left, &removed[..]), (Vec::new(), &[network()][..]));
        assert!(took > late + PAUSE, "more may come after it: {took:?}");
    }

    #[test]
    fn where_no_run_was_killed_nobody_waits() {
        let (left, took) = looked(LOOKS_IN_VAIN - 1, |_| Look::default());
        assert_eq!((left, took), (Vec::new(), Duration::ZERO));
    }
}
