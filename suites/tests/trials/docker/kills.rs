//! Runs that are killed while they create containers.

use std::process::{Command, Stdio};
use std::time::Duration;

use capsize_clock::{Seed, live};
use capsize_real::{Journal, Resource};

use super::support::node_image;
use crate::command::printed;
use crate::stage::{Stage, kills, moves, program};

/// The time after which runs have created everything: members in containers, and members with nodes.
const ALL_MADE: Duration = Duration::from_secs(6);
const NODES_MADE: Duration = Duration::from_secs(15);

/// How long after the next start a busy Docker executes a request of the killed run.
const LATE: Duration = Duration::from_secs(1);

pub(crate) fn leave_nothing() {
    on(&["--provider", "container"], ALL_MADE);
}

pub(crate) fn leave_no_nodes() {
    on(&["--provider", "kind", "--kind-image", &node_image().unwrap()], NODES_MADE);
}

fn on(provider: &[&str], all_made: Duration) {
    let stage = kills::waiting();
    let made = || stage.left().iter().map(|resource| format!("{resource:?}")).collect();
    kills::leave_nothing(&stage, all_made, || stage.run_on(program(), provider), made);
}

pub(crate) fn late() {
    let stage = Stage::new(&moves("first", "pause"));
    let state = stage.path("state");
    // The journal of a run that has ended.
    let journal = Journal::begin(&state).unwrap();
    let run = journal.run();
    let network = format!("capsize-{run}-1");
    let labels = journal.labels();
    journal.will(Resource::Network(network.clone())).unwrap();
    drop(journal);
    let mut heal = stage.capsize(program(), &["doctor", "--heal"]);
    let heal = heal.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    live(Seed(0), 1.0, |run| async move { run.clock.sleep(LATE).await }).unwrap();
    // The process is paused, so that the network is created late for the cleanup, however long its creation
    // takes.
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &heal.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    signal("-STOP");
    let mut create = Command::new("docker");
    create.args(["network", "create"]);
    create.args(labels.iter().map(|(name, value)| format!("--label={name}={value}"))).arg(&network);
    let created = create.output().unwrap();
    assert!(created.status.success(), "{}", printed(&created));
    assert_eq!(stage.left(), [Resource::Network(network)]);
    signal("-CONT");
    let healed = heal.wait_with_output().unwrap();
    assert_eq!(healed.status.code(), Some(0), "{}", printed(&healed));
    assert_eq!(stage.left(), [], "{}", printed(&healed));
    assert_eq!(stage.journals(), 0, "{}", printed(&healed));
}
