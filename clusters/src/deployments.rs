//! Simulates the Deployments of a member: status follows spec, and replicas become ready.
//!
//! Failover can observe only this work of a member's controllers. There are no Pods. `nodes.rs` has the Nodes.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use capsize_clock::{Clock, Stream, whole_seconds};
use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource, ResourceExt};
use rand::RngExt;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The time between a change of a spec and its status.
/// This time stands for the Deployment controller and the kubelet.
const OBSERVED_AFTER: Duration = Duration::from_millis(100);

/// The pause before a failed request is repeated. Embedded API servers do not fail.
pub(crate) const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// The time that new replicas take to become ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartUp {
    /// A constant time.
    After(Duration),
    /// Drawn uniformly from this range, both ends included.
    Between(Duration, Duration),
    /// Replicas never become ready.
    Never,
}

impl StartUp {
    /// The time at which replicas that start now are ready; `None` for never.
    pub(crate) fn draw(self, now: Instant, chance: &mut Stream) -> Option<Instant> {
        match self {
            Self::After(duration) => Some(now + duration),
            Self::Between(least, most) if least < most => Some(now + chance.random_range(least..=most)),
            Self::Between(least, _) => Some(now + least),
            Self::Never => None,
        }
    }
}

impl fmt::Display for StartUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(after) => write!(f, "{}ms", after.as_millis()),
            Self::Between(least, most) => write!(f, "{}ms..{}ms", least.as_millis(), most.as_millis()),
            Self::Never => f.write_str("never"),
        }
    }
}

/// The text is not a start-up time such as `1500ms`, `100ms..300ms` or `never`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no start-up time: write 1500ms, 100ms..300ms or never")]
pub struct NoStartUp;

impl FromStr for StartUp {
    type Err = NoStartUp;

    fn from_str(text: &str) -> Result<Self, NoStartUp> {
        let length = |text: &str| {
            let millis = text.strip_suffix("ms").and_then(|number| number.parse().ok());
            millis.map(Duration::from_millis).ok_or(NoStartUp)
        };
        match text.split_once("..") {
            _ if text == "never" => Ok(Self::Never),
            Some((least, most)) => Ok(Self::Between(length(least)?, length(most)?)),
            None => Ok(Self::After(length(text)?)),
        }
    }
}

/// The start-up time of a member, which can change while the member runs.
#[derive(Clone, Debug)]
pub(crate) struct StartUpSetting(Arc<(Mutex<StartUp>, Notify)>);

impl StartUpSetting {
    pub(crate) fn new(start_up: StartUp) -> Self {
        Self(Arc::new((Mutex::new(start_up), Notify::new())))
    }

    pub(crate) fn set(&self, start_up: StartUp) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = start_up;
        self.0.1.notify_one();
    }

    pub(crate) fn get(&self) -> StartUp {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn changed(&self) {
        self.0.1.notified().await;
    }
}

/// The fields of a Deployment that the simulation reads. The other fields are not even deserialized.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "Deployment")]
struct ObservedDeployment {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    replicas: Option<i32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    observed_generation: Option<i64>,
    ready_replicas: Option<i32>,
}

/// The state of one Deployment.
struct SimulatedDeployment {
    deployment: ObservedDeployment,
    next: Step,
}

/// The next step of a Deployment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Copy the new spec to the status.
    Observe(Instant),
    /// Report the replicas as ready at the time; never if there is no time.
    Ready(Option<Instant>),
    /// Nothing: the status agrees with the spec.
    Settled,
}

impl Step {
    fn due(self) -> Option<Instant> {
        match self {
            Self::Observe(at) => Some(at),
            Self::Ready(at) => at,
            Self::Settled => None,
        }
    }
}

/// Updates the status of every Deployment of a member. Never returns.
///
/// With a `clock`, the status has conditions too, as people expect them.
pub(crate) async fn run_deployments(
    client: Client,
    clock: Option<Clock>,
    setting: StartUpSetting,
    mut chance: Stream,
) {
    let deployments: Api<ObservedDeployment> = Api::all(client.clone());
    let events = watcher::watcher(deployments, watcher::Config::default()).backoff(Steady);
    let mut events = pin!(events);
    let mut known: BTreeMap<(String, String), SimulatedDeployment> = BTreeMap::new();
    loop {
        let due = known.iter().filter_map(|(key, one)| Some((one.next.due()?, key.clone()))).min();
        tokio::select! {
            biased;
            event = events.next() => match event {
                Some(Ok(event)) => record(&mut known, event),
                // The watcher restarts itself; there is nothing to do while the API server is down.
                Some(Err(_)) => {}
                None => return,
            },
            () = setting.changed() => start_again(&mut known, setting.get(), &mut chance),
            () = sleep_until(due.as_ref().map(|(at, _)| *at)) => {
                let Some((at, key)) = due else { continue };
                if let Some(one) = known.get_mut(&key) {
                    step((&client, clock), one, || setting.get().draw(at, &mut chance)).await;
                }
            }
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn record(known: &mut BTreeMap<(String, String), SimulatedDeployment>, event: Event<ObservedDeployment>) {
    match event {
        Event::Apply(deployment) | Event::InitApply(deployment) => {
            let key = (deployment.namespace().unwrap_or_default(), deployment.name_any());
            let before = known.get(&key).map(|one| (one.deployment.metadata.generation, one.next));
            let next = match before {
                Some((generation, next)) if generation == deployment.metadata.generation => next,
                _ if observed(&deployment) => Step::Settled,
                _ => Step::Observe(Instant::now() + OBSERVED_AFTER),
            };
            known.insert(key, SimulatedDeployment { deployment, next });
        }
        Event::Delete(deployment) => {
            known.remove(&(deployment.namespace().unwrap_or_default(), deployment.name_any()));
        }
        Event::Init | Event::InitDone => {}
    }
}

/// Returns true if the status agrees with the spec, including ready replicas.
fn observed(deployment: &ObservedDeployment) -> bool {
    let status = &deployment.status;
    status.observed_generation == deployment.metadata.generation
        && status.ready_replicas.unwrap_or(0) == wanted(deployment)
}

fn wanted(deployment: &ObservedDeployment) -> i32 {
    deployment.spec.replicas.unwrap_or(1)
}

/// Replicas that would never become ready draw a new time when the setting changes.
fn start_again(
    known: &mut BTreeMap<(String, String), SimulatedDeployment>,
    start_up: StartUp,
    chance: &mut Stream,
) {
    for one in known.values_mut().filter(|one| one.next == Step::Ready(None)) {
        one.next = Step::Ready(start_up.draw(Instant::now(), chance));
    }
}

/// Executes the due step of a Deployment. `ready_at` draws the time at which new replicas become ready.
async fn step(
    (client, clock): (&Client, Option<Clock>),
    one: &mut SimulatedDeployment,
    ready_at: impl FnOnce() -> Option<Instant>,
) {
    let wanted = wanted(&one.deployment);
    let before = one.deployment.status.ready_replicas.unwrap_or(0);
    let (ready, next) = match one.next {
        Step::Observe(_) if before < wanted => (before, Step::Ready(ready_at())),
        _ => (wanted, Step::Settled),
    };
    one.next = next;
    let mut status = status(one.deployment.metadata.generation, wanted, ready.min(wanted));
    if let Some(clock) = clock {
        status["conditions"] = conditions(clock, ready >= wanted, next == Step::Ready(None));
    }
    let api: Api<ObservedDeployment> =
        Api::namespaced(client.clone(), &one.deployment.namespace().unwrap_or_default());
    let patch = json!({ "status": status });
    let name = one.deployment.name_any();
    match api.patch_status(&name, &PatchParams::default(), &Patch::Merge(patch)).await {
        Ok(deployment) => one.deployment = deployment,
        // A Deployment that was deleted meanwhile needs no status.
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        // If the API server is down, the request is repeated later.
        Err(_) => one.next = Step::Observe(Instant::now() + AGAIN_AFTER),
    }
}

/// The conditions of a Deployment, whose replicas are available, on their way, or never ready.
fn conditions(clock: Clock, is_available: bool, is_stuck: bool) -> serde_json::Value {
    let now = whole_seconds(clock.now());
    let condition = |kind: &str, holds: bool, reason: &str, message: &str| {
        json!({"type": kind, "status": if holds { "True" } else { "False" }, "reason": reason, "message": message,
            "lastUpdateTime": now, "lastTransitionTime": now})
    };
    let available = match is_available {
        true => condition("Available", true, "MinimumReplicasAvailable", "all replicas are ready"),
        false => condition("Available", false, "MinimumReplicasUnavailable", "some replicas are not ready"),
    };
    let never = "replicas never become ready in this member: its start-up time is `never`";
    let progressing = match (is_available, is_stuck) {
        (true, _) => condition("Progressing", true, "NewReplicaSetAvailable", "all replicas are ready"),
        (false, true) => condition("Progressing", false, "ProgressDeadlineExceeded", never),
        (false, false) => condition("Progressing", true, "ReplicaSetUpdated", "replicas are starting"),
    };
    json!([available, progressing])
}

/// A constant pause between attempts to restart a watch.
pub(crate) struct Steady;

impl Iterator for Steady {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(AGAIN_AFTER)
    }
}

impl Backoff for Steady {
    fn reset(&mut self) {}
}

/// A Deployment's status with `ready` of `wanted` replicas ready.
/// Zero is written as null: real controllers omit such counts, and a merge patch removes the field.
fn status(generation: Option<i64>, wanted: i32, ready: i32) -> serde_json::Value {
    let count = |number: i32| (number > 0).then_some(number);
    json!({
        "observedGeneration": generation,
        "replicas": count(wanted),
        "updatedReplicas": count(wanted),
        "readyReplicas": count(ready),
        "availableReplicas": count(ready),
        "unavailableReplicas": count(wanted - ready),
    })
}

#[cfg(test)]
mod tests {
    use capsize_apiserver::ApiServer;
    use capsize_clock::{Seed, simulate};
    use kube::api::PostParams;

    use super::*;
    use crate::link::{Link, LinkFault};

    #[test]
    fn replicas_become_ready_though_the_api_server_was_away_when_they_should_have() {
        simulate(Seed(1), |run| async move {
            let api = ApiServer::builder(run.clock, run.seed.stream("api")).build();
            let link = Link::new(run.clock, run.seed.stream("link"));
            let setting = StartUpSetting::new(StartUp::After(Duration::from_secs(1)));
            let (client, chance) = (link.wrap(api.service()).client(), run.seed.stream("start-up"));
            let mut tasks = tokio::task::JoinSet::new();
            tasks.spawn(run_deployments(client, None, setting, chance));
            let deployments: Api<Deployment> = Api::namespaced(api.client(), "default");
            let labels = json!({"app": "web"});
            let template = json!({"metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]}});
            let spec = json!({"selector": {"matchLabels": labels}, "template": template});
            let web = serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": spec})).unwrap();
            deployments.create(&PostParams::default(), &web).await.unwrap();
            run.clock.sleep(OBSERVED_AFTER * 2).await;
            let away = link.apply(LinkFault::Refuse);
            run.clock.sleep(Duration::from_secs(60)).await;
            drop(away);
            run.clock.sleep(Duration::from_secs(3)).await;
            let status = deployments.get_status("web").await.unwrap().status.unwrap();
            assert_eq!(status.ready_replicas, Some(1));
        });
    }

    #[test]
    fn a_start_up_time_is_read_as_it_is_written() {
        let millis = Duration::from_millis;
        for start_up in
            [StartUp::After(millis(1500)), StartUp::Between(millis(1), millis(20)), StartUp::Never]
        {
            assert_eq!(start_up.to_string().parse(), Ok(start_up));
        }
        for wrong in ["", "1500", "1s", "never..1ms", "-1ms"] {
            assert_eq!(wrong.parse::<StartUp>(), Err(NoStartUp), "{wrong}");
        }
    }
}
