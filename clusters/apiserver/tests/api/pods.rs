//! The endpoints of pods: binding, eviction, graceful deletion, and parts that are updated separately.

use std::time::Duration;

use capsize_apiserver::ApiServer;
use capsize_clock::{Seed, Simulation, simulate};
use serde_json::{Value, json};

use crate::support::{self, with_server};

const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

struct Api {
    server: ApiServer,
    run: Simulation,
}

impl Api {
    /// Sends a request, and returns its status and body. A patch is a merge patch.
    async fn ask(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let answer = support::ask(&self.server, method, path, &body).await;
        assert!(answer.headers.contains_key("content-type"));
        (answer.status.as_u16(), answer.body)
    }

    async fn good(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, body) = self.ask(method, path, body).await;
        assert!((200..300).contains(&status), "{method} {path}: {body}");
        body
    }

    /// Creates a pod on a node, or without a node; `ready` is set for a running pod.
    async fn pod(&self, name: &str, node: &str, ready: Option<bool>) -> Value {
        let pod = json!({"metadata": {"name": name, "labels": {"app": "a"}},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}});
        let created = self.good("POST", PODS, pod).await;
        let Some(ready) = ready else { return created };
        let status = if ready { "True" } else { "False" };
        let status =
            json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}});
        self.good("PATCH", &format!("{PODS}/{name}/status"), status).await
    }

    async fn budget(&self, allowed: i64) {
        let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}});
        self.good("POST", BUDGETS, budget).await;
        let status = json!({"status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1,
            "expectedPods": 1, "observedGeneration": 1}});
        self.good("PATCH", &format!("{BUDGETS}/b/status"), status).await;
    }

    async fn evict(&self, name: &str, options: Value) -> (u16, Value) {
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name},
            "deleteOptions": options});
        self.ask("POST", &format!("{PODS}/{name}/eviction"), eviction).await
    }
}

fn with_api<F: Future<Output = ()>>(test: impl FnOnce(Api) -> F + Send) {
    with_server(|server, run| test(Api { server, run }));
}

fn binding(pod: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": {"kind": "Node", "name": node}})
}

#[test]
fn a_pod_tolerates_lost_nodes_for_as_long_as_the_builder_says() {
    for (seconds, expected) in [(None, [300, 300]), (Some((20, 0)), [20, 0])] {
        simulate(Seed(1), |run| async move {
            let server = ApiServer::builder(run.clock, run.seed.stream("api"));
            let server = match seconds {
                Some((not_ready, unreachable)) => server.default_tolerations(not_ready, unreachable),
                None => server,
            };
            let pod = Api { server: server.build(), run }.pod("p", "", None).await;
            let tolerations = pod["spec"]["tolerations"].as_array().unwrap();
            let seconds = tolerations.iter().map(|each| each["tolerationSeconds"].as_u64().unwrap());
            assert!(seconds.eq(expected), "{tolerations:?}");
            assert_eq!(tolerations[1]["key"], "node.kubernetes.io/unreachable");
        });
    }
}

#[test]
fn a_pod_is_bound_once() {
    with_api(|api| async move {
        for (name, path) in
            [("a", format!("{PODS}/a/binding")), ("b", "/api/v1/namespaces/default/bindings".into())]
        {
            api.pod(name, "", None).await;
            let (status, answer) = api.ask("POST", &path, binding(name, "n1")).await;
            assert_eq!((status, &answer["status"], &answer["code"]), (201, &json!("Success"), &json!(201)));
            let pod = api.good("GET", &format!("{PODS}/{name}"), Value::Null).await;
            assert_eq!(pod["spec"]["nodeName"], "n1");
            assert_eq!(pod["status"]["conditions"][0]["type"], "PodScheduled");
            let (status, answer) = api.ask("POST", &path, binding(name, "n2")).await;
            let message = format!(
                "Operation cannot be fulfilled on pods/binding {name:?}: pod {name} is already assigned to node \"n1\""
            );
            assert_eq!(
                (status, &answer["reason"], &answer["message"]),
                (409, &json!("Conflict"), &json!(message))
            );
        }
        let (status, _) = api.ask("POST", &format!("{PODS}/none/binding"), binding("none", "n1")).await;
        assert_eq!(status, 404);
    });
}

#[test]
fn a_budget_that_allows_nothing_keeps_its_pods() {
    with_api(|api| async move {
        api.pod("p", "n1", Some(true)).await;
        api.budget(0).await;
        let (status, answer) = api.evict("p", Value::Null).await;
        assert_eq!((status, &answer["reason"]), (429, &json!("TooManyRequests")));
        let cause = json!({"reason": "DisruptionBudget", "message": "The disruption budget b needs 1 healthy pods and has 1 currently"});
        assert_eq!(answer["details"]["causes"], json!([cause]));
        let pod = api.good("GET", &format!("{PODS}/p"), Value::Null).await;
        assert!(pod["metadata"]["deletionTimestamp"].is_null());
    });
}

#[test]
fn an_eviction_takes_one_from_the_budget() {
    with_api(|api| async move {
        api.pod("p", "n1", Some(true)).await;
        api.budget(1).await;
        let dry = api.evict("p", json!({"dryRun": ["All"]})).await.0;
        let budget = api.good("GET", &format!("{BUDGETS}/b"), Value::Null).await;
        assert_eq!((dry, &budget["status"]["disruptionsAllowed"]), (201, &json!(1)));
        assert_eq!(api.evict("p", Value::Null).await.0, 201);
        let budget = api.good("GET", &format!("{BUDGETS}/b"), Value::Null).await;
        assert_eq!(budget["status"]["disruptionsAllowed"], 0);
        assert!(budget["status"]["disruptedPods"]["p"].is_string());
        let pod = api.good("GET", &format!("{PODS}/p"), Value::Null).await;
        assert!(pod["metadata"]["deletionTimestamp"].is_string());
        let condition = &pod["status"]["conditions"][1];
        assert_eq!(
            (&condition["type"], &condition["reason"]),
            (&json!("DisruptionTarget"), &json!("EvictionByEvictionAPI"))
        );
    });
}

#[test]
fn a_pod_without_disruption_is_evicted_despite_its_budget() {
    with_api(|api| async move {
        api.pod("waiting", "", None).await;
        api.pod("broken", "n1", Some(false)).await;
        api.budget(0).await;
        assert_eq!(api.evict("waiting", Value::Null).await.0, 201);
        // The pod is not ready, and the ready pods are enough without it.
        assert_eq!(api.evict("broken", Value::Null).await.0, 201);
        assert_eq!(api.evict("none", Value::Null).await.0, 404);
    });
}

#[test]
fn preconditions_of_an_eviction_are_those_of_its_delete() {
    with_api(|api| async move {
        api.pod("p", "n1", Some(true)).await;
        let (status, answer) = api.evict("p", json!({"preconditions": {"uid": "other"}})).await;
        assert_eq!((status, &answer["reason"]), (409, &json!("Conflict")));
    });
}

#[test]
fn grace_is_counted_from_the_first_delete_and_only_shrinks() {
    with_api(|api| async move {
        api.pod("p", "n1", None).await;
        let path = format!("{PODS}/p");
        let seconds = |pod: &Value| pod["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap();
        let end = |pod: &Value| {
            pod["metadata"]["deletionTimestamp"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap()
        };
        let first = api.good("DELETE", &path, Value::Null).await;
        assert_eq!((seconds(&first), &first["metadata"]["generation"]), (30, &json!(2)));
        api.run.clock.sleep(Duration::from_secs(5)).await;
        let longer = api.good("DELETE", &path, json!({"gracePeriodSeconds": 60})).await;
        assert_eq!(longer["metadata"], first["metadata"]);
        let shorter = api.good("DELETE", &path, json!({"gracePeriodSeconds": 10})).await;
        assert_eq!(seconds(&shorter), 10);
        assert_eq!(end(&first).duration_since(end(&shorter)).as_secs(), 20);
        assert_eq!(shorter["metadata"]["generation"], 2);
        let negative = api.good("DELETE", &path, json!({"gracePeriodSeconds": -1})).await;
        assert_eq!(seconds(&negative), 1);
        api.good("DELETE", &path, json!({"gracePeriodSeconds": 0})).await;
        assert_eq!(api.ask("GET", &path, Value::Null).await.0, 404);
    });
}

#[test]
fn a_pod_without_a_node_is_removed_at_once_and_returned_as_terminating() {
    with_api(|api| async move {
        api.pod("p", "", None).await;
        let gone = api.good("DELETE", &format!("{PODS}/p"), json!({"gracePeriodSeconds": 5})).await;
        assert_eq!(gone["metadata"]["deletionGracePeriodSeconds"], 0);
        assert_eq!(gone["metadata"]["generation"], 2);
        assert_eq!(api.ask("GET", &format!("{PODS}/p"), Value::Null).await.0, 404);
    });
}

#[test]
fn a_resize_changes_resources_and_nothing_else() {
    with_api(|api| async move {
        let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i",
            "resources": {"requests": {"cpu": "0.5"}}}]}});
        let created = api.good("POST", PODS, pod).await;
        assert_eq!(created["spec"]["containers"][0]["resources"]["requests"]["cpu"], "500m");
        let mut wanted = created.clone();
        wanted["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1000m".into();
        wanted["spec"]["containers"][0]["image"] = "other".into();
        let (status, _) = api.ask("PUT", &format!("{PODS}/p"), wanted.clone()).await;
        assert_eq!(status, 422);
        let resized = api.good("PUT", &format!("{PODS}/p/resize"), wanted.clone()).await;
        let container = &resized["spec"]["containers"][0];
        assert_eq!(
            (&container["resources"]["requests"]["cpu"], &container["image"]),
            (&json!("1"), &json!("i"))
        );
        wanted["metadata"]["resourceVersion"] = resized["metadata"]["resourceVersion"].clone();
        wanted["spec"]["containers"][0]["resources"] = json!({});
        let (status, answer) = api.ask("PUT", &format!("{PODS}/p/resize"), wanted).await;
        assert_eq!((status, &answer["details"]["causes"][0]["field"]), (422, &json!("spec")));
    });
}

#[test]
fn a_pod_has_the_priority_of_its_class() {
    with_api(|api| async move {
        let pod = |name: &str, class: &str| {
            json!({"metadata": {"name": name}, "spec": {"priorityClassName": class,
            "containers": [{"name": "c", "image": "i"}]}})
        };
        let class = json!({"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"});
        api.good("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", class).await;
        let high = api.good("POST", PODS, pod("a", "high")).await;
        assert_eq!(
            (&high["spec"]["priority"], &high["spec"]["preemptionPolicy"]),
            (&json!(1000), &json!("Never"))
        );
        let system = api.good("POST", PODS, pod("b", "system-node-critical")).await;
        assert_eq!(system["spec"]["priority"], 2_000_001_000);
        let (status, answer) = api.ask("POST", PODS, pod("c", "none")).await;
        let message = "pods \"c\" is forbidden: no PriorityClass with name none was found";
        assert_eq!((status, &answer["message"]), (403, &json!(message)));
    });
}

#[test]
fn subresources_that_need_a_kubelet_are_refused() {
    with_api(|api| async move {
        api.pod("waiting", "", None).await;
        api.good("POST", "/api/v1/nodes", json!({"metadata": {"name": "n1"}})).await;
        api.pod("placed", "n1", None).await;
        let table = [
            ("waiting/log", 204),
            ("waiting/exec", 400),
            ("placed/log", 500),
            ("placed/exec", 400),
            ("none/log", 404),
            ("waiting/proxy", 400),
            ("waiting/nothing", 404),
        ];
        for (path, expected) in table {
            assert_eq!(api.ask("GET", &format!("{PODS}/{path}"), Value::Null).await.0, expected, "{path}");
        }
    });
}
