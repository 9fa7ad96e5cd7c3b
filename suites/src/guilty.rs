//! Measures how often the evidence of a violation names the component whose rule is wrong.

use std::num::NonZeroUsize;

use capsize_clock::Seed;
use capsize_judge::guarantee::Outcome;
use capsize_judge::judge::Judgement;
use capsize_judge::responsible_component::{Component, ViolationCause};
use capsize_mutants::Mutant;
use capsize_runner::run::side_by_side;
use capsize_runner::scenario::Case;

use crate::exit::{CommandError, ExitStatus, environment_error};
use crate::mutants::{put_to, show};
use crate::output;

/// The controllers of the reference that call each rule, and the rules.
const CALLERS: [(&[Component], &[&str]); 19] = [
    (&["cluster status controller"], &["keeps_condition", "collects_status", "with_kept_remedies"]),
    (
        &["cluster controller"],
        &[
            "no_execute_taints",
            "no_schedule_taints",
            "terminating_taints",
            "silence",
            "heartbeat",
            "falls_silent",
            "holds_up_removal",
            "abandons_works",
        ],
    ),
    (&["cluster taint policy controller"], &["taints_by_policies"]),
    (&["taint manager"], &["eviction_due", "evicts_for_taints", "eviction_pause"]),
    (&["taint manager", "application failover controller"], &["evict"]),
    (&["application failover controller"], &["unhealthy_since"]),
    (&["graceful eviction controller"], &["task_outcome", "is_replaced", "event"]),
    (
        &["scheduler"],
        &[
            "assign",
            "select",
            "ranked",
            "terms_to_try",
            "needs_scheduling",
            "concerns",
            "free_replicas",
            "static_weights",
            "room_used",
            "locality_score",
            "affinity_filter",
            "api_filter",
            "eviction_filter",
            "spread_filter",
            "taint_filter",
            "terminating_filter",
        ],
    ),
    (&["resource detector"], &["owner", "activates", "suspension_of_binding", "owners_of_binding"]),
    (&["dependencies distributor"], &["snapshot", "dependencies"]),
    (&["namespace sync controller"], &["is_synced"]),
    (&["autoscaler distributor"], &["autoscaler_targets"]),
    (
        &["binding controller"],
        &[
            "work_targets",
            "copy_replicas",
            "clusters_with_work",
            "awaits_purge",
            "completions",
            "manifest",
            "override_object",
            "injected_state",
            "is_dispatch_suspended",
        ],
    ),
    (
        &["binding status controller"],
        &["aggregated_status", "fully_applied", "template_status", "replacing_reports"],
    ),
    (&["execution controller"], &["copy_removal"]),
    (&["execution controller", "work status controller"], &["matches_manifest", "retained"]),
    (&["work status controller"], &["health"]),
    (
        &["node lifecycle controller"],
        &[
            "node_health",
            "silent_conditions",
            "tainting",
            "condition_taints",
            "without_evicting_taints",
            "evicting_taints",
            "mirrored_labels",
            "marks_pods",
            "zone_of",
            "zone_rate",
            "zone_state",
            "disruption",
            "counts",
            "draining",
            "drained",
        ],
    ),
    (&["taint eviction controller"], &["pod_due", "timer", "disruption_target"]),
];

/// The controllers that call the wrong rules of `mutant`; empty if the mutant has a bug of a release.
#[must_use]
pub fn guilty(mutant: &Mutant) -> Vec<Component> {
    let calls = |rules: &[&str]| mutant.overridden.iter().any(|name| rules.contains(name));
    let callers = CALLERS.iter().filter(|(_, rules)| calls(rules));
    callers.flat_map(|(components, _)| components.iter().copied()).collect()
}

/// The component that the first violation of a history names.
pub(crate) fn first_component(judgement: &Judgement) -> Option<Component> {
    let violations = judgement.verdicts.iter().flat_map(|verdict| {
        let evidence = match &verdict.outcome {
            Outcome::Violated { evidence, .. } => evidence.as_slice(),
            _ => &[],
        };
        evidence.iter().map(|each| (verdict.spec, each))
    });
    let (spec, evidence) = violations.min_by_key(|(_, evidence)| evidence.at)?;
    Some(ViolationCause::of(spec, evidence, &judgement.dialect, &judgement.timings).component)
}

/// Runs each mutant in its own case, and prints for how many of them the guilty component is named.
/// The first violation must name this component.
///
/// # Errors
/// When a run is broken, or stdout cannot be written.
pub(crate) fn measure(
    mutants: &[Mutant],
    cases: &[Case],
    (seed, jobs): (Seed, NonZeroUsize),
) -> Result<ExitStatus, CommandError> {
    let known: Vec<(&Mutant, &Case)> = mutants
        .iter()
        .filter(|mutant| !guilty(mutant).is_empty())
        .filter_map(|mutant| Some((mutant, cases.iter().find(|case| case.id() == mutant.case)?)))
        .collect();
    let mut right = 0;
    side_by_side(
        jobs,
        &known,
        |(mutant, case)| put_to(mutant, case, seed),
        |(mutant, _), caught| {
            let caught = caught.map_err(|why| environment_error!("{why}"))?;
            let component = caught.and_then(|caught| caught.component);
            let guilty = guilty(mutant);
            let is_right = component.is_some_and(|component| guilty.contains(&component));
            right += usize::from(is_right);
            if is_right {
                return Ok(());
            }
            let named = component.unwrap_or("no component");
            show(
                &format!("✗ {}", mutant.id),
                &format!("names the {named}, not the {}", guilty.join(" or the ")),
            )
        },
    )?;
    let mut page = output::page();
    let percent = (100 * right).checked_div(known.len()).unwrap_or_default();
    let others = mutants.len() - known.len();
    page.line(&format!(
        "the first violation names the guilty component for {right} of {} mutants with one wrong rule ({percent} %); {others} \
         mutants with a bug of a release are left out",
        known.len()
    ));
    output::show(page)?;
    Ok(ExitStatus::Conforms)
}
