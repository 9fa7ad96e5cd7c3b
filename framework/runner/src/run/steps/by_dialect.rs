//! Performs the steps of scenarios as the dialect of the target expresses them.
//! The dialect is a dialect that is data.

use std::time::Duration;

use capsize_history::dialect::{DialectKind, NeutralStep, StepWrite, StepWriter, WriteTarget};
use capsize_history::facts::Health;
use capsize_judge::profile::{Feature, Profile};
use http::Request;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use serde_json::{Value, json};

use super::objects::kind_of;
use crate::objects::neutral;
use crate::record::of_control_plane;
use crate::run::api_error::error_text;
use crate::run::driver::{Driver, StepError};
use crate::run::testbed::placed_member;
use crate::scenario::{Case, ConnectionFault, Disturbance, Manifest, Place, Step, Taint, Toleration};

/// How often a patch is made anew because the object has changed since it was read.
const CONFLICTS: usize = 5;

/// How the target expresses steps, if its dialect is data and has a section `steps`.
pub(in crate::run) fn writer_of(profile: &Profile) -> Option<&dyn StepWriter> {
    match &profile.dialect {
        DialectKind::Data(data) => data.program()?.step_writer(),
        DialectKind::Karmada | DialectKind::Nodes => None,
    }
}

/// The first part of `case` that `writer` cannot express, to be read after "the target lacks".
pub(in crate::run) fn inexpressible(
    case: &Case,
    writer: &dyn StepWriter,
    profile: &Profile,
) -> Option<String> {
    let join = |name| writer.inexpressible(&neutral::join(&placed_member(case, name), profile));
    let mut names = case.scenario.fleet.names();
    if let Some(lacks) = not_reported(case, writer, profile).filter(|_| profile.has(Feature::LeaseHeartbeats))
    {
        return Some(lacks.to_owned());
    }
    let mut steps = case.scenario.steps().map(|step| step.value.inner());
    let lacks = names.find_map(join).or_else(|| steps.find_map(|step| lacking(step, writer, profile)));
    lacks.map(|lacks| format!("{lacks} in its dialect"))
}

/// The reason why members that report by themselves do not become NotReady in `case`, which expects so.
///
/// Such members turn Unknown if they are cut off. Only a member whose own API server fails may report that it is not ready.
fn not_reported(case: &Case, writer: &dyn StepWriter, profile: &Profile) -> Option<&'static str> {
    let has_one_key = writer.taint_key("not-ready") == writer.taint_key("unreachable");
    let expects = |what: fn(&Step) -> bool| case.scenario.steps().any(|step| what(step.value.inner()));
    let expects_taint = expects(|step| matches!(step, Step::Tainted(tainted) if tainted.key == "not-ready"));
    let expects_health =
        expects(|step| matches!(step, Step::Health(health) if health.is == Health::NotReady));
    let own_api_fails = case.scenario.has_connection_fault(|fault| matches!(fault, ConnectionFault::OwnApi));
    let reads = profile.dialect.program().is_some_and(|dialect| dialect.reads(Health::NotReady));
    if own_api_fails && (expects_taint || expects_health) {
        return (!reads).then_some("the health NotReady");
    }
    (expects_health || expects_taint && !has_one_key).then_some("probes of members by the control plane")
}

/// The part of one step that `writer` cannot express.
/// Members that are not known before the run have an empty name.
fn lacking(step: &Step, writer: &dyn StepWriter, profile: &Profile) -> Option<String> {
    let taint = |taint: &Taint, add| {
        let now = jiff::Timestamp::UNIX_EPOCH;
        writer.inexpressible(&neutral::taint(taint, add, "", &writer.taint_key(&taint.key), now))
    };
    let another = |name: &str| Some(format!("the step `{name}`"));
    let health_taint = |key: &str| {
        let lacks = ["not-ready", "unreachable"].contains(&key) && !writer.has_taint_key(key);
        lacks.then(|| format!("a key for the taint `{key}` in `taintKeys`"))
    };
    match step {
        Step::Tainted(step) | Step::Untainted(step) => health_taint(&step.key),
        Step::NotTainted(step) => health_taint(&step.key),
        Step::TaskEnded(step) if step.announced => Some("events".to_owned()),
        Step::Workload(workload) => {
            let lasting = workload.policy.tolerations.iter().map(|each| lasts(each, profile));
            let lasting: Vec<Option<Duration>> = lasting.collect();
            writer.inexpressible(&neutral::workload(workload, &lasting, |key| writer.taint_key(key)))
        }
        Step::Scale(scale) => writer.inexpressible(&neutral::scale(scale)),
        Step::Taint(step) => taint(step, true),
        Step::Untaint(step) => taint(step, false),
        Step::DeleteMember(_) => writer.inexpressible(&neutral::delete_member("")),
        Step::Override(_) => another("override"),
        Step::Remedy(_) => another("remedy"),
        Step::Apply(step) => foreign(&step.to.value, &step.object.value, profile),
        Step::Delete(step) => foreign(&step.from.value, &step.object.value, profile),
        Step::Rejected(step) => foreign(&step.by.value, &step.object.value, profile),
        Step::Seen(step) | Step::Unseen(step) => foreign(&step.place.value, &step.object.value, profile),
        Step::SeenFor(step) | Step::UnseenFor(step) => {
            foreign(&step.place.value, &step.object.value, profile)
        }
        Step::Faults(windows) => windows.iter().find_map(|window| window_lacks(&window.value.fault.value)),
        _ => None,
    }
}

/// Returns the fault with an end, if no dialect can express such a fault.
/// No section says how a change of an object is undone.
fn window_lacks(fault: &Disturbance) -> Option<String> {
    let changes_objects = match fault {
        Disturbance::Taint(_) | Disturbance::Scale(_) | Disturbance::DeleteMember(_) => true,
        Disturbance::Apply(apply) => matches!(apply.to.value, Place::ControlPlane),
        Disturbance::Delete(delete) => matches!(delete.from.value, Place::ControlPlane),
        _ => false,
    };
    changes_objects.then(|| format!("the fault `{}`", fault.kind()))
}

/// Names the API version of an object in the control plane that is foreign to the dialect.
/// An object of an API that the dialect does not watch is one of another implementation. The kinds of Kubernetes count
/// as foreign, too.
fn foreign(place: &Place, object: &Manifest, profile: &Profile) -> Option<String> {
    if !matches!(place, Place::ControlPlane) {
        return None;
    }
    let version = object.api_version();
    // Each implementation uses the kinds of Kubernetes in its own way.
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let is_own = group.contains('.') && !group.ends_with(".k8s.io");
    let prefix = format!("/apis/{version}/");
    let watched = of_control_plane(&profile.dialect).iter().any(|path| path.starts_with(&prefix));
    (!is_own || !watched).then(|| format!("objects of {version} in the control plane"))
}

fn lasts(toleration: &Toleration, profile: &Profile) -> Option<Duration> {
    toleration.lasts.as_ref().and_then(|length| length.resolve(&profile.timings))
}

impl Driver<'_> {
    /// Checks that the control plane serves each kind that a dialect that is data watches there.
    /// The watch of a kind with a wrong plural would show nothing.
    pub(in crate::run) async fn check_watched(&self) -> Result<(), StepError> {
        if !matches!(self.profile.dialect, DialectKind::Data(_)) {
            return Ok(());
        }
        for path in of_control_plane(&self.profile.dialect) {
            let request = Request::get(format!("{path}?limit=1")).body(Vec::new());
            let request = request.map_err(|error| StepError::Broken(format!("{path}: {error}")))?;
            match self.client.request::<Value>(request).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    let kind = path.trim_start_matches("/apis/").trim_start_matches("/api/");
                    return Err(StepError::Broken(format!(
                        "the control plane does not serve {kind}, which `watch` of the dialect names: compare the version and the \
                         plural with the definitions, which `--definitions` names"
                    )));
                }
                Err(error) => return Err(StepError::Broken(format!("{path}: {}", error_text(&error)))),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Makes the writes that perform `step`.
    pub(in crate::run) async fn perform(
        &self,
        writer: &dyn StepWriter,
        step: &NeutralStep,
    ) -> Result<(), StepError> {
        if let Some(lacks) = writer.inexpressible(step) {
            let expected = format!("the dialect of the target expresses {lacks}");
            return Err(StepError::Unmet { expected, seen: "it does not".into() });
        }
        for write in writer.writes(step).map_err(StepError::Broken)? {
            match write {
                StepWrite::Create(object) => {
                    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
                    let kind = ApiResource::from_gvk(&kind_of(&text("apiVersion"), &text("kind")));
                    self.create(&kind, object).await?;
                }
                StepWrite::Patch { target, place } => self.patch(writer, step, (&target, place)).await?,
                StepWrite::Delete(target) => {
                    let deleted = self.api_of(&target).delete(&target.name, &DeleteParams::default()).await;
                    deleted.map_err(|error| refused("the deletion", &target, &error))?;
                }
            }
        }
        Ok(())
    }

    /// Changes an object.
    /// The change is made anew if the object has changed meanwhile, because it may replace a list.
    async fn patch(
        &self,
        writer: &dyn StepWriter,
        step: &NeutralStep,
        (target, place): (&WriteTarget, usize),
    ) -> Result<(), StepError> {
        let api = self.api_of(target);
        for attempt in 0.. {
            let present = api.get(&target.name).await;
            let present = present.map_err(|error| refused("a request", target, &error))?;
            let object = serde_json::to_value(&present);
            let object = object.map_err(|error| StepError::Broken(format!("internal error: {error}")))?;
            let mut patch = writer.patch(step, place, &object).map_err(StepError::Broken)?;
            patch["metadata"]["resourceVersion"] = json!(present.metadata.resource_version);
            match api.patch(&target.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
                Err(kube::Error::Api(status)) if status.is_conflict() && attempt < CONFLICTS => {}
                patched => return patched.map(drop).map_err(|error| refused("the change", target, &error)),
            }
        }
        Ok(())
    }

    fn api_of(&self, target: &WriteTarget) -> Api<DynamicObject> {
        let kind = ApiResource::from_gvk_with_plural(&kind_of(&target.api_version, ""), &target.plural);
        match &target.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &kind),
            None => Api::all_with(self.client.clone(), &kind),
        }
    }
}

fn refused(what: &str, target: &WriteTarget, error: &kube::Error) -> StepError {
    let expected = format!("the API server accepts {what} of {} {}", target.plural, target.name);
    StepError::Unmet { expected, seen: error_text(error) }
}
