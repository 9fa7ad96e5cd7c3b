//! Simulates the Pods that people create in a member: they become ready, or a condition says why not.
//!
//! Only fleets for people have them. Failover looks at Deployments, whose Pods are not simulated.

use std::pin::pin;

use capsize_clock::{Clock, Stream, whole_seconds};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::deployments::{StartUp, StartUpSetting, Steady};

/// The fields of a Pod that the simulation reads. The other fields are not even deserialized.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "Pod")]
struct StartingPod {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    containers: Vec<Container>,
}

#[derive(Clone, Debug, Deserialize)]
struct Container {
    name: String,
    image: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Option<Vec<IgnoredAny>>,
}

/// Starts every Pod of a member after the time in `setting`. Never returns.
pub(crate) async fn run_pods(client: Client, clock: Clock, setting: StartUpSetting, mut chance: Stream) {
    let events = watcher::watcher(Api::<StartingPod>::all(client.clone()), watcher::Config::default());
    let mut events = pin!(events.backoff(Steady));
    let mut starting = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            event = events.next() => match event {
                Some(Ok(Event::Apply(pod) | Event::InitApply(pod))) if is_new(&pod) => {
                    let ready_at = setting.get().draw(Instant::now(), &mut chance);
                    report(&client, &pod, status(&pod, clock, false, setting.get())).await;
                    if let Some(ready_at) = ready_at {
                        starting.push(async move {
                            sleep_until(ready_at).await;
                            pod
                        });
                    }
                }
                Some(_) => {}
                None => return,
            },
            Some(pod) = starting.next() => report(&client, &pod, status(&pod, clock, true, setting.get())).await,
        }
    }
}

/// Returns true if nobody has reported anything about the Pod yet.
fn is_new(pod: &StartingPod) -> bool {
    pod.status.conditions.as_ref().is_none_or(Vec::is_empty)
}

/// Writes the status.
/// A Pod that was deleted meanwhile needs none, and a failed request leaves the Pod as it is.
async fn report(client: &Client, pod: &StartingPod, status: Value) {
    let pods: Api<StartingPod> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    let patch = Patch::Merge(json!({"status": status}));
    let _ = pods.patch_status(&pod.name_any(), &PatchParams::default(), &patch).await;
}

/// The status of a Pod that is ready, or that is starting.
fn status(pod: &StartingPod, clock: Clock, is_ready: bool, start_up: StartUp) -> Value {
    let now = whole_seconds(clock.now());
    let why = match start_up {
        StartUp::Never => "containers never become ready in this member: its start-up time is `never`",
        _ => "containers are starting",
    };
    let condition = |kind: &str, holds: bool| match holds {
        true => json!({"type": kind, "status": "True", "lastTransitionTime": now}),
        false => json!({"type": kind, "status": "False", "reason": "ContainersNotReady", "message": why,
            "lastTransitionTime": now}),
    };
    let containers = &pod.spec.containers;
    let containers: Vec<Value> = containers
        .iter()
        .map(|container| {
            let state = match is_ready {
                true => json!({"running": {"startedAt": now}}),
                false => json!({"waiting": {"reason": "ContainerCreating"}}),
            };
            json!({"name": container.name, "image": container.image.clone().unwrap_or_default(), "imageID": "",
                "ready": is_ready, "restartCount": 0, "started": is_ready, "state": state})
        })
        .collect();
    json!({
        "phase": if is_ready { "Running" } else { "Pending" },
        "startTime": now,
        "conditions": [
            condition("PodScheduled", true),
            condition("Initialized", true),
            condition("ContainersReady", is_ready),
            condition("Ready", is_ready),
        ],
        "containerStatuses": containers,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capsize_apiserver::ApiServer;
    use capsize_clock::{Seed, simulate};
    use kube::api::PostParams;
    use tokio::task::JoinSet;

    use super::*;

    /// The status and the message of the condition `Ready` of a Pod after 10 s.
    fn ready(start_up: StartUp) -> (String, Option<String>) {
        simulate(Seed(1), |run| async move {
            let api = ApiServer::builder(run.clock, run.seed.stream("api")).build();
            let (setting, chance) = (StartUpSetting::new(start_up), run.seed.stream("pods"));
            let mut tasks = JoinSet::new();
            tasks.spawn(run_pods(api.client(), run.clock, setting, chance));
            let pods: Api<Pod> = Api::namespaced(api.client(), "default");
            let pod = json!({"metadata": {"name": "web"},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]}});
            pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
            run.clock.sleep(Duration::from_secs(10)).await;
            let conditions = pods.get("web").await.unwrap().status.unwrap().conditions.unwrap();
            let ready = conditions.into_iter().find(|condition| condition.type_ == "Ready").unwrap();
            (ready.status, ready.message)
        })
    }

    #[test]
    fn a_pod_becomes_ready_or_says_why_not() {
        assert_eq!(ready(StartUp::After(Duration::from_secs(2))), ("True".to_owned(), None));
        let (status, message) = ready(StartUp::Never);
        assert_eq!(status, "False");
        assert!(message.unwrap().contains("its start-up time is `never`"));
    }
}
