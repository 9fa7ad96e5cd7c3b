//! A fleet in this process: a control plane and its members, each an embedded API server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capsize_apiserver::{AdmissionRequest, ApiServer, Builder};
use capsize_clock::Simulation;
use kube::Client;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::inside::{self, StartUp, StartUpSetting};
use crate::link::Link;
use crate::nodes;

/// Admission in the control plane, in process: `Ok(Some(object))` changes what was sent, `Err` refuses it.
pub type Admission = Arc<dyn Fn(&AdmissionRequest<'_>) -> Result<Option<Value>, String> + Send + Sync>;

/// What a fleet is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetSpec {
    /// The members. Their names are unique.
    pub members: Vec<MemberSpec>,
}

/// One member cluster to be.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberSpec {
    /// Its name, as the control plane will know it.
    pub name: String,
    /// The region that it stands in, if that matters.
    pub region: Option<String>,
    /// Its zone.
    pub zone: Option<String>,
    /// Who runs it.
    pub provider: Option<String>,
    /// Labels of its Cluster object.
    pub labels: BTreeMap<String, String>,
    /// How many Nodes it has.
    pub nodes: usize,
    /// How long replicas take to become ready in it.
    pub start_up: StartUp,
    /// Who reaches out to whom.
    pub sync: SyncMode,
}

/// Who reaches out to whom, of the control plane and a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// The control plane, to the member's API server.
    #[default]
    Push,
    /// An agent in the member, to the control plane.
    Pull,
}

impl MemberSpec {
    /// A member called `name`: one Node, and replicas that are ready after 1.5 s.
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
        }
    }
}

/// A control plane and its members. Dropping it stops all that runs inside the members.
pub struct Fleet {
    control_plane: ApiServer,
    members: BTreeMap<String, Member>,
}

impl Fleet {
    /// Starts a fleet of embedded API servers on the current runtime.
    #[must_use]
    pub fn embedded(run: Simulation, spec: &FleetSpec, admission: Admission) -> Self {
        Self::embedded_with(run, spec, admission, |server| server)
    }

    /// As [`Self::embedded`], with API servers that `set_up` has had a say in.
    #[must_use]
    pub fn embedded_with(
        run: Simulation,
        spec: &FleetSpec,
        admission: Admission,
        set_up: impl Fn(Builder) -> Builder,
    ) -> Self {
        let control_plane = ApiServer::builder(run.clock, run.seed.stream("control-plane"))
            .name("control-plane")
            .admission(admission);
        let members = spec.members.iter().map(|spec| (spec.name.clone(), Member::start(run, spec, &set_up)));
        Self { members: members.collect(), control_plane: set_up(control_plane).build() }
    }

    /// A cluster that has no members: what goes on is in itself.
    #[must_use]
    pub fn alone(control_plane: ApiServer) -> Self {
        Self { control_plane, members: BTreeMap::new() }
    }

    /// The API server of the control plane.
    #[must_use]
    pub fn control_plane(&self) -> &ApiServer {
        &self.control_plane
    }

    /// A client that reaches the control plane as what runs in `member` does, through the link.
    #[must_use]
    pub fn client_from(&self, member: &Member) -> Client {
        member.link.wrap_back(self.control_plane.service()).client()
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

/// One member cluster: its API server, the link to it, and what goes on inside.
pub struct Member {
    spec: MemberSpec,
    api: ApiServer,
    link: Link,
    remote: Client,
    start_up: StartUpSetting,
    _inside: JoinSet<()>,
}

impl Member {
    fn start(run: Simulation, spec: &MemberSpec, set_up: impl Fn(Builder) -> Builder) -> Self {
        let seed = run.seed.derive(&spec.name);
        let api = set_up(ApiServer::builder(run.clock, seed.stream("api")).name(&spec.name)).build();
        let link = Link::new(run.clock);
        let start_up = StartUpSetting::new(spec.start_up);
        let remote = link.wrap(api.service()).client();
        let mut inside = JoinSet::new();
        inside.spawn(inside::run_deployments(api.client(), start_up.clone(), seed.stream("start-up")));
        inside.spawn(nodes::run_nodes(api.client(), run.clock, node_names(spec)));
        Self { spec: spec.clone(), api, link, remote, start_up, _inside: inside }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// What it was made from.
    #[must_use]
    pub fn spec(&self) -> &MemberSpec {
        &self.spec
    }

    /// Its API server, reached without the link: what is seen here is true whatever fault is in force.
    #[must_use]
    pub fn api(&self) -> &ApiServer {
        &self.api
    }

    /// The link between the control plane and it.
    #[must_use]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// A client that reaches it as the control plane does, through the link.
    #[must_use]
    pub fn remote_client(&self) -> Client {
        self.remote.clone()
    }

    /// How long replicas take to become ready at present.
    #[must_use]
    pub fn start_up(&self) -> StartUp {
        self.start_up.get()
    }

    /// Changes how long replicas take to become ready from now on. Those that never would draw again.
    pub fn set_start_up(&self, start_up: StartUp) {
        self.start_up.set(start_up);
    }
}

fn node_names(spec: &MemberSpec) -> Vec<String> {
    (1..=spec.nodes).map(|number| format!("{}-node-{number}", spec.name)).collect()
}
