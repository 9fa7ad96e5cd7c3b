//! Draws a random scenario from a seed.
//! Each part has a random stream of its own, so that one more fault does not change the fleet.

use std::collections::BTreeSet;
use std::time::Duration;

use capsize_clock::{Seed, Stream};
use rand::RngExt;
use serde_json::{Map, Value, json};

use super::faults;
use super::fleet::{Fleet, runs_in_process};
use super::graft::graft;
use super::plan::Plan;
use super::style::Style;
use super::{nodes, storm, timings, workloads};
use capsize_history::dialect::DialectKind;
use capsize_judge::profile::{Feature, Profile};

/// The values that all parts of a draw share.
pub(super) struct Draw<'a> {
    pub(super) style: Style,
    pub(super) profile: &'a Profile,
    /// The features that a target needs for the parts drawn so far.
    pub(super) features: BTreeSet<Feature>,
}

impl Draw<'_> {
    /// Returns true if the target has `feature`, and adds it to the features that the scenario needs.
    pub(super) fn may(&mut self, feature: Feature) -> bool {
        let has = self.profile.has(feature);
        if has {
            self.features.insert(feature);
        }
        has
    }
}

/// How long a fleet must stay at rest at the end.
/// All periodic controllers work at least once in this time.
const QUIET_PERIOD: &str = "30s";

/// The share of runs in which members lose data.
const LOSSES: f64 = 0.25;

/// The share of runs in which clocks other than those of nodes are wrong.
const CLOCKS: f64 = 0.25;

/// Draws the scenario for this seed and style, within the promises of the target.
/// `bases` are scenarios that people wrote.
///
/// If the target can run none of the bases, a graft becomes a swarm.
#[must_use]
pub fn draw(seed: Seed, style: Style, profile: &Profile, bases: &[Plan]) -> Plan {
    let grafted = (style == Style::Graft).then(|| graft(seed, profile, bases)).flatten();
    grafted.unwrap_or_else(|| draw_anew(seed, style, profile))
}

fn draw_anew(seed: Seed, style: Style, profile: &Profile) -> Plan {
    let seed_of_part = seed.derive(&style.to_string());
    let mut draw = Draw { style, profile, features: BTreeSet::new() };
    let (stage, fleet, given) = match profile.dialect {
        DialectKind::Karmada | DialectKind::Data(_) => fleet_with_workloads(seed_of_part, &mut draw),
        DialectKind::Nodes => nodes::draw(seed_of_part, &mut draw),
    };
    let set = timings::draw(&mut seed_of_part.stream("timings"), style, &profile.dialect);
    let times = FailoverTimes::of(profile, &set);
    let rng = &mut seed_of_part.stream("faults");
    let mut windows = match style {
        Style::Lite => faults::sequential(rng, times, &fleet),
        Style::Swarm | Style::Graft => faults::overlapping(rng, times, &fleet, 8),
        Style::Storm => storm::draw(rng, times, &fleet),
    };
    let clocks = &mut seed_of_part.stream("clocks");
    if runs_in_process(profile) && clocks.random_bool(CLOCKS) {
        windows.extend(faults::separate(clocks, (style, times, &windows), &fleet, faults::clock));
    }
    let losses = &mut seed_of_part.stream("losses");
    // With two leaders, one may act on an old state. After a data loss, both could then undo each other's changes for
    // ever.
    let has_two_leaders = windows.iter().any(|window| window["fault"].get("rival").is_some());
    let may_lose = fleet.in_process && !fleet.nodes_are_members && !has_two_leaders;
    if may_lose && losses.random_bool(LOSSES) && draw.may(Feature::MembersGoBack) {
        windows.extend(faults::separate(losses, (style, times, &windows), &fleet, faults::loss));
    }
    let mut plan = json!({
        "scenario": format!("{style}-{seed}"),
        "about": format!("Drawn with seed {seed}, {style}."),
        "seed": seed.0,
        "features": draw.features,
        "timings": set,
        "given": given,
        "when": [{"wait": "20s"}, {"faults": windows}],
        "then": [{"calm": {"for": QUIET_PERIOD}}],
    });
    plan[if fleet.nodes_are_members { "cluster" } else { "fleet" }] = stage;
    if fleet.in_process && style != Style::Lite && rng.random_bool(0.05) {
        plan["off"] = json!([Feature::NoExecuteTaints]);
    }
    if let Some(fields) = plan.as_object_mut() {
        fields.retain(|_, value| !value.as_object().is_some_and(Map::is_empty));
    }
    Plan(plan)
}

/// Draws the fleet and the steps that create its workloads.
/// The result is the fleet in the form of a scenario, the fleet for drawing faults, and the steps.
fn fleet_with_workloads(seed: Seed, draw: &mut Draw<'_>) -> (Value, Fleet, Vec<Value>) {
    let mut fleet = Fleet::draw(&mut seed.stream("fleet"), draw);
    let given = workloads::draw(&mut seed.stream("workloads"), draw, &mut fleet);
    (fleet.shape(), fleet, given)
}

/// The times that a failover takes, in seconds. The durations of faults depend on them.
#[derive(Clone, Copy)]
pub(super) struct FailoverTimes {
    /// The time until a member counts as failed.
    pub(super) noticed: f64,
    /// The time until the workloads there have moved.
    pub(super) moved: f64,
}

impl FailoverTimes {
    pub(super) fn of(profile: &Profile, set: &Map<String, Value>) -> Self {
        let timings = &profile.timings;
        let set = |name: &str, own: Duration| {
            let length = set.get(name).and_then(Value::as_str).and_then(|text| text.strip_suffix('s'));
            length.and_then(|seconds| seconds.parse().ok()).unwrap_or(own.as_secs_f64())
        };
        let threshold = match profile.dialect {
            DialectKind::Karmada | DialectKind::Data(_) => set("failureThreshold", timings.failure_threshold),
            DialectKind::Nodes => set("monitorGracePeriod", timings.monitor_grace_period),
        };
        let noticed = threshold + 2.0 * set("statusUpdateFrequency", timings.status_update_frequency);
        let tolerated = set("notReadyTolerationSeconds", timings.not_ready_toleration_seconds);
        let moved = noticed + tolerated + set("failoverEvictionTimeout", timings.failover_eviction_timeout);
        Self { noticed, moved }
    }

    /// A random duration: too short to be noticed, too short for a move, or longer.
    pub(super) fn length(self, rng: &mut Stream) -> f64 {
        match rng.random_range(0..4) {
            0 => rng.random_range(0.5..self.noticed),
            1 => rng.random_range(self.noticed * 0.8..self.moved),
            // About as long as the whole failover takes, where races are most likely.
            2 => self.moved * rng.random_range(0.9..1.1),
            _ => self.moved * rng.random_range(1.0..2.0),
        }
    }
}

/// A length of time in the form of a scenario, rounded to a tenth of a second.
pub(super) fn seconds(seconds: f64) -> String {
    format!("{}s", (seconds * 10.0).round() / 10.0)
}

/// A random element of `all`, which must not be empty.
pub(super) fn one_of<'a, T>(rng: &mut Stream, all: &'a [T]) -> &'a T {
    &all[rng.random_range(0..all.len())]
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// A file of the suite. It is not a part of this crate, so it is read when the tests run.
    fn suite(file: &str) -> String {
        let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites");
        fs::read_to_string(suites.join(file)).unwrap()
    }

    fn profile() -> Profile {
        Profile::parse("reference.yaml", &suite("targets/reference.yaml")).unwrap()
    }

    fn profile_of_nodes() -> Profile {
        Profile::parse("reference-nodes.yaml", &suite("targets/reference-nodes.yaml")).unwrap()
    }

    fn bases() -> [Plan; 2] {
        ["eviction/controllers-restarted", "nodes/zone-lost-wholly"].map(|case| {
            let (_, name) = case.split_once('/').unwrap();
            Plan::read(name, &suite(&format!("conformance/{case}.yaml"))).unwrap()
        })
    }

    #[test]
    fn every_step_of_the_base_is_optional_in_a_graft() {
        for (profile, base) in
            [(profile(), "controllers-restarted"), (profile_of_nodes(), "zone-lost-wholly")]
        {
            let text = draw(Seed(1), Style::Graft, &profile, &bases()).text();
            assert!(text.contains(base) && text.contains("faults:"), "{text}");
            assert!(text.contains("perhaps: {settled") && !text.contains("- settled"), "{text}");
        }
    }

    #[test]
    fn every_draw_of_clusters_is_a_valid_scenario_and_repeatable() {
        draws_are_valid_and_repeatable(&profile());
    }

    #[test]
    fn every_draw_of_nodes_is_a_valid_scenario_and_repeatable() {
        draws_are_valid_and_repeatable(&profile_of_nodes());
    }

    fn draws_are_valid_and_repeatable(profile: &Profile) {
        for style in Style::ALL {
            for seed in 0..300 {
                let plan = draw(Seed(seed), style, profile, &bases());
                let case = plan.case();
                assert!(case.is_ok(), "{}\n{}", case.unwrap_err(), plan.text());
                assert_eq!(plan, draw(Seed(seed), style, profile, &bases()));
            }
        }
    }

    #[test]
    fn data_losses_do_not_change_the_other_draws() {
        let mut without = profile();
        without.features.remove(&Feature::MembersGoBack);
        let (mut lost, is_loss) =
            (0, |window: &Value| ["restore", "wipe"].iter().any(|kind| window["fault"].get(kind).is_some()));
        for style in [Style::Lite, Style::Swarm, Style::Storm] {
            for seed in 0..100 {
                let [mut with, without] = [&profile(), &without].map(|it| draw(Seed(seed), style, it, &[]).0);
                if let Some(windows) = with["when"][1]["faults"].as_array_mut() {
                    let before = windows.len();
                    windows.retain(|window| !is_loss(window));
                    lost += usize::from(windows.len() < before);
                }
                assert_eq!(with["when"], without["when"], "{style}-{seed}");
                assert_eq!(with["given"], without["given"], "{style}-{seed}");
            }
        }
        assert!((30..150).contains(&lost), "{lost} of 300");
    }

    #[test]
    fn clocks_are_wrong_in_a_quarter_of_the_runs() {
        for (profile, whose) in
            [(profile(), &["of", "cluster"] as &[_]), (profile_of_nodes(), &["of", "node"])]
        {
            let (mut wrong, mut seen) = (0, BTreeSet::<&str>::new());
            for seed in 0..300 {
                let plan = draw(Seed(seed), Style::Swarm, &profile, &[]).0;
                let windows = plan["when"][1]["faults"].as_array().cloned().unwrap_or_default();
                let skews: Vec<_> = windows.iter().filter_map(|window| window["fault"].get("skew")).collect();
                wrong += usize::from(skews.iter().any(|skew| skew.get("node").is_none()));
                let has_skew = |whose: &&&str| skews.iter().any(|skew| skew.get(**whose).is_some());
                seen.extend(whose.iter().filter(has_skew));
            }
            assert!((45..105).contains(&wrong), "{wrong} of 300");
            assert_eq!(seen.len(), whose.len(), "{seen:?}");
        }
    }

    #[test]
    fn in_a_lite_run_separate_faults_come_after_all_others() {
        let seconds = |text: &Value| text.as_str().unwrap().trim_end_matches('s').parse::<f64>().unwrap();
        let apart = |fault: &Value| ["restore", "wipe", "skew"].iter().any(|kind| fault.get(kind).is_some());
        let mut drawn = 0;
        for seed in 0..300 {
            let plan = draw(Seed(seed), Style::Lite, &profile(), &[]).0;
            let mut over = 0.0_f64;
            for window in plan["when"][1]["faults"].as_array().into_iter().flatten() {
                let (at, lasts) = (seconds(&window["at"]), seconds(&window["for"]));
                if apart(&window["fault"]) {
                    assert!(at >= over - 0.1, "lite-{seed}: {window}");
                    drawn += 1;
                }
                over = over.max(at + lasts);
            }
        }
        assert!((75..225).contains(&drawn), "{drawn} of 300");
    }

    #[test]
    fn a_draw_needs_only_features_of_the_target() {
        let mut profile = profile();
        profile.features.clear();
        for seed in 0..100 {
            let case = draw(Seed(seed), Style::Swarm, &profile, &[]).case().unwrap();
            assert_eq!(case.scenario.features, []);
        }
    }
}
