//! Compares lists and watches with recorded states.
//!
//! All pages of a list show one snapshot. A list together with its watch results in the current state, even if the
//! watch is interrupted and resumed.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use capsize_apiserver::{ApiBody, ApiServer};
use capsize_clock::{Seed, Simulation, simulate};
use futures::FutureExt;
use http::{Request, Response};
use http_body_util::BodyExt;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[derive(Clone, Debug)]
enum Operation {
    Put {
        name: u8,
        label: u8,
    },
    Delete {
        name: u8,
    },
    /// A write to another kind.
    Elsewhere,
    /// A page of the walk through the list, or of a new walk if the last one is complete.
    Page {
        limit: u8,
    },
    /// A further watch, of all objects or of those with a label.
    Watch {
        selects: bool,
    },
    /// A watch reads the available events.
    Read {
        watch: u8,
    },
    /// A watch ends, and a new one continues from its last revision.
    Cut {
        watch: u8,
    },
    /// Time passes, so that bookmarks are due.
    Wait,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (0..6_u8, 0..2_u8).prop_map(|(name, label)| Operation::Put { name, label }),
        3 => (0..6_u8).prop_map(|name| Operation::Delete { name }),
        1 => Just(Operation::Elsewhere),
        3 => (1..4_u8).prop_map(|limit| Operation::Page { limit }),
        1 => any::<bool>().prop_map(|selects| Operation::Watch { selects }),
        2 => (0..4_u8).prop_map(|watch| Operation::Read { watch }),
        1 => (0..4_u8).prop_map(|watch| Operation::Cut { watch }),
        1 => Just(Operation::Wait),
    ]
}

/// The content of a state: the label of each object, by name.
type State = BTreeMap<String, String>;

/// A walk through the list, page by page.
#[derive(Default)]
struct Walk {
    token: String,
    revision: String,
    seen: State,
}

/// A watch, and the state that results from its list and its events.
struct Watch {
    selects: bool,
    state: State,
    last: u64,
    body: Option<ApiBody>,
}

struct World {
    server: ApiServer,
    run: Simulation,
    /// The state at each revision.
    states: BTreeMap<u64, State>,
    present: State,
    walk: Walk,
    watches: Vec<Watch>,
    written: u32,
}

fn revision_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn state_of(list: &Value) -> State {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| (text(&item["metadata"]["name"]), text(&item["metadata"]["labels"]["v"]))).collect()
}

fn selected(state: &State, selects: bool) -> State {
    state.iter().filter(|(_, label)| !selects || *label == "1").map(|(n, l)| (n.clone(), l.clone())).collect()
}

impl World {
    async fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let answer = support::ask(&self.server, method, path, &body).await;
        assert!(answer.headers.contains_key("content-type") && !answer.status.is_server_error());
        answer.body
    }

    async fn revision(&self) -> u64 {
        revision_of(&self.ask("GET", &format!("{MAPS}?limit=1"), Value::Null).await)
    }

    async fn step(&mut self, operation: &Operation) {
        match *operation {
            Operation::Put { name, label } => {
                let (name, label) = (format!("o{name}"), label.to_string());
                self.written += 1;
                let body = json!({"metadata": {"name": name, "labels": {"v": label}}, "data": {"n": self.written.to_string()}});
                let known = self.present.contains_key(&name);
                let (method, path) =
                    if known { ("PUT", format!("{MAPS}/{name}")) } else { ("POST", MAPS.into()) };
                self.ask(method, &path, body).await;
                self.present.insert(name, label);
                self.note().await;
            }
            Operation::Delete { name } => {
                let name = format!("o{name}");
                self.ask("DELETE", &format!("{MAPS}/{name}"), Value::Null).await;
                self.present.remove(&name);
                self.note().await;
            }
            Operation::Elsewhere => {
                self.written += 1;
                let body = json!({"metadata": {"name": format!("s{}", self.written)}});
                self.ask("POST", "/api/v1/namespaces/default/secrets", body).await;
                self.note().await;
            }
            Operation::Page { limit } => self.page(limit).await,
            Operation::Watch { selects } if self.watches.len() < 4 => self.list_and_watch(selects).await,
            Operation::Read { watch } => self.read(usize::from(watch)),
            Operation::Cut { watch } => self.cut(usize::from(watch)).await,
            Operation::Wait => {
                // A watch that reads in time never falls behind the log.
                (0..self.watches.len()).for_each(|index| self.read(index));
                self.run.clock.sleep(Duration::from_secs(61)).await;
            }
            Operation::Watch { .. } => {}
        }
    }

    async fn note(&mut self) {
        let revision = self.revision().await;
        self.states.insert(revision, self.present.clone());
    }

    /// The state at a revision.
    fn at(&self, revision: u64) -> State {
        self.states.range(..=revision).next_back().map(|(_, state)| state.clone()).unwrap_or_default()
    }

    async fn page(&mut self, limit: u8) {
        let path = format!("{MAPS}?limit={limit}&continue={}", self.walk.token);
        let list = self.ask("GET", &path, Value::Null).await;
        if list["code"] == 410 {
            // The snapshot is older than the log; a real client starts again.
            self.walk = Walk::default();
            return;
        }
        let revision = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
        if self.walk.revision.is_empty() {
            self.walk.revision.clone_from(&revision);
        }
        assert_eq!(self.walk.revision, revision, "pages of one walk are of one revision");
        let items = state_of(&list);
        assert!(items.len() <= usize::from(limit));
        self.walk.seen.extend(items);
        let whole = self.at(revision.parse().unwrap());
        let left = whole.len() - self.walk.seen.len();
        match list["metadata"]["continue"].as_str() {
            Some(token) => {
                assert_eq!(list["metadata"]["remainingItemCount"], left);
                self.walk.token = token.to_owned();
            }
            None => {
                assert_eq!(
                    std::mem::take(&mut self.walk).seen,
                    whole,
                    "all pages make the list at {revision}"
                );
            }
        }
    }

    async fn list_and_watch(&mut self, selects: bool) {
        let selector = if selects { "labelSelector=v%3D1&" } else { "" };
        let list = self.ask("GET", &format!("{MAPS}?{selector}"), Value::Null).await;
        let state = state_of(&list);
        assert_eq!(state, selected(&self.present, selects));
        let mut watch = Watch { selects, state, last: revision_of(&list), body: None };
        self.open(&mut watch).await;
        self.watches.push(watch);
    }

    async fn open(&self, watch: &mut Watch) {
        let selector = if watch.selects { "&labelSelector=v%3D1" } else { "" };
        let path =
            format!("{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion={}{selector}", watch.last);
        let response: Response<ApiBody> =
            support::open(&self.server, Request::get(path).body(Bytes::new()).unwrap()).await;
        watch.body = Some(response.into_body());
    }

    async fn cut(&mut self, index: usize) {
        if index < self.watches.len() {
            self.read(index);
            let mut watch = self.watches.swap_remove(index);
            self.open(&mut watch).await;
            self.watches.push(watch);
        }
    }

    /// Reads all available events of a watch, and checks that they are allowed.
    fn read(&mut self, index: usize) {
        let Some(watch) = self.watches.get_mut(index) else { return };
        let Some(body) = &mut watch.body else { return };
        while let Some(Some(frame)) = body.frame().now_or_never() {
            let bytes = frame.unwrap().into_data().unwrap();
            for event in serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>() {
                let event = event.unwrap();
                let object = &event["object"];
                let (revision, event_type) = (revision_of(object), event["type"].as_str().unwrap());
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let name = text(&object["metadata"]["name"]);
                if event_type == "BOOKMARK" {
                    assert!(revision >= watch.last, "a bookmark goes back");
                    watch.last = revision;
                    continue;
                }
                assert!(revision > watch.last, "revision {revision} after {}", watch.last);
                watch.last = revision;
                let label = text(&object["metadata"]["labels"]["v"]);
                let before = match event_type {
                    "DELETED" => watch.state.remove(&name),
                    _ => watch.state.insert(name.clone(), label),
                };
                assert_eq!(before.is_none(), event_type == "ADDED", "{event_type} {name}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_list_and_its_watch_result_in_the_current_state(operations in prop::collection::vec(operation(), 1..60)) {
        simulate(Seed(1), |run| async move {
            let server = ApiServer::builder(run.clock, run.seed.stream("api")).build();
            let mut world = World { server, run, states: BTreeMap::new(), present: State::new(),
                walk: Walk::default(), watches: Vec::new(), written: 0 };
            world.list_and_watch(false).await;
            world.list_and_watch(true).await;
            for operation in &operations {
                world.step(operation).await;
            }
            for index in 0..world.watches.len() {
                world.read(index);
                let watch = &world.watches[index];
                assert_eq!(watch.state, selected(&world.present, watch.selects));
            }
            for (revision, state) in &world.states {
                let path = format!("{MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact");
                let list = world.ask("GET", &path, Value::Null).await;
                if list["code"] != 410 {
                    assert_eq!(&state_of(&list), state, "at {revision}");
                }
            }
        });
    }
}
