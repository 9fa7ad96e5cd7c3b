//! The steps that change workloads, taints, members and controllers.

use capsize_clusters::StartUp;
use capsize_history::FaultKind;
use capsize_history::FileValue;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::by_dialect::writer_of;
use crate::nemesis::fault_mark;
use crate::objects::{karmada as objects, neutral, nodes as node_objects};
use crate::run::api_error::error_text;
use crate::run::driver::{Driver, StepError};
use crate::scenario::{Override, Remedy, Scale, StartUpTime, Taint, Upgrade, Workload};

/// The field manager of what is known of a member whose agent creates its object.
/// Steps that apply the object have another one, so that they do not remove these fields.
const REGISTRATION: &str = "capsize-registration";

impl Driver<'_> {
    pub(in crate::run) async fn workload(&mut self, workload: &Workload) -> Result<(), StepError> {
        let mut lasting = Vec::new();
        for toleration in &workload.policy.tolerations {
            let lasts = toleration.lasts.as_ref().map(|length| self.length(length)).transpose()?;
            self.tolerated = self.tolerated.max(lasts.unwrap_or_default());
            lasting.push(lasts);
        }
        self.mark("workload", &[("workload", &workload.name.value)]);
        if let Some(writer) = writer_of(self.profile) {
            let step = neutral::workload(workload, &lasting, |key| writer.taint_key(key));
            return self.perform(writer, &step).await;
        }
        let policy = objects::policy(workload, &lasting);
        self.create(&objects::policy_kind_of(workload), policy).await?;
        self.create(&objects::kind_of(workload), objects::workload(workload)).await
    }

    pub(in crate::run) async fn scale(&self, scale: &Scale) -> Result<(), StepError> {
        self.mark("scale", &[("workload", &scale.workload.value)]);
        if let Some(writer) = writer_of(self.profile) {
            return self.perform(writer, &neutral::scale(scale)).await;
        }
        let patch = json!({"spec": {"replicas": scale.to}});
        let api = self.api(&objects::deployments());
        let patched = api.patch(&scale.workload.value, &PatchParams::default(), &Patch::Merge(&patch)).await;
        patched.map(drop).map_err(|error| refused("the change of replicas", &error))
    }

    /// The number of replicas that the workload wants now.
    pub(in crate::run) async fn replicas(&self, scale: &Scale) -> Result<u32, StepError> {
        let template = self.api(&objects::deployments()).get(&scale.workload.value).await;
        let template = template.map_err(|error| refused("a request for the workload", &error))?;
        let replicas = template.data.pointer("/spec/replicas").and_then(Value::as_u64);
        Ok(replicas.and_then(|replicas| replicas.try_into().ok()).unwrap_or(1))
    }

    pub(in crate::run) async fn add_override(&self, step: &Override) -> Result<(), StepError> {
        let name = &step.workload.value;
        self.mark("override", &[("workload", name)]);
        let clusters = step.clusters.iter().map(|cluster| self.member_name(&cluster.value));
        let clusters = clusters.collect::<Result<Vec<_>, StepError>>()?;
        let policy = objects::image_override(name, &clusters, &step.image_tag);
        let api = self.api(&objects::override_policies());
        let present =
            api.get_opt(name).await.map_err(|error| refused("a request for the override", &error))?;
        if present.is_none() {
            return self.create(&objects::override_policies(), policy).await;
        }
        let change = json!({"spec": policy["spec"]});
        let changed = api.patch(name, &PatchParams::default(), &Patch::Merge(&change)).await;
        changed.map(drop).map_err(|error| refused("the change of the override", &error))
    }

    pub(in crate::run) async fn remedy(&self, step: &Remedy) -> Result<(), StepError> {
        let name = &step.name.value;
        self.mark("apply", &[("object", &format!("Remedy {name}"))]);
        let clusters = step.clusters.as_ref().map(|clusters| {
            clusters
                .iter()
                .map(|cluster| self.member_name(&cluster.value))
                .collect::<Result<Vec<_>, StepError>>()
        });
        let remedy = objects::remedy(step, clusters.transpose()?.as_deref());
        let api = Api::<DynamicObject>::all_with(self.client.clone(), &objects::remedies());
        let present = api.get_opt(name).await.map_err(|error| refused("a request for the Remedy", &error))?;
        if present.is_none() {
            return self.create(&objects::remedies(), remedy).await;
        }
        let change = Patch::Merge(json!({"spec": remedy["spec"]}));
        let changed = api.patch(name, &PatchParams::default(), &change).await;
        changed.map(drop).map_err(|error| refused("the change of the Remedy", &error))
    }

    pub(in crate::run) fn set_alias(&mut self, alias: &FileValue<String>, member: String) {
        self.mark("call", &[(self.member_word(), &member), ("as", &alias.value)]);
        self.aliases.insert(alias.value.clone(), member);
    }

    pub(in crate::run) async fn edit_taints(&mut self, taint: &Taint, add: bool) -> Result<(), StepError> {
        let name = self.resolve_member(&taint.cluster.value, taint.alias.as_ref())?;
        let key = self.taint_key(&taint.key);
        let effect = taint.effect.to_string();
        let step = if add { "taint" } else { "untaint" };
        self.mark(step, &[(self.member_word(), &name), ("key", &key), ("effect", &effect)]);
        if let Some(writer) = writer_of(self.profile) {
            let step = neutral::taint(taint, add, &name, &key, self.clock.steady());
            return self.perform(writer, &step).await;
        }
        let api = self.member_api();
        loop {
            let mut cluster =
                api.get(&name).await.map_err(|error| refused("a request for the member", &error))?;
            let taints = cluster.data.pointer("/spec/taints").and_then(Value::as_array);
            let other = |taint: &&Value| taint["key"] != key.as_str() || taint["effect"] != effect.as_str();
            let mut taints: Vec<Value> = taints.into_iter().flatten().filter(other).cloned().collect();
            if add {
                // The user works on another machine, whose clock is right.
                taints.push(objects::taint(&key, &effect, self.clock.steady()));
            }
            cluster.data["spec"]["taints"] = Value::Array(taints);
            match api.replace(&name, &PostParams::default(), &cluster).await {
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                result => return result.map(drop).map_err(|error| refused("the change of taints", &error)),
            }
        }
    }

    pub(in crate::run) async fn delete_member(&mut self, member: &str) -> Result<(), StepError> {
        self.mark("deleteMember", &[(self.member_word(), member)]);
        self.leftovers_allowed.insert(member.to_owned());
        if let Some(writer) = writer_of(self.profile) {
            return self.perform(writer, &neutral::delete_member(member)).await;
        }
        let deleted = self.member_api().delete(member, &DeleteParams::default()).await;
        deleted.map(drop).map_err(|error| refused("the deletion of a member", &error))
    }

    pub(in crate::run) fn set_start_up(
        &mut self,
        member: &str,
        takes: &StartUpTime,
    ) -> Result<(), StepError> {
        let start_up = match takes {
            StartUpTime::Never => StartUp::Never,
            StartUpTime::After(length) => {
                let after = self.length(length)?;
                self.start_up = self.start_up.max(after);
                StartUp::After(after)
            }
        };
        self.restore_start_up(member, start_up)
    }

    pub(in crate::run) fn restore_start_up(&self, member: &str, start_up: StartUp) -> Result<(), StepError> {
        self.member(member)?.set_start_up(start_up);
        self.mark("startUp", &[("cluster", member)]);
        Ok(())
    }

    pub(in crate::run) fn kill(&mut self) {
        self.end_rival();
        if self.controllers.kill() {
            self.log.mark(fault_mark(FaultKind::Kill, None, "begin"));
        }
    }

    pub(in crate::run) async fn start(&mut self) -> Result<(), StepError> {
        self.controllers.start().await.map_err(|error| StepError::Broken(error.to_string()))?;
        self.log.mark(fault_mark(FaultKind::Kill, None, "end"));
        Ok(())
    }

    /// Stops the controllers, and starts those of the other release, with its admission.
    /// The definitions stay.
    pub(in crate::run) async fn upgrade(&mut self, step: &Upgrade) -> Result<(), StepError> {
        self.kill();
        let next = self.controllers.upgrade(&step.from, &step.to);
        let next = next.ok_or_else(|| StepError::Broken("the target cannot be upgraded".into()))?;
        if let Some(admission) = &self.admission {
            admission.replace(&*next, &self.profile.timings);
        }
        self.mark("upgrade", &[("to", &step.to)]);
        self.start().await
    }

    pub(in crate::run) async fn create(
        &self,
        kind: &ApiResource,
        mut object: Value,
    ) -> Result<(), StepError> {
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).map(str::to_owned);
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.retain(|_, value| !value.is_null());
        }
        let object: DynamicObject = serde_json::from_value(object).map_err(|error| {
            StepError::Broken(format!("internal error: a generated object is invalid: {error}"))
        })?;
        let what = format!("the new {} {}", kind.kind, object.name_any());
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), &namespace, kind),
            None => Api::all_with(self.client.clone(), kind),
        };
        let created = api.create(&PostParams::default(), &object).await;
        created.map(drop).map_err(|error| refused(&what, &error))
    }

    /// Adds the fields of `cluster` to the object that the agent of the member creates, or creates it.
    pub(in crate::run) async fn complete_cluster(&self, mut cluster: Value) -> Result<(), StepError> {
        // The agent knows how its member is reached.
        if let Some(spec) = cluster["spec"].as_object_mut() {
            spec.remove("apiEndpoint");
        }
        let name = cluster["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let params = PatchParams::apply(REGISTRATION).force();
        let applied = self.member_api().patch(&name, &params, &Patch::Apply(&cluster)).await;
        applied.map(drop).map_err(|error| refused(&format!("the Cluster {name}"), &error))
    }

    /// The API of the objects that stand for members.
    fn member_api(&self) -> Api<DynamicObject> {
        let kind = if self.cluster.is_some() { node_objects::nodes() } else { objects::clusters() };
        Api::all_with(self.client.clone(), &kind)
    }

    fn api(&self, kind: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), objects::NAMESPACE, kind)
    }
}

fn refused(what: &str, error: &kube::Error) -> StepError {
    StepError::Unmet { expected: format!("the API server accepts {what}"), seen: error_text(error) }
}
