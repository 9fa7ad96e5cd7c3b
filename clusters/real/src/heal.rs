//! The reaper: undoes what runs left that did not end by themselves.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use capsize_clock::Clock;

use crate::docker::{Engine, EngineError, clear};
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
    let mut engine = None;
    for journal in Left::find(folder)? {
        let mut whole = true;
        for deed in &journal.deeds {
            match undo(deed, &mut engine).await {
                Ok(()) => healed.undone.push(deed.clone()),
                Err(why) => {
                    whole = false;
                    healed.left.push((deed.clone(), why));
                }
            }
        }
        if whole {
            journal.close()?;
        }
    }
    if let Ok(folder) = folder.canonicalize() {
        sweep(&folder, &mut healed).await?;
    }
    Ok(healed)
}

async fn undo(deed: &Deed, engine: &mut Option<Engine>) -> Result<(), String> {
    let told = |error: EngineError| error.to_string();
    match deed {
        Deed::Folder(path) => match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        },
        Deed::Programs(label) => process::end(label).await,
        Deed::Copies(copies) => kubeconfig::undo(copies).await.map_err(|error| error.to_string()),
        Deed::Network(_) | Deed::Volume(_) | Deed::Container(_) => {
            let engine = match engine {
                Some(engine) => engine,
                None => engine.insert(Engine::find().await.map_err(told)?),
            };
            clear(engine, std::slice::from_ref(deed)).await.map_err(told)
        }
    }
}

/// Removes what no run is at work with. Where there is no Docker, there is nothing of it.
async fn sweep(folder: &Path, healed: &mut Healed) -> io::Result<()> {
    let Ok(engine) = Engine::find().await else { return Ok(()) };
    let (label, clock) = (folder.display().to_string(), Clock::real());
    // What a killed run asked for last may be under way, and cannot be removed before it is there.
    let mut looks_in_vain = if healed.undone.is_empty() { LOOKS_IN_VAIN - 1 } else { 0 };
    loop {
        let Ok(ours) = engine.ours(&label).await else { return Ok(()) };
        // Looked at after what there is: a run that begins now has made nothing of that.
        let at_work = at_work(folder)?;
        let over = ours.into_iter().filter(|(run, _)| !at_work.contains(run)).map(|(_, deed)| deed);
        let over: Vec<Deed> = over.collect();
        let mut left = Vec::new();
        for deed in &over {
            match clear(&engine, std::slice::from_ref(deed)).await {
                Ok(()) if healed.undone.contains(deed) => {}
                Ok(()) => healed.undone.push(deed.clone()),
                Err(error) => left.push((deed.clone(), error.to_string())),
            }
        }
        looks_in_vain = if over.is_empty() { looks_in_vain + 1 } else { 0 };
        if looks_in_vain >= LOOKS_IN_VAIN {
            return Ok(());
        }
        if clock.elapsed() > PATIENCE {
            healed.left.extend(left);
            return Ok(());
        }
        clock.sleep(PAUSE).await;
    }
}
