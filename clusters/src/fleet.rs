//! A fleet: a control plane, which is an embedded API server, and its members.
//!
//! Members are embedded too, or external and started by a provider.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use capsize_apiserver::{AdmissionRequest, ApiServer, Backup, Builder, StopGuard};
use capsize_clock::{Clock, Seed, Simulation};
use capsize_sorted::CollectSorted;
use kube::Client;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::agent_switch::AgentSwitch;
use crate::api_faults::ApiFaults;
use crate::deployments::{self, StartUp, StartUpSetting};
use crate::external::{Machine, Provider, ProviderError, RemoteMember, Workloads};
use crate::link::{Link, LinkFault, LinkGuard};
use crate::{nodes, pods};

/// The admission in the control plane, which runs in process.
/// `Ok(Some(object))` replaces the sent object, and `Err` refuses it.
pub type Admission = Arc<dyn Fn(&AdmissionRequest<'_>) -> Result<Option<Value>, String> + Send + Sync>;

/// The description of a fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetSpec {
    /// The members. Their names are unique.
    pub members: Vec<MemberSpec>,
}

/// The description of one member cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberSpec {
    /// The name of the member in the control plane.
    pub name: String,
    /// The region of the member, if it has one.
    pub region: Option<String>,
    /// The zone of the member, if it has one.
    pub zone: Option<String>,
    /// The cloud provider of the member, if it has one.
    pub provider: Option<String>,
    /// The labels of the Cluster object of the member.
    pub labels: BTreeMap<String, String>,
    /// The number of Nodes.
    pub nodes: usize,
    /// The time until replicas become ready.
    pub start_up: StartUp,
    /// The side that opens the connections.
    pub sync: SyncMode,
    /// True if API faults of the member can be injected into requests of the control plane.
    /// If requests use sockets, an HTTP proxy then parses them; otherwise bytes are only relayed.
    pub has_api_faults: bool,
    /// True if people look at the member: Pods become ready, and Deployments have conditions.
    pub is_for_people: bool,
}

/// The side that opens the connections between the control plane and a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// The control plane connects to the API server of the member.
    #[default]
    Push,
    /// An agent in the member connects to the control plane.
    Pull,
}

impl MemberSpec {
    /// A member called `name` with one Node, whose replicas are ready after 1.5 s.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            region: None,
            zone: None,
            provider: None,
            labels: BTreeMap::new(),
            nodes: 1,
            start_up: StartUp::After(Duration::from_millis(1500)),
            sync: SyncMode::Push,
            has_api_faults: false,
            is_for_people: false,
        }
    }
}

/// A control plane and its members. Dropping it stops the simulated workloads in the members.
pub struct Fleet {
    control_plane: ApiServer,
    api_faults: ApiFaults,
    members: BTreeMap<String, Member>,
}

impl Fleet {
    /// Starts a fleet of embedded API servers on the current runtime.
    /// The clock of `run` is the control plane's.
    #[must_use]
    pub fn embedded(run: Simulation, spec: &FleetSpec, admission: Option<Admission>) -> Self {
        Self::embedded_with(run, spec, admission, |server| server)
    }

    /// As [`Self::embedded`], with API servers that `set_up` has configured.
    #[must_use]
    pub fn embedded_with(
        run: Simulation,
        spec: &FleetSpec,
        admission: Option<Admission>,
        set_up: impl Fn(Builder) -> Builder,
    ) -> Self {
        let control_plane =
            ApiServer::builder(run.clock, run.seed.stream("control-plane")).name("control-plane");
        let control_plane = match admission {
            Some(admission) => control_plane.admission(admission),
            None => control_plane,
        };
        let members = spec.members.iter().map(|spec| (spec.name.clone(), Member::start(run, spec, &set_up)));
        let (members, api_faults) = (members.collect_sorted(), ApiFaults::new(run.clock));
        Self { members, api_faults, control_plane: set_up(control_plane).build() }
    }

    /// As [`Self::embedded_with`], with members that `provider` starts.
    /// Needs a tokio runtime with I/O, so it cannot run in a simulation.
    ///
    /// # Errors
    /// If a member does not start, or cannot be reached.
    pub async fn external(
        run: Simulation,
        spec: &FleetSpec,
        admission: Option<Admission>,
        set_up: impl Fn(Builder) -> Builder,
        provider: &dyn Provider,
    ) -> Result<Self, ProviderError> {
        let fleet = Self::embedded_with(run, &FleetSpec::default(), admission, set_up);
        let started = provider.start(run, &spec.members).await?;
        let mut members = BTreeMap::new();
        for (spec, external) in spec.members.iter().zip(started) {
            let (run, link) = Member::simulation_and_link(run, spec);
            let (api_faults, start_up) = (ApiFaults::new(run.clock), StartUpSetting::new(spec.start_up));
            let workloads = match provider.are_bare() {
                true => Workloads::Local(run, spec, start_up.clone()),
                false => Workloads::Remote(start_up.clone()),
            };
            let passed = spec.has_api_faults.then_some(&api_faults);
            let external = RemoteMember::reach(external, &link, passed, workloads).await?;
            let place = Place::External(Box::new(external));
            let (own_link, agent) = Member::own_link_and_agent(run, spec);
            let (spec, clock) = (spec.clone(), run.clock);
            let member = Member { spec, clock, link, own_link, agent, api_faults, start_up, place };
            members.insert(member.spec.name.clone(), member);
        }
        Ok(Self { members, ..fleet })
    }

    /// A single cluster without members.
    #[must_use]
    pub fn alone(run: Simulation, control_plane: ApiServer) -> Self {
        Self { control_plane, api_faults: ApiFaults::new(run.clock), members: BTreeMap::new() }
    }

    /// The API server of the control plane.
    #[must_use]
    pub fn control_plane(&self) -> &ApiServer {
        &self.control_plane
    }

    /// The faults of the API server of the control plane.
    #[must_use]
    pub fn api_faults(&self) -> &ApiFaults {
        &self.api_faults
    }

    /// A client that reaches the control plane as its controllers do, with API faults.
    #[must_use]
    pub fn controllers_client(&self) -> Client {
        Client::new(self.api_faults.wrap(self.control_plane.service()), "default")
    }

    /// Returns a client that reaches the control plane as the agent in `member` does.
    /// The requests of the client go over the link, and API faults apply to the requests.
    #[must_use]
    pub fn client_from(&self, member: &Member) -> Client {
        member.link.wrap_back(self.api_faults.wrap(self.control_plane.service())).client()
    }

    /// The member called `name`.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.get(name)
    }

    /// The members in the order of their names.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }
}

/// One member cluster: its API server, the link to it, and its workloads.
pub struct Member {
    spec: MemberSpec,
    clock: Clock,
    link: Link,
    /// The way of the agent to the API server of its own member.
    own_link: Link,
    agent: AgentSwitch,
    api_faults: ApiFaults,
    start_up: StartUpSetting,
    place: Place,
}

/// A member that is unreachable.
#[derive(Debug)]
#[must_use = "the member is reachable again when the guard is dropped"]
#[expect(dead_code, reason = "what is held is undone when it is dropped")]
pub struct ShutOff(LinkGuard, Option<StopGuard>);

/// The place where a member runs.
enum Place {
    /// In this process.
    Embedded {
        api: ApiServer,
        remote: Client,
        run: Simulation,
        workloads: Mutex<JoinSet<()>>,
    },
    External(Box<RemoteMember>),
}

impl Member {
    fn start(run: Simulation, spec: &MemberSpec, set_up: impl Fn(Builder) -> Builder) -> Self {
        let (run, link) = Self::simulation_and_link(run, spec);
        let api = set_up(ApiServer::builder(run.clock, seed_of(run, spec).stream("api")).name(&spec.name));
        let (api, start_up) = (api.build(), StartUpSetting::new(spec.start_up));
        let api_faults = ApiFaults::new(run.clock);
        let remote = link.wrap(api_faults.wrap(api.service())).client();
        let workloads = Mutex::new(run_workloads(run, spec, &api.client(), start_up.clone()));
        let place = Place::Embedded { api, remote, run, workloads };
        let (own_link, agent) = Self::own_link_and_agent(run, spec);
        Self { spec: spec.clone(), clock: run.clock, link, own_link, agent, api_faults, start_up, place }
    }

    fn own_link_and_agent(run: Simulation, spec: &MemberSpec) -> (Link, AgentSwitch) {
        (Link::new(run.clock, seed_of(run, spec).stream("own-link")), AgentSwitch::default())
    }

    /// The simulation of a member, with its own clock, and the link to the member.
    fn simulation_and_link(run: Simulation, spec: &MemberSpec) -> (Simulation, Link) {
        let run = Simulation { clock: run.clock.apart(), ..run };
        (run, Link::new(run.clock, seed_of(run, spec).stream("link")))
    }

    /// The clock of the member's machines.
    /// Its API server, workloads and agent use this clock, if they run in this process.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The name of the member.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The description of the member.
    #[must_use]
    pub fn spec(&self) -> &MemberSpec {
        &self.spec
    }

    /// A client that reaches the member without the link and observes its true state during every fault.
    #[must_use]
    pub fn client(&self) -> Client {
        match &self.place {
            Place::Embedded { api, .. } => api.client(),
            Place::External(external) => external.client(),
        }
    }

    /// As [`Self::client`], but its watches continue when the member is restored from a backup.
    #[must_use]
    pub fn restore_observer(&self) -> Client {
        match &self.place {
            Place::Embedded { api, .. } => api.restore_observer(),
            Place::External(external) => external.client(),
        }
    }

    /// A backup of the member's API server, if it is in this process.
    #[must_use]
    pub fn backup(&self) -> Option<Backup> {
        self.api().map(ApiServer::backup)
    }

    /// Makes the member unreachable, from the control plane and from inside, until the guard is dropped.
    pub fn shut_off(&self) -> ShutOff {
        ShutOff(self.link.apply(LinkFault::Refuse), self.api().map(ApiServer::stop))
    }

    /// Restores the member's API server from `backup`, and restarts its workloads.
    /// Watches end without any other notice.
    pub fn restore(&self, backup: &Backup) {
        if let Some(api) = self.api() {
            api.restore(backup);
            self.set_workloads(true);
        }
    }

    /// Stops the member's workloads, and wipes its API server.
    pub fn lose_all(&self) {
        if let Some(api) = self.api() {
            self.set_workloads(false);
            api.wipe();
        }
    }

    /// Restarts the member's workloads.
    pub fn begin_anew(&self) {
        self.set_workloads(true);
    }

    fn set_workloads(&self, goes_on: bool) {
        if let Place::Embedded { api, run, workloads, .. } = &self.place {
            let mut workloads = workloads.lock().unwrap_or_else(PoisonError::into_inner);
            *workloads = JoinSet::new();
            if goes_on {
                *workloads = run_workloads(*run, &self.spec, &api.client(), self.start_up.clone());
            }
        }
    }

    /// The member's API server, if it is in this process.
    #[must_use]
    pub fn api(&self) -> Option<&ApiServer> {
        match &self.place {
            Place::Embedded { api, .. } => Some(api),
            Place::External(_) => None,
        }
    }

    /// The machine of an external member.
    #[must_use]
    pub fn machine(&self) -> Option<&dyn Machine> {
        self.external().map(RemoteMember::machine)
    }

    /// The connections to an external member.
    pub(crate) fn external(&self) -> Option<&RemoteMember> {
        match &self.place {
            Place::Embedded { .. } => None,
            Place::External(external) => Some(external),
        }
    }

    /// The link between the control plane and the member.
    #[must_use]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// The way of the agent in the member to the API server of the member.
    /// Only its faults affect the agent.
    #[must_use]
    pub fn own_link(&self) -> &Link {
        &self.own_link
    }

    /// The switch of the agent in the member. It has no effect on agents whose runner does not obey it.
    #[must_use]
    pub fn agent(&self) -> &AgentSwitch {
        &self.agent
    }

    /// A client that reaches the member as its agent does, over the way of its own.
    #[must_use]
    pub fn client_of_agent(&self) -> Client {
        match &self.place {
            Place::Embedded { api, .. } => self.own_link.wrap(api.service()).client(),
            Place::External(external) => external.client(),
        }
    }

    /// The API faults of the member. They have no effect unless [`MemberSpec::has_api_faults`] is set.
    #[must_use]
    pub fn api_faults(&self) -> &ApiFaults {
        &self.api_faults
    }

    /// A client that reaches the member as the control plane does, over the link and with API faults.
    #[must_use]
    pub fn remote_client(&self) -> Client {
        match &self.place {
            Place::Embedded { remote, .. } => remote.clone(),
            Place::External(external) => external.remote_client(),
        }
    }

    /// The current time until replicas become ready.
    #[must_use]
    pub fn start_up(&self) -> StartUp {
        self.start_up.get()
    }

    /// Changes the time until replicas become ready.
    /// Replicas that would never become ready draw a new time.
    pub fn set_start_up(&self, start_up: StartUp) {
        self.start_up.set(start_up);
    }
}

/// The seed of a member.
pub(crate) fn seed_of(run: Simulation, spec: &MemberSpec) -> Seed {
    run.seed.derive(&spec.name)
}

/// Simulates the Deployments and Nodes of a member, until the tasks are dropped.
pub(crate) fn run_workloads(
    run: Simulation,
    spec: &MemberSpec,
    client: &Client,
    start_up: StartUpSetting,
) -> JoinSet<()> {
    let names = (1..=spec.nodes).map(|number| format!("{}-node-{number}", spec.name)).collect();
    let mut tasks = JoinSet::new();
    let chance = seed_of(run, spec).stream("start-up");
    if spec.is_for_people {
        let pods_chance = seed_of(run, spec).stream("pods");
        tasks.spawn(pods::run_pods(client.clone(), run.clock, start_up.clone(), pods_chance));
    }
    let clock = spec.is_for_people.then_some(run.clock);
    tasks.spawn(deployments::run_deployments(client.clone(), clock, start_up, chance));
    tasks.spawn(nodes::run_nodes(client.clone(), run.clock, names));
    tasks
}
