//! Implements `capsize mutants --chaos`.
//! The command shows how many wrong rules chaos alone finds, and after how many seeds. The command also shows how small
//! the plans with the failures become.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use capsize_clock::Seed;
use capsize_judge::profile::Profile;
use capsize_mutants::Mutant;
use capsize_runner::chaos::{Alarm, Plan, Style, draw, shrink};
use capsize_runner::run::{Target, side_by_side};

use super::progress;
use super::seeds::Seeds;
use super::trial::{still_fails, try_until_wrong};
use crate::exit::{CommandError, ExitStatus, environment_error};
use crate::mutants::{show, spoiled};
use crate::{conformance, output, targets};

/// How many smaller plans are tried at most for each mutant.
const TRIES: usize = 60;

/// A mutant that fell.
struct Catch {
    /// How many seeds it took.
    seeds: u64,
    plan: Plan,
    alarm: Alarm,
}

/// Runs chaos on each of `mutants` until a seed fails, and reports the failure.
///
/// # Errors
/// A run that broke, or a stdout that cannot be written.
pub(crate) fn hunt(
    mutants: &[Mutant],
    seeds: &Seeds,
    jobs: NonZeroUsize,
) -> Result<ExitStatus, CommandError> {
    let bases = conformance::plans().map_err(|error| CommandError::input(*error))?;
    let mut quiet = BTreeMap::new();
    for profile in mutants.iter().map(|mutant| mutant.profile) {
        if !quiet.contains_key(profile) {
            quiet.insert(profile, self::quiet(profile, seeds, &bases, jobs)?);
        }
    }
    let mut catches = Vec::new();
    let progress = progress::of(mutants.len() as u64, "mutants");
    side_by_side(
        jobs,
        mutants,
        |mutant| caught(mutant, &quiet[mutant.profile], &bases),
        |mutant, catch| {
            progress.inc(1);
            let Some(Catch { seeds, plan, alarm }) = catch? else {
                let title = format!("✗ {}", mutant.id);
                return progress.suspend(|| show(&title, "nobody notices"));
            };
            let (faults, members) = (plan.faults(), plan.members());
            catches.push((seeds, faults, members));
            let small = format!("{faults} faults, {members} members");
            let text = format!("{alarm} after {seeds} seeds; {small}");
            progress.suspend(|| show(&format!("✓ {}", mutant.id), &text))
        },
    )?;
    progress.finish_and_clear();
    let median = |of: fn(&(u64, usize, usize)) -> u64| {
        let mut all: Vec<u64> = catches.iter().map(of).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    let mut page = output::page();
    page.line(&format!(
        "{} of {} mutants fall to chaos with seeds {seeds}; on the rules as they should be {}",
        catches.len(),
        mutants.len(),
        quiet_seeds(&quiet),
    ));
    page.line(&format!(
        "half of those fall within {} seeds; made smaller, half have at most {} faults and {} members",
        median(|(seeds, ..)| *seeds),
        median(|(_, faults, _)| *faults as u64),
        median(|(.., members)| *members as u64),
    ));
    output::show(page)?;
    Ok(if catches.len() == mutants.len() { ExitStatus::Conforms } else { ExitStatus::Violated })
}

/// How many seeds are quiet on each profile.
fn quiet_seeds(quiet: &BTreeMap<&str, BTreeSet<u64>>) -> String {
    let each: Vec<String> =
        quiet.iter().map(|(profile, seeds)| format!("{} are quiet ({profile})", seeds.len())).collect();
    each.join(", ")
}

/// Returns the seeds that fail in nothing where all rules are as they should be.
/// Only a failure of one of these seeds says something about a mutant.
fn quiet(
    profile: &str,
    seeds: &Seeds,
    bases: &[Plan],
    jobs: NonZeroUsize,
) -> Result<BTreeSet<u64>, CommandError> {
    let profile = targets::find(profile).map_err(CommandError::input)?;
    let implementation = crate::run::implementation(&profile)?;
    let target = Target { profile: &profile, implementation: &*implementation };
    let mut quiet = BTreeSet::new();
    let progress =
        progress::of(seeds.0.end - seeds.0.start, &format!("seeds of {} as it should be", profile.name));
    side_by_side(
        jobs,
        seeds.0.clone(),
        |seed| try_until_wrong(&plan_of(*seed, &profile, bases), target),
        |seed, trial| {
            progress.inc(1);
            if let Some(why) = trial.broken {
                return Err(environment_error!("{why}, with seed {seed}"));
            }
            quiet.extend(trial.alarm.is_none().then_some(seed));
            Ok(())
        },
    )?;
    progress.finish_and_clear();
    Ok(quiet)
}

/// Every style in turn, each with its first seed, its second, and so on.
fn plan_of(seed: u64, profile: &Profile, bases: &[Plan]) -> Plan {
    let styles = Style::ALL.len() as u64;
    let turn = usize::try_from(seed % styles).expect("there are few styles");
    draw(Seed(seed / styles), Style::ALL[turn], profile, bases)
}

fn caught(mutant: &Mutant, seeds: &BTreeSet<u64>, bases: &[Plan]) -> Result<Option<Catch>, CommandError> {
    let profile = targets::find(mutant.profile).map_err(CommandError::input)?;
    let implementation = spoiled(mutant);
    let target = Target { profile: &profile, implementation: &*implementation };
    for (number, seed) in (1..).zip(seeds) {
        let plan = plan_of(*seed, &profile, bases);
        let trial = try_until_wrong(&plan, target);
        if let Some(why) = trial.broken {
            return Err(environment_error!("{}: {why}, with seed {seed}", mutant.id));
        }
        let Some(alarm) = trial.alarm else { continue };
        let plan = shrink(&plan, TRIES, |plan| still_fails(plan, target, &alarm));
        return Ok(Some(Catch { seeds: number, plan, alarm }));
    }
    Ok(None)
}
