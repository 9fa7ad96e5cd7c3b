//! A simulated fleet with the reference controllers, and queries for tests.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use capsize_apiserver::AdmissionRequest;
use capsize_clock::{Clock, Seed, Simulation, simulate};
use capsize_clusters::{Fleet, FleetSpec, Member, MemberSpec};
use capsize_controllers::api::{Cluster, PropagationPolicy, ResourceBinding, Work, crds};
use capsize_controllers::rules::{ReferenceRules, Rules};
use capsize_controllers::{
    Controllers, MemberClients, Metrics, RunningControllers, Settings, Write, admit, with_time_limit,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// The fleet and its controllers.
pub(crate) struct World {
    pub(crate) clock: Clock,
    pub(crate) client: Client,
    fleet: Fleet,
    settings: Settings,
    rules: Arc<dyn Rules>,
    probes: BTreeMap<String, Arc<AtomicUsize>>,
    controllers: Option<RunningControllers>,
}

struct Remotes(BTreeMap<String, Client>);

impl MemberClients for Remotes {
    fn client(&self, cluster: &Cluster, timeout: Duration) -> Option<Client> {
        self.0.get(&cluster.name_any()).map(|client| with_time_limit(client.clone(), timeout, None))
    }
}

/// The client, with a count of the probes of its member.
fn counted(client: Client, probes: Arc<AtomicUsize>) -> Client {
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        probes.fetch_add(usize::from(request.uri().path() == "/readyz"), Ordering::Relaxed);
        let client = client.clone();
        async move { client.send(request).await }
    });
    Client::new(service, "default")
}

/// Runs a test in a fleet of members m1 to m5, with default timings.
pub(crate) fn world<F, Fut, T>(seed: u64, test: F) -> T
where
    F: FnOnce(World) -> Fut + Send,
    Fut: Future<Output = T>,
    T: Send,
{
    simulate(Seed(seed), |run| async move { test(World::start(run).await).await })
}

impl World {
    async fn start(run: Simulation) -> Self {
        let settings = Settings::default();
        let for_admission = settings.clone();
        let admission = Arc::new(move |request: &AdmissionRequest<'_>| match request.object {
            Some(object) => {
                let write = Write::of(request.kind, request.operation, object, request.old);
                admit(&for_admission, &ReferenceRules, write)
            }
            None => Ok(None),
        });
        let names = ["m1", "m2", "m3", "m4", "m5"];
        let fleet = Fleet::embedded(
            run,
            &FleetSpec { members: names.map(MemberSpec::named).into() },
            Some(admission),
        );
        let definitions = crds().iter().map(|crd| serde_json::to_value(crd).unwrap()).collect();
        fleet.control_plane().install(definitions).unwrap();
        let client = fleet.control_plane().client();
        let (rules, probes) =
            (Arc::new(ReferenceRules), names.map(|name| (name.to_owned(), Arc::default())).into());
        let mut world = Self { clock: run.clock, client, fleet, settings, rules, probes, controllers: None };
        world.restart();
        for name in names {
            let cluster = serde_json::from_value(json!({
                "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
                "metadata": {"name": name}, "spec": {"syncMode": "Push"},
            }));
            world.all::<Cluster>().create(&PostParams::default(), &cluster.unwrap()).await.unwrap();
        }
        // A workload that is scheduled before all members are ready goes to those that are.
        let ready = || async {
            let clusters = world.all::<Cluster>().list(&Default::default()).await.unwrap().items;
            clusters.iter().all(|cluster| cluster.is_ready() && cluster.spec.taints.is_empty())
        };
        world.until("all members are ready", 60, ready).await;
        world
    }

    /// Stops the controllers at once, and starts new ones with these flags.
    pub(crate) fn restart_with(&mut self, settings: Settings) {
        self.settings = settings;
        self.restart();
    }

    /// Stops the controllers at once, and starts new ones with these rules.
    pub(crate) fn restart_with_rules(&mut self, rules: Arc<dyn Rules>) {
        self.rules = rules;
        self.restart();
    }

    /// Stops the controllers at once, and starts new ones.
    pub(crate) fn restart(&mut self) {
        let remotes = self.fleet.members().map(|member| {
            let name = member.name().to_owned();
            let client = counted(member.remote_client(), Arc::clone(&self.probes[&name]));
            (name, client)
        });
        self.controllers = None;
        let controllers = Controllers {
            client: self.client.clone(),
            members: Arc::new(Remotes(remotes.collect())),
            clock: self.clock,
            settings: self.settings.clone(),
            rules: Arc::clone(&self.rules),
            metrics: Metrics::default(),
        };
        self.controllers = Some(controllers.start());
    }

    /// The number of probes of the member so far.
    pub(crate) fn probes(&self, member: &str) -> usize {
        self.probes[member].load(Ordering::Relaxed)
    }

    pub(crate) fn member(&self, name: &str) -> &Member {
        self.fleet.member(name).unwrap()
    }

    fn all<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = ()>,
    {
        Api::all(self.client.clone())
    }

    /// Makes a Deployment called `web` and a policy for it.
    pub(crate) async fn deploy(&self, replicas: i32, placement: Value) {
        let policy = json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
                "placement": placement,
            },
        });
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
                },
            },
        });
        let policies = Api::<PropagationPolicy>::namespaced(self.client.clone(), "default");
        policies.create(&PostParams::default(), &serde_json::from_value(policy).unwrap()).await.unwrap();
        let deployments = Api::<Deployment>::namespaced(self.client.clone(), "default");
        let deployment = serde_json::from_value(deployment).unwrap();
        deployments.create(&PostParams::default(), &deployment).await.unwrap();
    }

    /// Makes `count` `ConfigMap`s, and a policy that places them on m1 and m2.
    pub(crate) async fn configure(&self, count: usize) {
        let policy = json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"name": "settings", "namespace": "default"},
            "spec": {
                "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap",
                    "labelSelector": {"matchLabels": {"app": "web"}}}],
                "placement": {"clusterAffinity": {"clusterNames": ["m1", "m2"]}},
            },
        });
        let policies = Api::<PropagationPolicy>::namespaced(self.client.clone(), "default");
        policies.create(&PostParams::default(), &serde_json::from_value(policy).unwrap()).await.unwrap();
        let maps = Api::<ConfigMap>::namespaced(self.client.clone(), "default");
        for number in 0..count {
            let mut map = ConfigMap::default();
            map.metadata.name = Some(format!("settings-{number}"));
            map.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
            maps.create(&PostParams::default(), &map).await.unwrap();
        }
    }

    /// The number of bindings that have the member as a target.
    pub(crate) async fn bound_to(&self, member: &str) -> usize {
        let bindings = self.all::<ResourceBinding>().list(&Default::default()).await.unwrap().items;
        let there = |binding: &&ResourceBinding| binding.spec.clusters.iter().any(|one| one.name == member);
        bindings.iter().filter(there).count()
    }

    /// Patches the Deployment `web` on the control plane.
    pub(crate) async fn change_template(&self, patch: &Value) {
        let api = Api::<Deployment>::namespaced(self.client.clone(), "default");
        api.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn binding(&self) -> Option<ResourceBinding> {
        let api = Api::<ResourceBinding>::namespaced(self.client.clone(), "default");
        api.get_opt("web-deployment").await.unwrap()
    }

    /// The targets of `web` with their replicas, by name.
    pub(crate) async fn placed(&self) -> Vec<(String, i32)> {
        let binding = self.binding().await;
        let targets = binding.into_iter().flat_map(|binding| binding.spec.clusters);
        let mut placed: Vec<_> = targets.map(|target| (target.name, target.replicas)).collect();
        placed.sort();
        placed
    }

    /// The clusters that `web` is leaving.
    pub(crate) async fn leaving(&self) -> Vec<String> {
        let binding = self.binding().await;
        binding
            .into_iter()
            .flat_map(|binding| binding.spec.graceful_eviction_tasks)
            .map(|task| task.from_cluster)
            .collect()
    }

    pub(crate) async fn work(&self, member: &str) -> Option<Work> {
        let api = Api::<Work>::namespaced(self.client.clone(), &format!("karmada-es-{member}"));
        api.list(&Default::default()).await.unwrap().items.pop()
    }

    /// Whether the control plane reports `web` as healthy in the member.
    pub(crate) async fn healthy(&self, member: &str) -> bool {
        let binding = self.binding().await;
        let status = binding.and_then(|binding| binding.status).unwrap_or_default();
        let report = status.aggregated_status.into_iter().find(|report| report.cluster_name == member);
        report.is_some_and(|report| report.health == capsize_controllers::api::Health::Healthy)
    }

    /// `web` as it is in the member, whatever link is broken.
    pub(crate) async fn actual_copy(&self, member: &str) -> Option<Deployment> {
        let api = Api::<Deployment>::namespaced(self.member(member).client(), "default");
        api.get_opt("web").await.unwrap()
    }

    /// The member's taints as `key:effect`, by the last part of the key.
    pub(crate) async fn taints(&self, member: &str) -> Vec<String> {
        let cluster = self.all::<Cluster>().get(member).await.unwrap();
        let short = |taint: k8s_openapi::api::core::v1::Taint| {
            format!("{}:{}", taint.key.rsplit('/').next().unwrap_or_default(), taint.effect)
        };
        cluster.spec.taints.into_iter().map(short).collect()
    }

    /// Sets a taint of this effect on the member, or takes it away, as a person would.
    pub(crate) async fn set_taint(&self, member: &str, effect: Option<&str>) {
        let taint =
            |effect| json!({"key": "by-hand", "effect": effect, "timeAdded": self.clock.now_in_seconds()});
        let taints: Vec<Value> = effect.into_iter().map(taint).collect();
        let patch = Patch::Merge(json!({"spec": {"taints": taints}}));
        self.all::<Cluster>().patch(member, &PatchParams::default(), &patch).await.unwrap();
    }

    /// All Karmada objects on the control plane, with their versions, which show the order of the writes.
    pub(crate) async fn all_objects(&self) -> String {
        let clusters = self.all::<Cluster>().list(&Default::default()).await.unwrap();
        let bindings = self.all::<ResourceBinding>().list(&Default::default()).await.unwrap();
        let works = self.all::<Work>().list(&Default::default()).await.unwrap();
        serde_json::to_string(&(clusters.items, bindings.items, works.items)).unwrap()
    }

    pub(crate) async fn cluster(&self, member: &str) -> Option<Cluster> {
        self.all::<Cluster>().get_opt(member).await.unwrap()
    }

    pub(crate) async fn sleep(&self, seconds: u64) {
        self.clock.sleep(Duration::from_secs(seconds)).await;
    }

    /// Waits until the condition holds, and returns how many seconds that took. Checks five times a second.
    pub(crate) async fn until<F, Fut>(&self, about: &str, within_seconds: u64, holds: F) -> f64
    where
        F: Fn() -> Fut,
        Fut: Future<Output = bool>,
    {
        let start = self.clock.elapsed();
        while !holds().await {
            let waited = self.clock.elapsed() - start;
            assert!(waited <= Duration::from_secs(within_seconds), "not within {within_seconds} s: {about}");
            self.clock.sleep(Duration::from_millis(200)).await;
        }
        (self.clock.elapsed() - start).as_secs_f64()
    }
}

/// Two of m1, m2, m3 and m5, each with all replicas.
pub(crate) fn two_of_four() -> Value {
    json!({
        "clusterAffinity": {"clusterNames": ["m1", "m2", "m3", "m5"]},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
        "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
    })
}

/// m1 and m2, in a ratio of one to two.
pub(crate) fn one_to_two() -> Value {
    json!({
        "clusterAffinity": {"clusterNames": ["m1", "m2"]},
        "replicaScheduling": {
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": [
                {"targetCluster": {"clusterNames": ["m1"]}, "weight": 1},
                {"targetCluster": {"clusterNames": ["m2"]}, "weight": 2},
            ]},
        },
    })
}
