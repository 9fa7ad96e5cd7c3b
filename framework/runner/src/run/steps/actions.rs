//! The steps that do something.

use capsize_clusters::{Machine, NodeFault, StartUp};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use serde_saphyr::Spanned;
use tokio::task::JoinSet;

use crate::nemesis::{Fault, FaultGuard, break_node, breakdown_mark, fault_mark};
use crate::objects::{karmada as objects, nodes as node_objects};
use crate::run::driver::{Driver, Miss};
use crate::run::log::Log;
use crate::run::run_state::Eviction;
use crate::scenario::{self, Flap, How, Nuisance, Override, Scale, StartUpTime, Taint, Workload};

impl Driver<'_> {
    pub(in crate::run) async fn workload(&mut self, workload: &Workload) -> Result<(), Miss> {
        let mut lasting = Vec::new();
        for toleration in &workload.policy.tolerations {
            let lasts = toleration.lasts.as_ref().map(|length| self.length(length)).transpose()?;
            self.tolerated = self.tolerated.max(lasts.unwrap_or_default());
            lasting.push(lasts);
        }
        let policy = objects::policy(workload, &lasting);
        self.mark("workload", &[("workload", &workload.name.value)]);
        self.create(&objects::policy_kind_of(workload), policy).await?;
        self.create(&objects::kind_of(workload), objects::workload(workload)).await
    }

    pub(in crate::run) async fn scale(&self, scale: &Scale) -> Result<(), Miss> {
        self.mark("scale", &[("workload", &scale.workload.value)]);
        let patch = json!({"spec": {"replicas": scale.to}});
        let api = self.api(&objects::deployments());
        let patched = api.patch(&scale.workload.value, &PatchParams::default(), &Patch::Merge(&patch)).await;
        patched.map(drop).map_err(|error| refused("a change of replicas", &error))
    }

    /// How many replicas the workload that is to be scaled wants as it is.
    pub(in crate::run) async fn replicas(&self, scale: &Scale) -> Result<u32, Miss> {
        let template = self.api(&objects::deployments()).get(&scale.workload.value).await;
        let template = template.map_err(|error| refused("a look at the workload", &error))?;
        let replicas = template.data.pointer("/spec/replicas").and_then(Value::as_u64);
        Ok(replicas.and_then(|replicas| replicas.try_into().ok()).unwrap_or(1))
    }

    pub(in crate::run) async fn make_different(&self, step: &Override) -> Result<(), Miss> {
        let name = &step.workload.value;
        self.mark("override", &[("workload", name)]);
        let clusters = step.clusters.iter().map(|cluster| self.name(&cluster.value));
        let clusters = clusters.collect::<Result<Vec<_>, Miss>>()?;
        let policy = objects::image_override(name, &clusters, &step.image_tag);
        self.create(&objects::override_policies(), policy).await
    }

    pub(in crate::run) fn call(&mut self, alias: &Spanned<String>, member: String) {
        self.mark("call", &[(self.member_word(), &member), ("as", &alias.value)]);
        self.aliases.insert(alias.value.clone(), member);
    }

    /// Resolves the member that a step breaks, and names it.
    pub(in crate::run) fn target(
        &mut self,
        member: &scenario::MemberRef,
        alias: Option<&Spanned<String>>,
    ) -> Result<String, Miss> {
        let name = self.name(member)?;
        if let Some(alias) = alias {
            self.call(alias, name.clone());
        }
        Ok(name)
    }

    /// Resolves the members that a step breaks, and names the one if it is one.
    pub(in crate::run) fn victims(
        &mut self,
        victims: &scenario::Victims,
        alias: Option<&Spanned<String>>,
    ) -> Result<Vec<String>, Miss> {
        match victims {
            scenario::Victims::Member(member) => Ok(vec![self.target(member, alias)?]),
            scenario::Victims::Domain(..) => Ok(victims.of_domain(self.scenario).unwrap_or_default()),
        }
    }

    /// Lets `fault` strike all of `members` at once, at a moment of the target's cycle of probes that the seed chooses.
    pub(in crate::run) async fn strike(&mut self, members: &[String], fault: Fault) -> Result<(), Miss> {
        self.some_moment().await;
        self.ask_leave(members).await?;
        for member in members {
            let guard = self.break_link(member, fault)?;
            self.faults.push((member.to_owned(), guard));
        }
        Ok(())
    }

    /// Asks for leave to strike these, too.
    pub(in crate::run) async fn ask_leave(&self, members: &[String]) -> Result<(), Miss> {
        self.leave.ask(self.flapping.keys().chain(members)).await.map_err(Miss::Broken)
    }

    pub(in crate::run) fn nuisance(&self, nuisance: &Nuisance) -> Result<Fault, Miss> {
        Ok(match nuisance {
            Nuisance::Jitter(by) => Fault::Jitter { by: self.length(by)? },
            Nuisance::Bandwidth(rate) => Fault::Bandwidth { rate: *rate },
            Nuisance::Cut => Fault::Cut,
            Nuisance::Lose(percent) => Fault::Lose { percent: *percent },
            Nuisance::RefuseNew => Fault::RefuseNew,
            Nuisance::DropNew => Fault::DropNew,
            Nuisance::HalfOpen => Fault::HalfOpen,
            Nuisance::Fail(it) => Fault::Fail { with: it.with, every: it.every.value },
            Nuisance::Slow(it) => Fault::Slow { by: self.length(&it.by)?, verb: it.verb },
            Nuisance::CutWatches(it) => Fault::CutWatches { every: it.every.value },
        })
    }

    /// Lets the machines of all of `members` break down, as [`Self::strike`].
    pub(in crate::run) async fn break_down(&mut self, members: &[String], how: &How) -> Result<(), Miss> {
        let how = how.breakdown(|length| self.length(length))?;
        self.some_moment().await;
        self.ask_leave(members).await?;
        for member in members {
            self.log.mark(breakdown_mark(how, member, "begin"));
            let broken = self.machine(member)?.break_down(how).await;
            broken.map_err(|error| Miss::Broken(error.to_string()))?;
            self.broken_down.push((member.clone(), how));
        }
        Ok(())
    }

    /// Mends the machines of those of `members` that broke down, and answers how many there were.
    async fn mend(&mut self, members: &[String]) -> Result<usize, Miss> {
        let mended = self.broken_down.extract_if(.., |(broken, _)| members.contains(broken));
        let mended: Vec<_> = mended.collect();
        // What broke last is mended first: nothing else can be done to what has stopped.
        for (member, how) in mended.iter().rev() {
            let whole = self.machine(member)?.mend(*how).await;
            whole.map_err(|error| Miss::Broken(error.to_string()))?;
            self.log.mark(breakdown_mark(*how, member, "end"));
        }
        Ok(mended.len())
    }

    fn machine(&self, member: &str) -> Result<&dyn Machine, Miss> {
        let none = || Miss::Broken(format!("{member} runs in this process, on no machine of its own"));
        self.member(member)?.machine().ok_or_else(none)
    }

    /// Lets `fault` strike the link to `member`, or its gate, at once.
    pub(in crate::run) fn break_link(&self, member: &str, fault: Fault) -> Result<FaultGuard, Miss> {
        let (log, struck) = (self.log.clone(), self.member(member)?);
        Ok(fault.begin(member, (struck.link(), struck.gate()), move |mark| log.mark(mark)))
    }

    pub(in crate::run) async fn flap(&mut self, flap: &Flap) -> Result<(), Miss> {
        let name = self.target(&flap.cluster.value, flap.alias.as_ref())?;
        self.ask_leave(std::slice::from_ref(&name)).await?;
        let (down, up, times) = (self.length(&flap.down)?, self.length(&flap.up)?, flap.times.value);
        let (clock, log, leave, member) = (self.clock, self.log.clone(), self.leave.clone(), name.clone());
        let begin: Box<dyn Fn(Log) -> FaultGuard + Send> = match self.cluster.and_then(|it| it.kubelet(&name))
        {
            Some(kubelet) => {
                let kubelet = kubelet.clone();
                let silent = ("silent", NodeFault::Silent);
                Box::new(move |log| {
                    break_node((&member, &kubelet), silent.clone(), move |mark| log.mark(mark))
                })
            }
            None => {
                let flapping = self.member(&name)?;
                let (link, gate) = (flapping.link().clone(), flapping.gate().clone());
                Box::new(move |log| Fault::Refuse.begin(&member, (&link, &gate), move |mark| log.mark(mark)))
            }
        };
        let (mut task, flapping) = (JoinSet::new(), name.clone());
        task.spawn(async move {
            for _ in 0..times {
                if let Err(why) = leave.ask([&flapping]).await {
                    return log.break_off(why);
                }
                let guard = begin(log.clone());
                clock.sleep(down).await;
                drop(guard);
                clock.sleep(up).await;
            }
        });
        self.flapping.insert(name, task);
        Ok(())
    }

    pub(in crate::run) async fn heal(&mut self, members: &[String]) -> Result<(), Miss> {
        let before = self.faults.len();
        self.faults.retain(|(broken, _)| !members.contains(broken));
        let mended = self.mend(members).await?;
        let flapping: Vec<_> = members.iter().filter_map(|member| self.flapping.remove(member)).collect();
        if before == self.faults.len() && mended == 0 && flapping.is_empty() {
            let expected = format!("something that is wrong with {}, to heal it", members.join(", "));
            return Err(Miss::Unmet { expected, seen: "nothing is".into() });
        }
        for mut flapping in flapping {
            flapping.shutdown().await;
        }
        Ok(())
    }

    pub(in crate::run) async fn edit_taints(&mut self, taint: &Taint, add: bool) -> Result<(), Miss> {
        let name = self.target(&taint.cluster.value, taint.alias.as_ref())?;
        let key = self.taint_key(&taint.key);
        let effect = taint.effect.to_string();
        let step = if add { "taint" } else { "untaint" };
        self.mark(step, &[(self.member_word(), &name), ("key", &key), ("effect", &effect)]);
        let api = self.member_api();
        loop {
            let mut cluster =
                api.get(&name).await.map_err(|error| refused("a look at the member", &error))?;
            let taints = cluster.data.pointer("/spec/taints").and_then(Value::as_array);
            let other = |taint: &&Value| taint["key"] != key.as_str() || taint["effect"] != effect.as_str();
            let mut taints: Vec<Value> = taints.into_iter().flatten().filter(other).cloned().collect();
            if add {
                // A person's machine is another one, whose clock is right.
                taints.push(objects::taint(&key, &effect, self.clock.steady()));
            }
            cluster.data["spec"]["taints"] = Value::Array(taints);
            match api.replace(&name, &PostParams::default(), &cluster).await {
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                result => return result.map(drop).map_err(|error| refused("a change of taints", &error)),
            }
        }
    }

    pub(in crate::run) async fn delete_member(&mut self, member: &str) -> Result<(), Miss> {
        self.mark("deleteMember", &[(self.member_word(), member)]);
        self.unkept.insert(member.to_owned());
        let deleted = self.member_api().delete(member, &DeleteParams::default()).await;
        deleted.map(drop).map_err(|error| refused("the deletion of a member", &error))
    }

    pub(in crate::run) fn set_start_up(&mut self, member: &str, takes: &StartUpTime) -> Result<(), Miss> {
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

    pub(in crate::run) fn restore_start_up(&self, member: &str, start_up: StartUp) -> Result<(), Miss> {
        self.member(member)?.set_start_up(start_up);
        self.mark("startUp", &[("cluster", member)]);
        Ok(())
    }

    /// Makes the fleet's members known to the control plane, and waits until all of them are in use for a moment.
    pub(in crate::run) async fn join_members(&self) -> Result<(), Miss> {
        for member in self.fleet.members() {
            let mut cluster = objects::cluster(member.spec());
            if let Some(reached) = self.sockets.and_then(|sockets| sockets.member(member.name())) {
                let secret = objects::secret_of(member.spec(), reached.authority(), reached.token());
                self.create(&objects::secrets(), secret).await?;
                objects::reach_by_secret(&mut cluster, &reached.endpoint());
            }
            self.create(&objects::clusters(), cluster).await?;
        }
        let (names, patience) = (self.scenario.members(), self.patience().taint(false));
        for name in &names {
            let what = format!("{name} is ready and free of taints");
            let subject = crate::run::driver::Subject::Member(name.clone());
            let joined = |world: &capsize_history::facts::World, _: &[Eviction]| {
                world.members.get(name).is_some_and(|member| {
                    member.health == Some(capsize_history::facts::Health::Ready) && member.taints.is_empty()
                })
            };
            self.until(what, subject, patience, joined).await?;
        }
        // From here on, whoever chooses knows the members as they are.
        self.clock.sleep(self.profile.timings.latency * 2).await;
        Ok(())
    }

    pub(in crate::run) fn kill(&mut self) {
        self.end_rival();
        if self.controllers.kill() {
            self.log.mark(fault_mark("kill", None, "begin"));
        }
    }

    pub(in crate::run) async fn start(&mut self) -> Result<(), Miss> {
        self.controllers.start().await.map_err(|error| Miss::Broken(error.to_string()))?;
        self.log.mark(fault_mark("kill", None, "end"));
        Ok(())
    }

    pub(in crate::run) async fn create(&self, kind: &ApiResource, mut object: Value) -> Result<(), Miss> {
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).map(str::to_owned);
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.retain(|_, value| !value.is_null());
        }
        let object: DynamicObject = serde_json::from_value(object)
            .map_err(|error| Miss::Broken(format!("an object of ours is none: {error}")))?;
        let what = format!("the new {} {}", kind.kind, object.name_any());
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), &namespace, kind),
            None => Api::all_with(self.client.clone(), kind),
        };
        let created = api.create(&PostParams::default(), &object).await;
        created.map(drop).map_err(|error| refused(&what, &error))
    }

    /// The objects of the members.
    fn member_api(&self) -> Api<DynamicObject> {
        let kind = if self.cluster.is_some() { node_objects::nodes() } else { objects::clusters() };
        Api::all_with(self.client.clone(), &kind)
    }

    fn api(&self, kind: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), objects::NAMESPACE, kind)
    }
}

fn refused(what: &str, error: &kube::Error) -> Miss {
    Miss::Unmet { expected: format!("the control plane takes {what}"), seen: error.to_string() }
}
