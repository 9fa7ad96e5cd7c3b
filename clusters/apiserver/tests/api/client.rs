//! The server from the view of a kube client.

use std::time::Duration;

use capsize_apiserver::ApiServer;
use capsize_clock::{Seed, simulate};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::ResourceExt;
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::Discovery;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use serde_json::{Value, json};

use crate::support::{self, refusal, with_server};

fn config_map(name: &str, value: &str) -> ConfigMap {
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": value}});
    serde_json::from_value(object).unwrap()
}

fn deployment(replicas: i32) -> Deployment {
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "nginx"}]}}}});
    serde_json::from_value(object).unwrap()
}

fn definition() -> Value {
    let spec = json!({"type": "object", "properties": {
        "size": {"type": "integer", "minimum": 1}, "mode": {"type": "string", "default": "a"}}});
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    support::definition("widgets", "Widget", schema, json!({"subresources": {"status": {}}}))
}

fn widgets() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"))
}

#[test]
fn a_generation_counts_changes_of_the_spec_only() {
    with_server(|server, _| async move {
        let api: Api<Deployment> = Api::default_namespaced(server.client());
        let generation = |object: Deployment| object.metadata.generation;
        let created = api.create(&PostParams::default(), &deployment(2)).await.unwrap();
        assert_eq!(generation(created), Some(1));
        let steps = [
            (json!({"metadata": {"labels": {"a": "b"}}}), 1),
            (json!({"spec": {"replicas": 3}}), 2),
            (json!({"status": {"replicas": 3}}), 2),
        ];
        for (patch, expected) in steps {
            let patched = api.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
            assert_eq!(generation(patched), Some(expected));
        }
        let status = json!({"spec": {"replicas": 9}, "status": {"replicas": 3}});
        let patched = api.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
        assert_eq!(patched.spec.unwrap().replicas, Some(3));
        assert_eq!(patched.status.unwrap().replicas, Some(3));
        assert_eq!(patched.metadata.generation, Some(2));
    });
}

#[test]
fn of_two_writers_with_one_version_only_one_wins() {
    with_server(|server, _| async move {
        let api: Api<ConfigMap> = Api::default_namespaced(server.client());
        let read = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
        let mut write = read.clone();
        write.data = Some([("k".to_owned(), "2".to_owned())].into());
        api.replace("a", &PostParams::default(), &write).await.unwrap();
        let status = refusal(api.replace("a", &PostParams::default(), &write).await);
        assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    });
}

#[test]
fn a_finalizer_holds_an_object_until_it_is_removed() {
    with_server(|server, _| async move {
        let api: Api<ConfigMap> = Api::default_namespaced(server.client());
        let mut object = config_map("a", "1");
        object.metadata.finalizers = Some(vec!["example.com/hold".into()]);
        api.create(&PostParams::default(), &object).await.unwrap();
        let held = api.delete("a", &DeleteParams::default()).await.unwrap().left().unwrap();
        assert!(held.metadata.deletion_timestamp.is_some());
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        api.patch("a", &PatchParams::default(), &patch).await.unwrap();
        assert!(api.get_opt("a").await.unwrap().is_none());
    });
}

#[test]
fn pages_of_a_list_show_the_state_of_the_first() {
    with_server(|server, _| async move {
        let api: Api<ConfigMap> = Api::default_namespaced(server.client());
        for index in 0..5 {
            api.create(&PostParams::default(), &config_map(&format!("c{index}"), "1")).await.unwrap();
        }
        let mut parameters = ListParams::default().limit(2);
        let mut seen = Vec::new();
        loop {
            let page = api.list(&parameters).await.unwrap();
            seen.extend(page.items.into_iter().map(|object| (object.metadata.name.unwrap(), object.data)));
            let Some(token) = page.metadata.continue_ else { break };
            parameters = ListParams::default().limit(2).continue_token(&token);
            let change = Patch::Merge(json!({"data": {"k": "2"}}));
            api.patch("c4", &PatchParams::default(), &change).await.unwrap();
        }
        let names: Vec<_> = seen.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["c0", "c1", "c2", "c3", "c4"]);
        assert_eq!(seen[4].1.as_ref().unwrap()["k"], "1");
    });
}

#[test]
fn a_page_that_has_expired_comes_with_a_token_to_go_on() {
    simulate(Seed(1), |run| async move {
        let server = ApiServer::builder(run.clock, run.seed.stream("api")).history_limit(2).build();
        let api: Api<ConfigMap> = Api::default_namespaced(server.client());
        for index in 0..4 {
            api.create(&PostParams::default(), &config_map(&format!("c{index}"), "1")).await.unwrap();
        }
        let page = api.list(&ListParams::default().limit(2)).await.unwrap();
        for value in 0..3 {
            let patch = Patch::Merge(json!({"data": {"k": format!("changed {value}")}}));
            api.patch("c3", &PatchParams::default(), &patch).await.unwrap();
        }
        let next = ListParams::default().limit(2).continue_token(&page.metadata.continue_.unwrap());
        let status = refusal(api.list(&next).await);
        assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
        let token = status.metadata.unwrap().continue_.unwrap();
        let rest = api.list(&ListParams::default().continue_token(&token)).await.unwrap();
        let names: Vec<_> = rest.items.into_iter().map(|object| object.metadata.name.unwrap()).collect();
        assert_eq!(names, ["c2", "c3"]);
    });
}

#[test]
fn a_custom_kind_is_served_defaulted_pruned_and_validated() {
    with_server(|server, _| async move {
        server.install(vec![definition()]).unwrap();
        let api: Api<DynamicObject> = Api::default_namespaced_with(server.client(), &widgets());
        let widget =
            |spec: Value| DynamicObject::new("a", &widgets()).data(json!({"spec": spec, "status": {"x": 1}}));
        let created =
            api.create(&PostParams::default(), &widget(json!({"size": 1, "other": 2}))).await.unwrap();
        assert_eq!(created.data, json!({"spec": {"size": 1, "mode": "a"}}));
        let status = refusal(api.create(&PostParams::default(), &widget(json!({"size": 0}))).await);
        assert_eq!(
            status.message,
            "Widget.example.com \"a\" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater \
             than or equal to 1"
        );
        let status = json!({"status": {"ready": true}, "spec": {"size": 5}});
        let patched = api.patch_status("a", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
        assert_eq!(patched.data, json!({"spec": {"size": 1, "mode": "a"}, "status": {"ready": true}}));
        let discovery = Discovery::new(server.client()).run().await.unwrap();
        let (found, _) =
            discovery.resolve_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget")).unwrap();
        assert_eq!(found.plural, "widgets");
    });
}

#[test]
fn a_definition_takes_its_objects_with_it() {
    with_server(|server, _| async move {
        server.install(vec![definition()]).unwrap();
        let api: Api<DynamicObject> = Api::default_namespaced_with(server.client(), &widgets());
        api.create(&PostParams::default(), &DynamicObject::new("a", &widgets())).await.unwrap();
        let events = api.watch(&WatchParams::default().disable_bookmarks(), "0").await.unwrap().boxed();
        let definitions: Api<DynamicObject> = Api::all_with(
            server.client(),
            &ApiResource::from_gvk(&GroupVersionKind::gvk(
                "apiextensions.k8s.io",
                "v1",
                "CustomResourceDefinition",
            )),
        );
        definitions.delete("widgets.example.com", &DeleteParams::default()).await.unwrap();
        let events: Vec<_> = events.try_collect().await.unwrap();
        assert!(matches!(events.as_slice(), [WatchEvent::Added(_), WatchEvent::Deleted(_)]), "{events:?}");
        assert!(api.get("a").await.is_err());
        assert!(definitions.get_opt("widgets.example.com").await.unwrap().is_none());
    });
}

#[test]
fn a_reflector_sees_every_change() {
    for strategy in [watcher::InitialListStrategy::ListWatch, watcher::InitialListStrategy::StreamingList] {
        let seen = with_server(|server, run| async move {
            let api: Api<ConfigMap> = Api::default_namespaced(server.client());
            api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
            let (reader, writer) = reflector::store();
            let config = watcher::Config { initial_list_strategy: strategy, ..watcher::Config::default() };
            let events = watcher(api.clone(), config).default_backoff().reflect(writer);
            let task = tokio::spawn(events.for_each(|_| async {}));
            reader.wait_until_ready().await.unwrap();
            api.create(&PostParams::default(), &config_map("b", "1")).await.unwrap();
            api.delete("a", &DeleteParams::default()).await.unwrap();
            // This time is longer than any watch lasts, so the watcher needs a new watch.
            run.clock.sleep(Duration::from_secs(4000)).await;
            api.create(&PostParams::default(), &config_map("c", "1")).await.unwrap();
            run.clock.sleep(Duration::from_secs(1)).await;
            task.abort();
            let mut names: Vec<_> =
                reader.state().iter().filter_map(|object| object.metadata.name.clone()).collect();
            names.sort();
            names
        });
        assert_eq!(seen, ["b", "c"]);
    }
}

#[test]
fn a_watch_from_before_the_history_gets_410() {
    simulate(Seed(1), |run| async move {
        let server = ApiServer::builder(run.clock, run.seed.stream("api")).history_limit(2).build();
        let api: Api<ConfigMap> = Api::default_namespaced(server.client());
        for index in 0..5 {
            api.create(&PostParams::default(), &config_map(&format!("c{index}"), "1")).await.unwrap();
        }
        let events: Vec<_> =
            api.watch(&WatchParams::default(), "2").await.unwrap().try_collect().await.unwrap();
        let [WatchEvent::Error(status)] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    });
}

#[test]
fn a_watch_can_go_back_for_five_minutes() {
    with_server(|server, run| async move {
        let api: Api<ConfigMap> = Api::default_namespaced(server.client());
        let begun = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
        let first = async |version: &str| {
            let events = api.watch(&WatchParams::default(), version).await.unwrap();
            std::pin::pin!(events).try_next().await.unwrap().unwrap()
        };
        api.create(&PostParams::default(), &config_map("old", "1")).await.unwrap();
        run.clock.sleep(Duration::from_secs(299)).await;
        api.create(&PostParams::default(), &config_map("new", "1")).await.unwrap();
        assert!(matches!(first(&begun).await, WatchEvent::Added(object) if object.name_any() == "old"));
        run.clock.sleep(Duration::from_secs(2)).await;
        api.create(&PostParams::default(), &config_map("newer", "1")).await.unwrap();
        assert!(matches!(first(&begun).await, WatchEvent::Error(status) if status.code == 410));
    });
}

#[test]
fn a_seed_decides_uids_names_and_the_length_of_watches() {
    let run = |seed| {
        simulate(Seed(seed), |run| async move {
            let server = support::server(run);
            let api: Api<ConfigMap> = Api::default_namespaced(server.client());
            let mut object = config_map("", "1");
            object.metadata = serde_json::from_value(json!({"generateName": "x-"})).unwrap();
            for _ in 0..3 {
                api.create(&PostParams::default(), &object).await.unwrap();
            }
            let watch = http::Request::get("/api/v1/namespaces/default/configmaps?watch=true");
            let events = server.client().request_text(watch.body(Vec::new()).unwrap()).await.unwrap();
            (events, run.clock.elapsed())
        })
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}

#[test]
fn readiness_can_be_set() {
    with_server(|server, _| async move {
        let probe = |client: kube::Client| async move {
            client.request_text(http::Request::get("/readyz").body(Vec::new()).unwrap()).await
        };
        assert_eq!(probe(server.client()).await.unwrap(), "ok");
        server.set_ready(false);
        assert!(probe(server.client()).await.is_err());
    });
}

#[test]
fn bookmarks_can_be_limited_to_new_revisions() {
    simulate(Seed(1), |run| async move {
        let server = ApiServer::builder(run.clock, run.seed.stream("api")).repeat_bookmarks(false).build();
        let api: Api<ConfigMap> = Api::default_namespaced(server.client());
        let version = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
        let params = WatchParams::default().timeout(290);
        let watch = api.watch(&params, &version.resource_version().unwrap()).await.unwrap();
        let others: Api<Namespace> = Api::all(server.client());
        let write = async {
            run.clock.sleep(Duration::from_secs(90)).await;
            let namespace = json!({"metadata": {"name": "shop"}});
            let shop = serde_json::from_value(namespace).unwrap();
            others.create(&PostParams::default(), &shop).await.unwrap().resource_version().unwrap()
        };
        let (events, written) = tokio::join!(watch.try_collect::<Vec<_>>(), write);
        let marks = events.unwrap().into_iter().map(|event| match event {
            WatchEvent::Bookmark(bookmark) => bookmark.metadata.resource_version,
            other => panic!("{other:?}"),
        });
        assert_eq!(marks.collect::<Vec<_>>(), [written]);
    });
}
