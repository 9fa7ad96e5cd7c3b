//! Runs that are killed while they make containers.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use capsize_clock::{Seed, live};
use capsize_real::Deed;

use crate::stage::{Stage, kills, moves, program, said};
use crate::support::node_image;

/// Runs have made all that they make by then: members in containers, and those with nodes.
const ALL_MADE: Duration = Duration::from_secs(6);
const NODES_MADE: Duration = Duration::from_secs(15);

/// So long after the next start, a busy Docker makes what a killed run had asked for.
const LATE: Duration = Duration::from_secs(1);

pub(crate) fn leave_nothing() {
    on(&["--provider", "container"], ALL_MADE);
}

pub(crate) fn leave_no_nodes() {
    on(&["--provider", "kind", "--kind-image", &node_image().unwrap()], NODES_MADE);
}

fn on(provider: &[&str], all_made: Duration) {
    let stage = kills::waiting();
    let made = || stage.left().iter().map(|deed| format!("{deed:?}")).collect();
    kills::leave_nothing(&stage, all_made, || stage.run_on(program(), provider), made);
}

pub(crate) fn late() {
    let stage = Stage::new(&moves("first", "pause"));
    let (run, state) = (format!("late{}", std::process::id()), stage.path("state"));
    let network = format!("capsize-{run}-1");
    fs::create_dir_all(&state).unwrap();
    let state = state.canonicalize().unwrap();
    let line = serde_json::json!({"will": {"network": network}});
    fs::write(state.join(format!("{run}.jsonl")), format!("{line}\n")).unwrap();
    let mut heal = stage.capsize(program(), &["doctor", "--heal"]);
    let heal = heal.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    live(Seed(0), 1.0, |run| async move { run.clock.sleep(LATE).await }).unwrap();
    // However long it takes to make the network, it is that late for who heals.
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &heal.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    signal("-STOP");
    let labels = [format!("capsize.run={run}"), format!("capsize.journal={}", state.display())];
    let mut create = Command::new("docker");
    create.args(["network", "create", "--label", &labels[0], "--label", &labels[1], &network]);
    let created = create.output().unwrap();
    assert!(created.status.success(), "{}", said(&created));
    assert_eq!(stage.left(), [Deed::Network(network)]);
    signal("-CONT");
    let healed = heal.wait_with_output().unwrap();
    assert_eq!(healed.status.code(), Some(0), "{}", said(&healed));
    assert_eq!(stage.left(), [], "{}", said(&healed));
    assert_eq!(stage.journals(), 0, "{}", said(&healed));
}
