//! The rules of lists and watches: pages, resource versions, the start of a watch, and its events.

use std::time::Duration;

use bytes::Bytes;
use capsize_apiserver::ApiServer;
use capsize_clock::{Seed, Simulation, simulate};
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::support;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

struct Api {
    server: ApiServer,
    run: Simulation,
}

impl Api {
    async fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let answer = support::ask(&self.server, method, path, &body).await;
        assert_eq!(answer.headers["content-type"], "application/json");
        let code = answer.body["code"].as_u64().filter(|_| answer.body["kind"] == "Status");
        assert!(code.is_none_or(|code| code == u64::from(answer.status.as_u16())), "{}", answer.body);
        answer.body
    }

    async fn get(&self, path: &str) -> Value {
        self.ask("GET", path, Value::Null).await
    }

    async fn create(&self, names: &[&str]) {
        for name in names {
            let object = json!({"metadata": {"name": name, "labels": {"n": name}}});
            assert_eq!(self.ask("POST", MAPS, object).await["metadata"]["name"], *name);
        }
    }

    async fn revision(&self) -> u64 {
        text(&self.get(MAPS).await["metadata"]["resourceVersion"]).parse().unwrap()
    }

    /// The events of a watch until its timeout: type, name and revision, or the code of an error.
    async fn watch(&self, path: &str) -> Vec<String> {
        let response = support::open(&self.server, Request::get(path).body(Bytes::new()).unwrap()).await;
        assert_eq!(response.status(), 200);
        shown_events(&response.into_body().collect().await.unwrap().to_bytes())
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn shown_events(bytes: &[u8]) -> Vec<String> {
    let events = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().map(Result::unwrap);
    let shown = events.map(|event| {
        let (event_type, metadata) = (text(&event["type"]), &event["object"]["metadata"]);
        match event_type {
            "ERROR" => format!("ERROR {}", event["object"]["code"]),
            "BOOKMARK" if metadata["annotations"].is_object() => "BOOKMARK end".to_owned(),
            "BOOKMARK" => "BOOKMARK".to_owned(),
            _ => format!("{event_type} {}", text(&metadata["name"])),
        }
    });
    shown.collect()
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| text(&item["metadata"]["name"])).collect()
}

fn with_api<F: Future<Output = ()>>(history: usize, test: impl FnOnce(Api) -> F + Send) {
    simulate(Seed(1), |run| {
        let server = ApiServer::builder(run.clock, run.seed.stream("api")).history_limit(history).build();
        test(Api { server, run })
    });
}

#[test]
fn all_pages_of_a_list_show_its_first_moment() {
    with_api(100, |api| async move {
        api.create(&["a", "b", "c", "d", "e"]).await;
        let first = api.get(&format!("{MAPS}?limit=2")).await;
        assert_eq!((names(&first), &first["metadata"]["remainingItemCount"]), (vec!["a", "b"], &json!(3)));
        api.ask("DELETE", &format!("{MAPS}/c"), Value::Null).await;
        api.create(&["bb"]).await;
        let mut page = first.clone();
        let mut all = Vec::new();
        while let Some(token) = page["metadata"]["continue"].as_str() {
            page = api.get(&format!("{MAPS}?limit=2&continue={token}")).await;
            all.extend(names(&page).into_iter().map(str::to_owned));
            assert_eq!(page["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
        }
        assert_eq!(all, ["c", "d", "e"]);
        let token = text(&first["metadata"]["continue"]).to_owned();
        let elsewhere = api.get(&format!("/api/v1/namespaces/kube-system/configmaps?continue={token}")).await;
        assert!(names(&elsewhere).is_empty());
    });
}

#[test]
fn a_page_with_a_selector_has_a_token_if_more_objects_follow() {
    with_api(100, |api| async move {
        api.create(&["a", "b", "c"]).await;
        let page = api.get(&format!("{MAPS}?limit=1&labelSelector=n%3Db")).await;
        assert_eq!(names(&page), ["b"]);
        assert!(page["metadata"]["remainingItemCount"].is_null());
        let token = text(&page["metadata"]["continue"]);
        let rest = api.get(&format!("{MAPS}?limit=1&labelSelector=n%3Db&continue={token}")).await;
        assert_eq!((names(&rest), &rest["metadata"]["continue"]), (vec![], &Value::Null));
        let one = api.get(&format!("{MAPS}?limit=1&fieldSelector=metadata.name%3Da")).await;
        assert_eq!((names(&one), &one["metadata"]["continue"]), (vec!["a"], &Value::Null));
    });
}

#[test]
fn an_exact_list_shows_the_past_within_the_history() {
    with_api(3, |api| async move {
        api.create(&["a", "b"]).await;
        let before = api.revision().await;
        let page = api.get(&format!("{MAPS}?limit=1")).await;
        api.ask("PATCH", &format!("{MAPS}/a"), json!({"data": {"k": "v"}})).await;
        api.ask("DELETE", &format!("{MAPS}/b"), Value::Null).await;
        let exact = format!("{MAPS}?resourceVersion={before}&resourceVersionMatch=Exact");
        let list = api.get(&exact).await;
        assert_eq!((names(&list), &list["items"][0]["data"]), (vec!["a", "b"], &Value::Null));
        api.create(&["c", "d"]).await;
        let gone = api.get(&exact).await;
        assert_eq!(gone["message"], "The resourceVersion for the provided list is too old.");
        let token = text(&page["metadata"]["continue"]);
        let gone = api.get(&format!("{MAPS}?limit=5&continue={token}")).await;
        assert_eq!((&gone["code"], &gone["reason"]), (&json!(410), &json!("Expired")));
        let token = text(&gone["metadata"]["continue"]);
        assert_eq!(names(&api.get(&format!("{MAPS}?continue={token}")).await), ["c", "d"]);
    });
}

#[test]
fn a_read_waits_three_seconds_for_a_revision_to_come() {
    with_api(100, |api| async move {
        let next = api.revision().await + 1;
        let start = api.run.clock.elapsed();
        let late = api.get(&format!("{MAPS}?resourceVersion={next}")).await;
        assert_eq!((&late["code"], &late["details"]["retryAfterSeconds"]), (&json!(504), &json!(1)));
        assert_eq!(api.run.clock.elapsed() - start, Duration::from_secs(3));
        let path = format!("{MAPS}?resourceVersion={next}");
        let (list, ()) = tokio::join!(api.get(&path), async {
            api.run.clock.sleep(Duration::from_secs(1)).await;
            api.create(&["a"]).await;
        });
        assert_eq!(names(&list), ["a"]);
        assert_eq!(api.run.clock.elapsed() - start, Duration::from_secs(4));
        let wrong = api.get(&format!("{MAPS}/a?resourceVersion=%2B1")).await;
        assert_eq!(wrong["code"], 500);
    });
}

#[test]
fn a_watch_starts_at_the_requested_revision() {
    with_api(100, |api| async move {
        api.create(&["a", "b"]).await;
        let now = api.revision().await;
        let before = now - 1;
        let watch = format!("{MAPS}?watch=1&timeoutSeconds=1");
        let present = ["ADDED a", "ADDED b"];
        let table: [(String, &[&str]); 8] = [
            (String::new(), &present),
            ("&resourceVersion=0".into(), &present),
            ("&resourceVersion=0&allowWatchBookmarks=1".into(), &["ADDED a", "ADDED b", "BOOKMARK end"]),
            (format!("&resourceVersion={before}"), &["ADDED b"]),
            ("&sendInitialEvents=false&resourceVersionMatch=NotOlderThan".into(), &[]),
            ("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan".into(), &present),
            (format!("&resourceVersion={}", now + 5), &[]),
            ("&fieldSelector=metadata.name%3Db".into(), &["ADDED b"]),
        ];
        for (query, expected) in table {
            assert_eq!(api.watch(&format!("{watch}{query}")).await, expected, "{query}");
        }
        let old = "/api/v1/watch/namespaces/default/configmaps/a?timeoutSeconds=1&allowWatchBookmarks=1";
        assert_eq!(api.watch(old).await, ["ADDED a"]);
        let other = api.get(&format!("{old}&fieldSelector=metadata.name%3Db")).await;
        assert_eq!(other["message"], "fieldSelector metadata.name doesn't match requested name");
    });
}

#[test]
fn a_streaming_list_from_the_future_is_refused() {
    with_api(100, |api| async move {
        let future = api.revision().await + 1;
        let path = format!(
            "{MAPS}?watch=1&timeoutSeconds=5&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&resourceVersion={future}"
        );
        assert_eq!(api.watch(&path).await, ["ERROR 504"]);
        let (events, ()) = tokio::join!(api.watch(&path), async {
            api.run.clock.sleep(Duration::from_secs(1)).await;
            api.create(&["a", "b"]).await;
        });
        assert_eq!(events, ["ADDED a", "ADDED b"]);
    });
}

#[test]
fn a_watch_that_falls_behind_the_log_gets_410_and_ends() {
    with_api(3, |api| async move {
        let start = api.revision().await;
        let path = format!("{MAPS}?watch=1&resourceVersion={start}");
        let slow = support::open(&api.server, Request::get(&path).body(Bytes::new()).unwrap()).await;
        api.create(&["a", "b", "c", "d"]).await;
        let bytes = slow.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(shown_events(&bytes), ["ERROR 410"]);
        assert_eq!(api.watch(&path).await, ["ERROR 410"]);
    });
}

#[test]
fn all_watches_of_a_write_share_one_text() {
    with_api(100, |api| async move {
        let start = api.revision().await;
        let mut bodies = Vec::new();
        for selector in ["", "&labelSelector=n%3Da", "&fieldSelector=metadata.name%3Da"] {
            let path = format!("{MAPS}?watch=1&resourceVersion={start}{selector}");
            bodies.push(
                support::open(&api.server, Request::get(path).body(Bytes::new()).unwrap()).await.into_body(),
            );
        }
        api.create(&["a"]).await;
        let mut frames = Vec::new();
        for body in &mut bodies {
            frames.push(body.frame().await.unwrap().unwrap().into_data().unwrap());
        }
        assert!(frames.iter().all(|frame| frame.as_ptr() == frames[0].as_ptr()));
        assert_eq!(shown_events(&frames[0]), ["ADDED a"]);
    });
}

#[test]
fn many_objects_come_in_chunks_and_in_order() {
    with_api(5000, |api| async move {
        let value = "v".repeat(1000);
        for number in 0..300 {
            let object = json!({"metadata": {"name": format!("m{number:03}")}, "data": {"k": value}});
            api.ask("POST", MAPS, object).await;
        }
        let expected: Vec<_> = (0..300).map(|number| format!("ADDED m{number:03}")).collect();
        assert_eq!(api.watch(&format!("{MAPS}?watch=1&timeoutSeconds=1")).await, expected);
        assert_eq!(api.watch(&format!("{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=5")).await, expected);
        // An object whose tree is no longer cached can still be read and changed.
        let patch = json!({"data": {"k": "w"}});
        assert_eq!(api.ask("PATCH", &format!("{MAPS}/m000"), patch).await["data"], json!({"k": "w"}));
    });
}
