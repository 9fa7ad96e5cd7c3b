//! Compares the node controllers with recordings of the real ones, by replaying each history.
//!
//! In every history under `suites/recordings/nodes-*`, kubelets and people do the same as recorded, at the same times.
//! The reference does the rest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use capsize_apiserver::ApiServer;
use capsize_clock::{Seed, Simulation, simulate};
use capsize_controllers::rules::node::{NodeBehaviour, NodeBug, NodeRelease, Rates};
use capsize_controllers::{NodeControllers, NodeMetrics, NodeSettings, RunningControllers};
use kube::Client;
use serde_json::Value;

use crate::kubelets::{self, Versions, act, watch};

/// One line of a history.
struct Line {
    at: f64,
    content: Value,
}

fn histories() -> Vec<PathBuf> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/recordings"));
    let entries = |path: &Path| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let of_nodes = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("nodes-");
    let mut paths: Vec<_> =
        entries(&root).filter(of_nodes).flat_map(|path| entries(&path).collect::<Vec<_>>()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

fn read(path: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let content: Value = serde_json::from_str(line).unwrap();
        Line { at: content["at"].as_f64().unwrap(), content }
    };
    text.lines().map(line).collect()
}

fn settings(header: &Value) -> NodeSettings {
    let seconds = |name: &str| header["seconds"][name].as_f64().unwrap();
    let duration = |name: &str| Duration::from_secs_f64(seconds(name));
    NodeSettings {
        monitor_period: duration("nodeMonitorPeriod"),
        monitor_grace_period: duration("nodeMonitorGracePeriod"),
        startup_grace_period: duration("nodeStartupGracePeriod"),
        rates: Rates {
            normal: seconds("nodeEvictionRate"),
            secondary: seconds("secondaryNodeEvictionRate"),
            large: seconds("largeClusterSizeThreshold") as usize,
            unhealthy: seconds("unhealthyZoneThreshold") as f32,
        },
        ..NodeSettings::default()
    }
}

/// The actions of controllers on each object in order, with their times.
type Actions = BTreeMap<String, Vec<(String, f64)>>;

/// The actions of controllers, derived from the versions of the objects.
fn actions(versions: &[(f64, Value)]) -> Actions {
    let mut before: BTreeMap<String, &Value> = BTreeMap::new();
    let mut actions = Actions::new();
    for (at, object) in versions {
        let subject = format!("{} {}", text(object, "/kind"), text(object, "/metadata/name"));
        let done = before.get(&subject).map(|before| changes(before, object)).unwrap_or_default();
        actions.entry(subject.clone()).or_default().extend(done.into_iter().map(|action| (action, *at)));
        before.insert(subject, object);
    }
    actions.retain(|_, done| !done.is_empty());
    actions
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn changes(before: &Value, after: &Value) -> Vec<String> {
    let status = |object: &Value, kind: &str| {
        kubelets::condition(object, kind).map(|condition| text(condition, "/status").to_owned())
    };
    let (was, is) = (status(before, "Ready"), status(after, "Ready"));
    let mut done = Vec::new();
    if text(after, "/kind") == "Node" {
        if is.as_deref() == Some("Unknown") && was != is {
            done.push("Ready is Unknown".into());
        }
        let (old, new) = (kubelets::taints(before, true), kubelets::taints(after, true));
        done.extend(old.iter().filter(|taint| !new.contains(taint)).map(|taint| format!("- {taint}")));
        done.extend(new.iter().filter(|taint| !old.contains(taint)).map(|taint| format!("+ {taint}")));
        let labels = |object: &Value| object.pointer("/metadata/labels").cloned();
        if labels(before) != labels(after) {
            done.push(format!("labels {}", labels(after).unwrap_or_default()));
        }
    } else {
        if was.as_deref() == Some("True") && is.as_deref() == Some("False") {
            done.push("marked".into());
        }
        if status(before, "DisruptionTarget") != status(after, "DisruptionTarget") {
            done.push("disruption target".into());
        }
        let leaves = |object: &Value| object.pointer("/metadata/deletionTimestamp").is_some();
        if leaves(after) && !leaves(before) {
            done.push("deleted".into());
        }
    }
    done
}

fn start(
    client: &Client,
    run: Simulation,
    settings: &NodeSettings,
    rules: &NodeRelease,
) -> RunningControllers {
    let rules = Arc::new(rules.clone());
    let (settings, metrics) = (settings.clone(), NodeMetrics::default());
    NodeControllers { client: client.clone(), clock: run.clock, settings, rules, metrics }.start()
}

/// The actions of the reference, where the kubelets and people of `lines` do the same again.
async fn replay(run: Simulation, lines: &[Line], rules: &NodeRelease) -> Actions {
    let server = ApiServer::builder(run.clock, run.seed.stream("api")).build();
    let client = server.client();
    let settings = settings(&lines[0].content["mark"]);
    let ours = watch(&client, run.clock).await;
    let mut controllers = Some(start(&client, run, &settings, rules));
    let mut seen = Versions::default();
    for line in lines {
        let wait = Duration::from_secs_f64(line.at).saturating_sub(run.clock.elapsed());
        run.clock.sleep(wait).await;
        let mark = &line.content["mark"];
        match (text(mark, "/fault"), text(mark, "/state")) {
            ("controller-down", "begin") => controllers = None,
            ("controller-down", _) => controllers = Some(start(&client, run, &settings, rules)),
            _ => {}
        }
        if mark.is_null() {
            act(&client, run.clock, &mut seen, text(&line.content, "/event"), &line.content["object"]).await;
        }
    }
    run.clock.sleep(Duration::from_millis(900)).await;
    drop(controllers);
    actions(&ours.seen())
}

/// Returns the first difference between `real` and `ours`.
/// A difference is another action, another order, or a time that differs by more than `tolerance`.
fn difference(real: &Actions, ours: &Actions, tolerance: f64) -> Option<String> {
    let subjects: Vec<&String> = real.keys().chain(ours.keys()).collect();
    subjects.into_iter().find_map(|subject| {
        let none = Vec::new();
        let (real, ours) = (real.get(subject).unwrap_or(&none), ours.get(subject).unwrap_or(&none));
        let alike = |(one, other): (&(String, f64), &(String, f64))| {
            one.0 == other.0 && (one.1 - other.1).abs() <= tolerance
        };
        let same = real.len() == ours.len() && real.iter().zip(ours).all(alike);
        (!same).then(|| format!("{subject}:\n  real {real:?}\n  ours {ours:?}"))
    })
}

/// The difference to each history that differs.
fn differences(rules: &NodeRelease) -> BTreeMap<String, String> {
    let compared = |path: PathBuf| {
        let lines = read(&path);
        let recorded: Vec<_> = lines
            .iter()
            .filter(|line| ["Node", "Pod"].contains(&text(&line.content, "/object/kind")))
            .map(|line| (line.at, line.content["object"].clone()))
            .collect();
        let ours = simulate(Seed(1), |run| async move {
            let lines = read(&path);
            (replay(run, &lines, rules).await, path)
        });
        let (ours, path) = ours;
        // Both check once per period, each at its own moments, and a second check may be needed.
        let period = settings(&lines[0].content["mark"]).monitor_period.as_secs_f64();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        difference(&actions(&recorded), &ours, 2.0 * period + 1.0).map(|found| (name, found))
    };
    histories().into_iter().filter_map(compared).collect()
}

#[test]
fn with_the_bugs_of_1_36_the_reference_does_what_1_36_did() {
    let rules = NodeRelease { behaviour: NodeBehaviour::V1_36, bugs: NodeBug::of_1_36() };
    let found = differences(&rules);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn without_those_bugs_only_their_effects_differ() {
    let found = differences(&NodeRelease::default());
    assert_eq!(found.keys().collect::<Vec<_>>(), ["freeze-then-one-node-at-rate-one"], "{found:#?}");
}
