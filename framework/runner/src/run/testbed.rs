//! Starts the fleet or the cluster with nodes that a case runs on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use capsize_clock::{Seed, Simulation};
use capsize_clusters::{
    Admission, Builder, Cluster, ClusterSpec, Delay, Fleet, FleetSpec, Member, MemberSpec, NodeSpec,
    Provider, Stages, StartUp, SyncMode,
};
use capsize_history::FileValue;
use capsize_sorted::CollectSorted;

use super::case::Target;
use super::driver::{Driver, StepError};
use super::implementation::{Implementation, ImplementationInfo};
use super::run_state::Eviction;
use super::steps::by_dialect::writer_of;
use super::subject::Subject;
use crate::objects::{karmada as objects, neutral};
use crate::scenario::{Case, ClusterShape, Length, StartUpTime, Step};
use capsize_history::facts::{Health, World};
use capsize_judge::profile::{Feature, Profile, Timings};

/// The fleet, and the cluster with nodes if the case uses one.
pub(super) struct Testbed {
    pub(super) fleet: Fleet,
    pub(super) cluster: Option<Cluster>,
    /// The longest finite time that a replica takes to become ready.
    pub(super) start_up: Duration,
    /// The admission of the control plane, if the case changes it.
    pub(super) admission: Option<AdmissionSlot>,
}

/// The admission of the control plane, which an upgrade replaces.
#[derive(Clone)]
pub(super) struct AdmissionSlot {
    admission: Arc<Mutex<Admission>>,
    seed: Seed,
}

impl AdmissionSlot {
    /// The admission that calls the one in the slot.
    fn admission(&self) -> Admission {
        let slot = Arc::clone(&self.admission);
        Arc::new(move |request| {
            let admission = Arc::clone(&slot.lock().unwrap_or_else(PoisonError::into_inner));
            admission(request)
        })
    }

    /// Replaces the admission by that of another release, with random numbers of its own.
    pub(super) fn replace(&self, by: &dyn Implementation, timings: &Timings) {
        if let Some(admission) = by.admission(timings, self.seed.derive("upgrade")) {
            *self.admission.lock().unwrap_or_else(PoisonError::into_inner) = admission;
        }
    }
}

pub(super) async fn start_testbed(
    run: Simulation,
    case: &Case,
    target: Target<'_>,
    info: &ImplementationInfo,
) -> Result<Testbed, StepError> {
    // Programs outside of this process must authenticate, and get the same answers as from a real API server.
    let set_up = |server: Builder| match info.is_outside {
        true => server.track_updates(true).authentication(true),
        false => server.repeat_bookmarks(false),
    };
    start_testbed_with(run, case, target, (info.provider.as_deref(), false), &set_up).await
}

/// Starts a testbed as [`start_testbed`] does, with API servers that `set_up` has configured.
/// The members are those of `provider`, if there is one. The flag `is_for_people` says whether people look at the
/// members.
pub(super) async fn start_testbed_with(
    run: Simulation,
    case: &Case,
    target: Target<'_>,
    (provider, is_for_people): (Option<&dyn Provider>, bool),
    set_up: &dyn Fn(Builder) -> Builder,
) -> Result<Testbed, StepError> {
    let Target { profile, implementation } = target;
    if let Some(shape) = &case.scenario.cluster {
        let start_up = start_up(shape.value.start_up.as_ref(), profile)?;
        let after = start_up.and_then(|start_up| match start_up {
            StartUp::After(after) => Some(after),
            _ => None,
        });
        let mut spec = cluster_spec(&shape.value, after, profile.timings.status_update_frequency);
        spec.collects_pods_out_of_service = profile.is_at_least(OUT_OF_SERVICE_TAINT);
        let not_ready = profile.timings.not_ready_toleration_seconds.as_secs();
        let unreachable = profile.timings.unreachable_toleration_seconds.as_secs();
        let set_up = |server: Builder| set_up(server.default_tolerations(not_ready, unreachable));
        let cluster = Cluster::start_with(run, &spec, set_up);
        let fleet = Fleet::alone(run, cluster.api().clone());
        let start_up = after.unwrap_or_default();
        return Ok(Testbed { fleet, cluster: Some(cluster), start_up, admission: None });
    }
    let mut spec = fleet_spec(case, profile)?;
    spec.members.iter_mut().for_each(|member| member.is_for_people = is_for_people);
    let start_up = spec.members.iter().map(|member| longest(member.start_up)).max().unwrap_or_default();
    let admission = implementation.admission(&profile.timings, run.seed);
    let upgrades = case.scenario.steps().any(|step| matches!(step.value.inner(), Step::Upgrade(_)));
    let slot = admission
        .clone()
        .filter(|_| upgrades)
        .map(|admission| AdmissionSlot { admission: Arc::new(Mutex::new(admission)), seed: run.seed });
    let admission = slot.as_ref().map(AdmissionSlot::admission).or(admission);
    let fleet = match provider {
        None => Fleet::embedded_with(run, &spec, admission, set_up),
        Some(provider) => {
            let fleet = Fleet::external(run, &spec, admission, set_up, provider).await;
            fleet.map_err(|error| StepError::Broken(error.to_string()))?
        }
    };
    Ok(Testbed { fleet, cluster: None, start_up, admission: slot })
}

fn fleet_spec(case: &Case, profile: &Profile) -> Result<FleetSpec, StepError> {
    let fleet = &case.scenario.fleet;
    let start_up = start_up(fleet.start_up.as_ref(), profile)?;
    let member = |name: String| {
        let mut member = placed_member(case, name);
        member.start_up = start_up.unwrap_or(member.start_up);
        // Members with leases report by themselves, whatever the scenario says.
        let reports = profile.has(Feature::LeaseHeartbeats);
        if reports || fleet.pull.iter().any(|pull| pull.value == member.name) {
            member.sync = SyncMode::Pull;
        }
        member.has_api_faults = case.scenario.troubles_members();
        member.nodes = fleet.nodes.get(&member.name).map_or(member.nodes, |nodes| nodes.value);
        member
    };
    Ok(FleetSpec { members: fleet.names().map(member).collect() })
}

/// A member at its place, with defaults for all else.
pub(super) fn placed_member(case: &Case, name: String) -> MemberSpec {
    let fleet = &case.scenario.fleet;
    let place =
        |places: &BTreeMap<String, FileValue<String>>| places.get(&name).map(|place| place.value.clone());
    let (provider, region, zone) = (place(&fleet.providers), place(&fleet.regions), place(&fleet.zones));
    MemberSpec { provider, region, zone, ..MemberSpec::named(name) }
}

/// The time that replicas take to become ready, if the scenario sets one.
fn start_up(time: Option<&StartUpTime>, profile: &Profile) -> Result<Option<StartUp>, StepError> {
    let resolve = |length: &Length| {
        let resolved = length.resolve(&profile.timings);
        resolved
            .ok_or_else(|| StepError::Broken(format!("the target {} has no timing `{length}`", profile.name)))
    };
    Ok(match time {
        None => None,
        Some(StartUpTime::Never) => Some(StartUp::Never),
        Some(StartUpTime::After(length)) => Some(StartUp::After(resolve(length)?)),
    })
}

fn longest(start_up: StartUp) -> Duration {
    match start_up {
        StartUp::After(after) => after,
        StartUp::Between(_, most) => most,
        StartUp::Never => Duration::ZERO,
    }
}

/// The first release of Kubernetes whose garbage collector of pods acts on the taint `out-of-service`.
const OUT_OF_SERVICE_TAINT: &str = "1.24";

/// The start-up time of a pod that never becomes ready: longer than any run.
const NEVER: Duration = Duration::from_secs(366 * 86_400);

/// The specification of a cluster of this shape.
/// Pods take `start_up` to become ready, and kubelets renew their Leases once per `heartbeat`.
fn cluster_spec(shape: &ClusterShape, start_up: Option<Duration>, heartbeat: Duration) -> ClusterSpec {
    let node = |(name, zone): (String, Option<&str>)| {
        let region = zone.and_then(|zone| shape.regions.get(zone)).map(|region| region.value.clone());
        let labels = shape.labels_of(&name, zone);
        let joins_later = shape.later.iter().any(|later| later.value == name);
        let zone = zone.map(str::to_owned);
        let mut spec = NodeSpec { region, zone, labels, joins_later, ..NodeSpec::default() };
        let room = shape.room.iter().map(|(resource, amount)| (resource.clone(), amount.value.clone()));
        spec.room.extend(room);
        (name, spec)
    };
    let default = Stages::default();
    let start = match (&shape.start_up, start_up) {
        (Some(StartUpTime::Never), _) => Delay::Always(NEVER),
        (_, Some(start_up)) => Delay::Always(start_up),
        (_, None) => default.start,
    };
    let stages = Stages { start, heartbeat, ..default };
    ClusterSpec { nodes: shape.places().map(node).collect_sorted(), stages, ..ClusterSpec::default() }
}

impl Driver<'_> {
    /// Registers a member that is not part of the fleet yet.
    pub(super) async fn join(&self, name: &str) -> Result<(), StepError> {
        self.mark("join", &[(self.member_word(), name)]);
        match self.cluster {
            Some(cluster) => {
                cluster.join(name);
                Ok(())
            }
            None => self.register(self.member(name)?).await,
        }
    }

    /// Creates the object of `member`, and the secret that programs need to reach it.
    async fn register(&self, member: &Member) -> Result<(), StepError> {
        if let Some(writer) = writer_of(self.profile) {
            return self.perform(writer, &neutral::join(member.spec(), self.profile)).await;
        }
        let mut cluster = objects::cluster(member.spec());
        if self.sockets.is_some_and(|sockets| sockets.agent(member.name()).is_some()) {
            return self.complete_cluster(cluster).await;
        }
        if let Some(reached) = self.sockets.and_then(|sockets| sockets.member(member.name())) {
            let secret = objects::secret_of(member.spec(), reached.authority(), reached.token());
            self.create(&objects::secrets(), secret).await?;
            objects::reach_by_secret(&mut cluster, reached.endpoint());
        }
        self.create(&objects::clusters(), cluster).await
    }

    /// Registers the members of the fleet with the control plane.
    /// The function then waits until every member is ready and free of taints.
    pub(super) async fn join_members(&self) -> Result<(), StepError> {
        self.check_watched().await?;
        for member in self.fleet.members().filter(|member| !self.scenario.joins_later(member.name())) {
            self.register(member).await?;
        }
        let (names, wait_limits) = (self.scenario.members(), self.wait_limits().taint(false));
        for name in names.iter().filter(|name| !self.scenario.joins_later(name)) {
            let what = format!("{name} is ready and free of taints");
            let subject = Subject::Member(name.clone());
            let joined = |world: &World, _: &[Eviction]| {
                world
                    .members
                    .get(name)
                    .is_some_and(|member| member.health == Some(Health::Ready) && member.taints.is_empty())
            };
            self.until(what, subject, wait_limits, joined).await?;
        }
        // From here on, the scheduler has observed the members as they are.
        self.clock.sleep(self.profile.timings.latency * 2).await;
        Ok(())
    }
}
