//! Tests of a recording through a partition: no event is lost, and late events get a large latency.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::sync::Mutex;
use std::time::Duration;

use capsize_clock::{Seed, Simulation, simulate};
use capsize_clusters::{Direction, Fleet, FleetSpec, LinkFault, MemberSpec};
use capsize_history::dialect::DialectKind;
use capsize_history::{Entry, EventType, Kind, Mark, Observer, Reader, Writer};
use capsize_runner::record::{Record, RecordingNotice, Source, of_members, served};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Map, json};
use tokio::sync::mpsc::{self, Sender};

/// The seconds between which the member cannot be reached.
const AWAY: (u64, u64) = (20, 80);

fn config_map(name: &str) -> ConfigMap {
    let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
    ConfigMap { metadata, ..ConfigMap::default() }
}

/// Changes objects in the member during the recording.
/// The changes go through a connection that the partition does not affect.
async fn happens(run: Simulation, fleet: &Fleet) {
    let until = async |second: u64| {
        run.clock.sleep(Duration::from_secs(second).saturating_sub(run.clock.elapsed())).await;
    };
    let member = fleet.member("m1").unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(member.client());
    for name in ["changed", "deleted", "kept"] {
        maps.create(&PostParams::default(), &config_map(name)).await.unwrap();
    }
    until(AWAY.0).await;
    let partition = member.link().apply(LinkFault::BlackHole { direction: Direction::Both });
    until(50).await;
    let data = Patch::Merge(json!({"data": {"a": "b"}}));
    maps.patch("changed", &PatchParams::default(), &data).await.unwrap();
    maps.delete("deleted", &DeleteParams::default()).await.unwrap();
    maps.create(&PostParams::default(), &config_map("new")).await.unwrap();
    until(AWAY.1).await;
    drop(partition);
    until(120).await;
    maps.delete("new", &DeleteParams::default()).await.unwrap();
    until(130).await;
}

fn fleet(run: Simulation) -> Fleet {
    Fleet::embedded(run, &FleetSpec { members: vec![MemberSpec::named("m1")] }, None)
}

/// A recording of the member, and the sender of its marks.
async fn record_of(run: Simulation, fleet: &Fleet) -> (Record, Sender<Mark>) {
    let client = fleet.member("m1").unwrap().remote_client();
    let paths = of_members(&DialectKind::default());
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let resources = served(&client, &paths).await.unwrap();
    let source = Source { name: "m1".into(), client, resources };
    let (sender, marks) = mpsc::channel(1);
    (Record { clock: run.clock.into(), header: Map::new(), sources: vec![source], marks }, sender)
}

fn entries(history: &[u8]) -> Vec<Entry> {
    Reader::new("h.jsonl", history).map(Result::unwrap).collect()
}

/// The history, and the events that the recording reported meanwhile.
async fn recorded(run: Simulation) -> (Vec<Entry>, Vec<RecordingNotice>) {
    let fleet = fleet(run);
    let reports = Mutex::new(Vec::new());
    let mut history = Vec::new();
    let (record, _) = record_of(run, &fleet).await;
    let report = |notice| reports.lock().unwrap().push(notice);
    record.run(Writer::new(&mut history), happens(run, &fleet), report).await.unwrap();
    (entries(&history), reports.into_inner().unwrap())
}

/// The events of config maps between two seconds, each with its observation latency.
fn config_map_events(entries: &[Entry], from: u64, to: u64) -> Vec<(EventType, String, Duration)> {
    let mut latency = Duration::ZERO;
    let mut events = Vec::new();
    for entry in entries {
        match &entry.kind {
            Kind::Mark(mark) => {
                latency = Observer::of(mark).unwrap().map_or(latency, |observer| observer.latency);
            }
            Kind::Event { event, object, .. } if object.kind() == "ConfigMap" => {
                let seconds = Duration::from_secs(from)..Duration::from_secs(to);
                if seconds.contains(&entry.at) {
                    events.push((*event, object.text("metadata", "name").into_owned(), latency));
                }
            }
            Kind::Event { .. } => {}
        }
    }
    events
}

#[test]
fn changes_during_a_partition_are_recorded_afterwards_with_its_length_as_latency() {
    let (entries, notice) = simulate(Seed(1), recorded);
    let before = config_map_events(&entries, 0, AWAY.0);
    let added: Vec<&str> = before.iter().map(|(_, name, _)| name.as_str()).collect();
    assert!(["changed", "deleted", "kept"].iter().all(|name| added.contains(name)), "{before:?}");
    assert!(before.iter().all(|(.., latency)| *latency < Duration::from_secs(1)), "{before:?}");
    assert_eq!(config_map_events(&entries, AWAY.0, AWAY.1), []);
    let found = config_map_events(&entries, AWAY.1, 119);
    let events: Vec<_> = found.iter().map(|(event, name, _)| (*event, name.as_str())).collect();
    let expected =
        [(EventType::Added, "new"), (EventType::Modified, "changed"), (EventType::Deleted, "deleted")];
    assert!(events.len() == 3 && expected.iter().all(|one| events.contains(one)), "{events:?}");
    // The last response before the partition came some seconds before its beginning.
    let silence = Duration::from_secs(AWAY.1 - AWAY.0);
    assert!(found.iter().all(|(.., latency)| *latency >= silence && *latency < silence * 2), "{found:?}");
    let after = config_map_events(&entries, 119, 130);
    assert!(
        matches!(&after[..], [(EventType::Deleted, name, latency)]
        if name == "new" && *latency <= Duration::from_secs(3)),
        "{after:?}"
    );
    assert!(
        matches!(
            &notice[..],
            [RecordingNotice::Complete, RecordingNotice::Unreachable(..), RecordingNotice::Back(_)]
        ),
        "{notice:?}"
    );
}

#[test]
fn a_cluster_that_does_not_answer_has_an_unlimited_latency() {
    let (entries, _) = simulate(Seed(1), recorded);
    let during = entries
        .iter()
        .filter(|entry| (Duration::from_secs(AWAY.0 + 10)..Duration::from_secs(AWAY.1)).contains(&entry.at));
    let before = entries.iter().rfind(|entry| entry.at < Duration::from_secs(AWAY.0 + 10)).unwrap();
    let Kind::Mark(mark) = &before.kind else { panic!("{before:?}") };
    let observer = Observer::of(mark).unwrap().unwrap();
    assert!(observer.latency > Duration::from_secs(365 * 86_400), "{observer:?}");
    assert_eq!(during.count(), 0);
}

#[test]
fn a_mark_that_arrives_just_before_the_end_is_recorded() {
    let mark = Map::from_iter([("note".to_owned(), json!("the last words"))]);
    let recorded = simulate(Seed(1), async |run: Simulation| {
        let fleet = fleet(run);
        let (record, marks) = record_of(run, &fleet).await;
        let stop = async {
            run.clock.sleep(Duration::from_secs(5)).await;
            marks.send(mark.clone()).await.unwrap();
        };
        let mut history = Vec::new();
        record.run(Writer::new(&mut history), stop, |_| {}).await.unwrap();
        entries(&history)
    });
    let [.., last, _ended] = &recorded[..] else { panic!("{recorded:?}") };
    assert_eq!(last.kind, Kind::Mark(mark.clone()), "{recorded:?}");
}
