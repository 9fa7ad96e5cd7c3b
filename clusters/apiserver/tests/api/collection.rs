//! The consequences of a delete: dependents, namespaces, finalizers.

use capsize_apiserver::ApiServer;
use serde_json::{Value, json};

use crate::support::{self, with_server};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A server, with requests that must succeed.
struct Api(ApiServer);

impl Api {
    async fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let answer = support::ask(&self.0, method, path, &body).await;
        assert!(answer.status.is_success(), "{method} {path}: {}", answer.body);
        assert_eq!(answer.headers["content-type"], "application/json");
        answer.body
    }

    /// Creates a config map that is owned by `owners`.
    async fn create(&self, name: &str, owners: &[&Value], finalizers: &[&str]) -> Value {
        let references: Vec<_> = owners
            .iter()
            .map(|owner| {
                json!({"apiVersion": "v1", "kind": "ConfigMap",
            "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true})
            })
            .collect();
        let body =
            json!({"metadata": {"name": name, "ownerReferences": references, "finalizers": finalizers}});
        self.ask("POST", MAPS, body).await
    }

    async fn names(&self, collection: &str) -> Vec<String> {
        let list = self.ask("GET", collection, Value::Null).await;
        let items = list["items"].as_array().unwrap();
        items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn with_api<F: Future<Output = ()>>(test: impl FnOnce(Api) -> F + Send) {
    with_server(|server, _| test(Api(server)));
}

#[test]
fn dependents_go_with_the_last_of_their_owners() {
    with_api(|api| async move {
        let (a, b) = (api.create("a", &[], &[]).await, api.create("b", &[], &[]).await);
        let child = api.create("child", &[&a, &b], &[]).await;
        api.create("grandchild", &[&child], &[]).await;
        api.ask("DELETE", &format!("{MAPS}/a"), Value::Null).await;
        let child = api.ask("GET", &format!("{MAPS}/child"), Value::Null).await;
        assert_eq!(child["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
        api.ask("DELETE", &format!("{MAPS}/b"), Value::Null).await;
        assert!(api.names(MAPS).await.is_empty());
    });
}

#[test]
fn an_object_whose_owner_never_existed_is_deleted_at_once() {
    with_api(|api| async move {
        let ghost = json!({"metadata": {"name": "ghost", "uid": "00000000-0000-4000-8000-000000000000"}});
        api.create("child", &[&ghost], &[]).await;
        assert!(api.names(MAPS).await.is_empty());
    });
}

#[test]
fn orphans_stay_without_their_reference() {
    with_api(|api| async move {
        let owner = api.create("owner", &[], &[]).await;
        api.create("child", &[&owner], &[]).await;
        api.ask("DELETE", &format!("{MAPS}/owner"), json!({"propagationPolicy": "Orphan"})).await;
        let child = api.ask("GET", &format!("{MAPS}/child"), Value::Null).await;
        assert_eq!(api.names(MAPS).await, ["child"]);
        assert!(child["metadata"]["ownerReferences"].is_null());
    });
}

#[test]
fn an_owner_deleted_in_the_foreground_is_removed_last() {
    with_api(|api| async move {
        let owner = api.create("owner", &[], &[]).await;
        api.create("child", &[&owner], &["example.com/hold"]).await;
        let marked =
            api.ask("DELETE", &format!("{MAPS}/owner"), json!({"propagationPolicy": "Foreground"})).await;
        assert_eq!(marked["metadata"]["finalizers"], json!(["foregroundDeletion"]));
        assert_eq!(api.names(MAPS).await, ["child", "owner"]);
        api.ask("PATCH", &format!("{MAPS}/child"), json!({"metadata": {"finalizers": null}})).await;
        assert!(api.names(MAPS).await.is_empty());
    });
}

#[test]
fn a_pod_on_a_node_has_its_grace_period() {
    with_api(|api| async move {
        let pods = "/api/v1/namespaces/default/pods";
        let pod = |name: &str, node: &str| json!({"metadata": {"name": name}, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}});
        api.ask("POST", pods, pod("placed", "n1")).await;
        api.ask("POST", pods, pod("waiting", "")).await;
        let marked = api.ask("DELETE", &format!("{pods}/placed"), Value::Null).await;
        assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30);
        api.ask("DELETE", &format!("{pods}/waiting"), Value::Null).await;
        assert_eq!(api.names(pods).await, ["placed"]);
        let longer = api.ask("DELETE", &format!("{pods}/placed"), json!({"gracePeriodSeconds": 60})).await;
        assert_eq!(longer["metadata"]["deletionTimestamp"], marked["metadata"]["deletionTimestamp"]);
        api.ask("DELETE", &format!("{pods}/placed"), json!({"gracePeriodSeconds": 0})).await;
        assert!(api.names(pods).await.is_empty());
    });
}

#[test]
fn a_namespace_is_removed_once_its_objects_have_no_finalizers() {
    with_api(|api| async move {
        let maps = "/api/v1/namespaces/work/configmaps";
        api.ask("POST", "/api/v1/namespaces", json!({"metadata": {"name": "work"}})).await;
        api.ask("POST", maps, json!({"metadata": {"name": "free"}})).await;
        api.ask("POST", maps, json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}))
            .await;
        api.ask("DELETE", "/api/v1/namespaces/work", Value::Null).await;
        assert_eq!(api.names(maps).await, ["held"]);
        let namespace = api.ask("GET", "/api/v1/namespaces/work", Value::Null).await;
        assert_eq!(namespace["status"]["phase"], "Terminating");
        let held = &namespace["status"]["conditions"][4];
        assert_eq!(
            held["message"],
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 \
            resource instances"
        );
        api.ask("PATCH", &format!("{maps}/held"), json!({"metadata": {"finalizers": null}})).await;
        assert!(!api.names("/api/v1/namespaces").await.contains(&"work".to_owned()));
    });
}

#[test]
fn a_namespace_stays_while_it_has_other_finalizers() {
    with_api(|api| async move {
        api.ask("POST", "/api/v1/namespaces", json!({"metadata": {"name": "work"}})).await;
        let finalize = async |finalizers: Value| {
            let body = json!({"metadata": {"name": "work"}, "spec": {"finalizers": finalizers}});
            api.ask("PUT", "/api/v1/namespaces/work/finalize", body).await
        };
        finalize(json!(["kubernetes", "example.com/hold"])).await;
        api.ask("DELETE", "/api/v1/namespaces/work", Value::Null).await;
        let namespace = api.ask("GET", "/api/v1/namespaces/work", Value::Null).await;
        assert_eq!(namespace["spec"]["finalizers"], json!(["example.com/hold"]));
        finalize(json!([])).await;
        assert!(!api.names("/api/v1/namespaces").await.contains(&"work".to_owned()));
    });
}

#[test]
fn namespaces_are_not_deleted_together() {
    with_api(|api| async move {
        api.ask("POST", "/api/v1/namespaces", json!({"metadata": {"name": "work"}})).await;
        let path = "/api/v1/namespaces?fieldSelector=metadata.name%3Dwork";
        let answer = support::ask(&api.0, "DELETE", path, &Value::Null).await;
        assert_eq!(answer.status.as_u16(), 405, "{}", answer.body);
        assert!(api.names("/api/v1/namespaces").await.contains(&"work".to_owned()));
    });
}
