//! The events that controllers publish: which reason and which message each action has.
//!
//! Sources: karmada-io/karmada v1.18.2 `pkg/events/events.go` and the controllers that use its reasons. Messages
//! are those of 1.18; where an earlier release has another reason or a shorter message, the behaviour decides.

use std::fmt;

use k8s_openapi::api::core::v1::Taint;

use super::Behaviour;
use crate::api::{ResourceSelector, TargetCluster};

/// An event about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether the type is `Warning` rather than `Normal`.
    pub warns: bool,
    /// The reason, in one word.
    pub reason: &'static str,
    /// The message.
    pub message: String,
}

/// The kind, the namespace and the name of an object, as messages name it.
#[derive(Clone, Copy, Debug)]
pub struct ObjectName<'a> {
    /// The kind.
    pub kind: &'a str,
    /// The namespace; empty for cluster-scoped kinds.
    pub namespace: &'a str,
    /// The name.
    pub name: &'a str,
}

impl fmt::Display for ObjectName<'_> {
    /// `ResourceBinding(default/web-deployment)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace {
            "" => write!(f, "{}({})", self.kind, self.name),
            namespace => write!(f, "{}({namespace}/{})", self.kind, self.name),
        }
    }
}

/// Something that a controller did, or failed to do. Errors are texts.
#[derive(Clone, Copy, Debug)]
pub enum ReportedAction<'a> {
    /// The eviction of a workload from a cluster has ended; where evictions are not graceful, it has begun.
    Evicted(&'a str),
    /// A workload could not be evicted from a cluster.
    NotEvicted(&'a str),
    /// The scheduler has chosen clusters for a binding.
    Scheduled(&'a [TargetCluster]),
    /// The scheduler could not choose clusters for a binding.
    NotScheduled(&'a str),
    /// The Works of a binding were written.
    WorksWritten(ObjectName<'a>),
    /// The Works of a binding could not be written.
    WorksNotWritten(&'a str),
    /// Orphaned Works of a binding could not be deleted.
    WorksNotDeleted(&'a str),
    /// The status of a binding was aggregated from its Works.
    StatusAdded(ObjectName<'a>),
    /// The status of a template was aggregated from the members.
    TemplateStatusAdded,
    /// A status could not be aggregated.
    StatusNotAdded(&'a str),
    /// A manifest was applied to a member.
    ManifestApplied(ObjectName<'a>, &'a str),
    /// A manifest could not be applied to a member.
    ManifestNotApplied(ObjectName<'a>, &'a str, &'a str),
    /// A Work was applied to its member.
    WorkApplied(ObjectName<'a>, &'a str),
    /// A Work could not be applied to its member.
    WorkNotApplied(ObjectName<'a>, &'a str, &'a str),
    /// The dispatching of a Work was suspended or resumed. The message is that of the condition.
    Dispatching(&'a str),
    /// The status of an object in a member was written to its Work.
    StatusReflected(ObjectName<'a>),
    /// The health of an object in a member was determined.
    HealthJudged(ObjectName<'a>, bool),
    /// A policy was applied to a template.
    PolicyApplied(ObjectName<'a>),
    /// A policy could not be applied to a template.
    PolicyNotApplied(ObjectName<'a>, &'a str),
    /// A policy took a template over from another policy.
    Preempted(ObjectName<'a>, ObjectName<'a>),
    /// A policy could not take a template over from another policy.
    NotPreempted(ObjectName<'a>, ObjectName<'a>, &'a str),
    /// The dependencies of a template were found.
    DependenciesFound(&'a [ResourceSelector]),
    /// The schedule of a template was copied to the bindings of its dependencies.
    DependenciesPlaced,
    /// The schedule of a template could not be copied to the bindings of its dependencies.
    DependenciesNotPlaced(&'a str),
    /// The bindings that require a dependency differ in fields that its binding inherits; as from 1.16.
    DependencyPoliciesConflict(&'a [&'static str]),
    /// The taints of a cluster were changed to these.
    Tainted(&'a [Taint]),
    /// The taints of a cluster could not be changed.
    NotTainted(&'a str),
    /// The taint of a cluster that is being removed could not be written.
    RemovalNotTainted(&'a str),
    /// The execution namespace of a cluster was created.
    NamespaceCreated(&'a str, &'a str),
    /// The execution namespace of a cluster could not be created.
    NamespaceNotCreated(&'a str),
    /// The execution namespace of a cluster was removed.
    NamespaceRemoved(&'a str),
    /// The execution namespace of a cluster could not be removed.
    NamespaceNotRemoved(&'a str),
    /// The Service for a `ServiceImport` was written.
    ServiceDerived(&'a str),
    /// The Service for a `ServiceImport` could not be written.
    ServiceNotDerived(&'a str),
}

impl ReportedAction<'_> {
    /// Whether the event is about an eviction.
    #[must_use]
    pub fn is_eviction(&self) -> bool {
        matches!(self, Self::Evicted(_) | Self::NotEvicted(_))
    }
}

/// Returns the event for an action of a controller; `None` if the release does not publish one.
#[must_use]
pub fn event(behaviour: Behaviour, action: &ReportedAction<'_>) -> Option<Event> {
    let publishes = match action {
        // Until 1.6 only failures of taints were published (`EventReasonTaintClusterByConditionFailed`).
        ReportedAction::Tainted(_) => behaviour.specific_reasons,
        ReportedAction::Dispatching(_) => behaviour.always_reports_dispatching,
        ReportedAction::Preempted(..) | ReportedAction::NotPreempted(..) => behaviour.specific_reasons,
        _ => true,
    };
    let (warns, reason) = reason(behaviour, action);
    publishes.then(|| Event { warns, reason, message: message(behaviour, action) })
}

/// Whether the event is a warning, and its reason.
fn reason(behaviour: Behaviour, action: &ReportedAction<'_>) -> (bool, &'static str) {
    use ReportedAction as H;
    // As from 1.7 all taints have the same reasons.
    let by_condition = !behaviour.specific_reasons;
    match action {
        H::Evicted(_) => (false, "EvictWorkloadFromClusterSucceed"),
        H::NotEvicted(_) => (true, "EvictWorkloadFromClusterFailed"),
        H::Scheduled(_) => (false, "ScheduleBindingSucceed"),
        H::NotScheduled(_) => (true, "ScheduleBindingFailed"),
        H::WorksWritten(_) => (false, "SyncWorkSucceed"),
        H::WorksNotWritten(_) => (true, "SyncWorkFailed"),
        H::WorksNotDeleted(_) => (true, "CleanupWorkFailed"),
        H::StatusAdded(_) | H::TemplateStatusAdded => (false, "AggregateStatusSucceed"),
        H::StatusNotAdded(_) => (true, "AggregateStatusFailed"),
        H::ManifestApplied(..) | H::WorkApplied(..) => (false, "SyncSucceed"),
        H::ManifestNotApplied(..) | H::WorkNotApplied(..) => (true, "SyncFailed"),
        H::Dispatching(_) => (false, "WorkDispatching"),
        H::StatusReflected(_) => (false, "ReflectStatusSucceed"),
        H::HealthJudged(..) => (false, "InterpretHealthSucceed"),
        H::PolicyApplied(_) => (false, "ApplyPolicySucceed"),
        H::PolicyNotApplied(..) => (true, "ApplyPolicyFailed"),
        H::Preempted(..) => (false, "PreemptPolicySucceed"),
        H::NotPreempted(..) => (true, "PreemptPolicyFailed"),
        H::DependenciesFound(_) => (false, "GetDependenciesSucceed"),
        H::DependenciesPlaced => (false, "SyncScheduleResultToDependenciesSucceed"),
        H::DependenciesNotPlaced(_) => (true, "SyncScheduleResultToDependenciesFailed"),
        H::DependencyPoliciesConflict(_) => (true, "DependencyPolicyConflict"),
        H::Tainted(_) => (false, "TaintClusterSucceed"),
        H::NotTainted(_) if by_condition => (true, "TaintClusterByConditionFailed"),
        H::RemovalNotTainted(_) if by_condition => (true, "RemoveTargetClusterFailed"),
        H::NotTainted(_) | H::RemovalNotTainted(_) => (true, "TaintClusterFailed"),
        H::NamespaceCreated(..) => (false, "CreateExecutionSpaceSucceed"),
        H::NamespaceNotCreated(_) => (true, "CreateExecutionSpaceFailed"),
        H::NamespaceRemoved(_) => (false, "RemoveExecutionSpaceSucceed"),
        H::NamespaceNotRemoved(_) => (true, "RemoveExecutionSpaceFailed"),
        H::ServiceDerived(_) => (false, "SyncDerivedServiceSucceed"),
        H::ServiceNotDerived(_) => (true, "SyncDerivedServiceFailed"),
    }
}

fn message(behaviour: Behaviour, action: &ReportedAction<'_>) -> String {
    use ReportedAction as H;
    match *action {
        H::Evicted(cluster) => format!("Evict from cluster {cluster} succeed."),
        H::NotEvicted(cluster) => format!("Evict from cluster {cluster} failed."),
        H::Scheduled(targets) => scheduled_message(behaviour, targets),
        H::WorksWritten(binding) => format!("Sync work of {binding} successful."),
        H::StatusAdded(binding) => format!("Update {binding} with AggregatedStatus successfully."),
        H::TemplateStatusAdded => "Update Resource with AggregatedStatus successfully.".to_owned(),
        H::ManifestApplied(ObjectName { namespace, name, .. }, cluster) => {
            format!("Successfully applied resource({namespace}/{name}) to cluster {cluster}")
        }
        H::ManifestNotApplied(ObjectName { namespace, name, .. }, cluster, error) => {
            let slash = if namespace.is_empty() { "" } else { "/" };
            format!(
                "Failed to create or update resource({namespace}{slash}{name}) in member cluster({cluster}): {error}"
            )
        }
        H::WorkApplied(ObjectName { namespace, name, .. }, cluster) => {
            format!("Sync work({namespace}/{name}) to cluster({cluster}) successful.")
        }
        H::WorkNotApplied(ObjectName { namespace, name, .. }, cluster, error) => {
            format!("Failed to sync work({namespace}/{name}) to cluster({cluster}), err: {error}")
        }
        H::StatusReflected(ObjectName { kind, namespace, name }) => {
            format!("Reflect status for object({kind}/{namespace}/{name}) succeed.")
        }
        H::HealthJudged(ObjectName { kind, namespace, name }, healthy) => {
            let health = if healthy { "healthy" } else { "unhealthy" };
            format!("Interpret health of object({kind}/{namespace}/{name}) as {health}.")
        }
        H::PolicyApplied(policy) => {
            format!("Apply {} succeed", policy_of(policy, "policy", "cluster policy"))
        }
        H::PolicyNotApplied(policy, error) => {
            format!("Apply {} failed: {error}", policy_of(policy, "policy", "cluster policy"))
        }
        H::Preempted(by, of) => format!("{} preempted {} successfully", preempting(by), preempted(of)),
        H::NotPreempted(by, of, error) => {
            format!("{} failed to preempt {}: {error}", preempting(by), preempted(of))
        }
        H::DependenciesFound(all) => {
            let all: Vec<_> = all.iter().map(dependency).collect();
            format!("Get dependencies([{}]) succeed.", all.join(" "))
        }
        H::DependenciesPlaced => "Sync schedule results to dependencies succeed.".to_owned(),
        H::DependencyPoliciesConflict(conflicts) => {
            format!("Dependency policy conflict detected: {}.", conflicts.join("; "))
        }
        H::Tainted(taints) => format!("Taint cluster succeed: {}.", taints_message(taints)),
        H::NamespaceCreated(namespace, cluster) => {
            format!("Created execution space({namespace}) for cluster({cluster}).")
        }
        H::NamespaceRemoved(cluster) => format!("Removed execution space for cluster({cluster})."),
        H::ServiceDerived(name) => format!("Sync derived service for serviceImport({name}) succeed."),
        H::Dispatching(text)
        | H::NotScheduled(text)
        | H::WorksNotWritten(text)
        | H::WorksNotDeleted(text)
        | H::StatusNotAdded(text)
        | H::DependenciesNotPlaced(text)
        | H::NotTainted(text)
        | H::RemovalNotTainted(text)
        | H::NamespaceNotCreated(text)
        | H::NamespaceNotRemoved(text)
        | H::ServiceNotDerived(text) => text.to_owned(),
    }
}

/// Up to 1.6 the message is shorter, and up to 1.9 it does not name the clusters.
fn scheduled_message(behaviour: Behaviour, targets: &[TargetCluster]) -> String {
    if !behaviour.specific_reasons {
        return "Binding has been scheduled".to_owned();
    }
    // The clusters are named since 1.10, the release with which `policy_finalizers` begins.
    if !behaviour.policy_finalizers {
        return "Binding has been scheduled successfully.".to_owned();
    }
    let targets: Vec<_> = targets.iter().map(|one| format!("{}:{}", one.name, one.replicas)).collect();
    format!("Binding has been scheduled successfully. Result: {{{}}}", targets.join(", "))
}

fn policy_of(policy: ObjectName<'_>, namespaced: &str, cluster_scoped: &str) -> String {
    let kind = if policy.namespace.is_empty() { cluster_scoped } else { namespaced };
    ObjectName { kind, ..policy }.to_string()
}

fn preempting(policy: ObjectName<'_>) -> String {
    policy_of(policy, "Propagation policy", "Cluster propagation policy")
}

fn preempted(policy: ObjectName<'_>) -> String {
    policy_of(policy, "propagation policy", "cluster propagation policy")
}

/// Formats a dependency as Go prints it.
fn dependency(one: &ResourceSelector) -> String {
    let ResourceSelector { api_version, kind, namespace, name, .. } = one;
    format!("{{APIVersion:{api_version} Kind:{kind} Namespace:{namespace} Name:{name} LabelSelector:<nil>}}")
}

/// `pkg/util/helper/taint.go`, `GenerateTaintsMessage`.
fn taints_message(taints: &[Taint]) -> String {
    if taints.is_empty() {
        return "cluster now does not have taints".to_owned();
    }
    let one = |taint: &Taint| {
        let value = taint.value.as_deref().filter(|value| !value.is_empty());
        let value = value.map(|value| format!("Value:{value},")).unwrap_or_default();
        format!("{{Key:{},{value}Effect:{}}}", taint.key, taint.effect)
    };
    format!("cluster now has taints([{}])", taints.iter().map(one).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_values::from_json;

    fn published(release: &str, action: &ReportedAction<'_>) -> Option<(&'static str, &'static str, String)> {
        let found = event(Behaviour::of(release), action)?;
        Some((if found.warns { "Warning" } else { "Normal" }, found.reason, found.message))
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table has a row for each event")]
    fn events_have_the_reasons_and_messages_of_the_real_controllers() {
        let binding = ObjectName { kind: "ResourceBinding", namespace: "default", name: "web-deployment" };
        let work = ObjectName { kind: "Work", namespace: "karmada-es-m1", name: "web-1" };
        let web = ObjectName { kind: "Deployment", namespace: "default", name: "web" };
        let policy = ObjectName { kind: "", namespace: "default", name: "web" };
        let cluster_policy = ObjectName { kind: "", namespace: "", name: "all" };
        let targets: Vec<TargetCluster> = from_json(json!([{"name": "m1", "replicas": 2}, {"name": "m2"}]));
        let taints: Vec<Taint> = from_json(json!([
            {"key": "a", "effect": "NoSchedule"}, {"key": "b", "value": "c", "effect": "NoExecute"},
        ]));
        let needed: Vec<ResourceSelector> =
            from_json(json!([{"apiVersion": "v1", "kind": "Secret", "namespace": "default", "name": "key"}]));
        let table = [
            (
                ReportedAction::Evicted("m1"),
                "Normal EvictWorkloadFromClusterSucceed Evict from cluster m1 succeed.",
            ),
            (
                ReportedAction::NotEvicted("m1"),
                "Warning EvictWorkloadFromClusterFailed Evict from cluster m1 failed.",
            ),
            (
                ReportedAction::Scheduled(&targets),
                "Normal ScheduleBindingSucceed Binding has been scheduled successfully. Result: {m1:2, m2:0}",
            ),
            (ReportedAction::NotScheduled("no room"), "Warning ScheduleBindingFailed no room"),
            (
                ReportedAction::WorksWritten(binding),
                "Normal SyncWorkSucceed Sync work of ResourceBinding(default/web-deployment) successful.",
            ),
            (
                ReportedAction::StatusAdded(binding),
                "Normal AggregateStatusSucceed Update ResourceBinding(default/web-deployment) with AggregatedStatus successfully.",
            ),
            (
                ReportedAction::TemplateStatusAdded,
                "Normal AggregateStatusSucceed Update Resource with AggregatedStatus successfully.",
            ),
            (
                ReportedAction::ManifestApplied(web, "m1"),
                "Normal SyncSucceed Successfully applied resource(default/web) to cluster m1",
            ),
            (
                ReportedAction::ManifestNotApplied(web, "m1", "no"),
                "Warning SyncFailed Failed to create or update resource(default/web) in member cluster(m1): no",
            ),
            (
                ReportedAction::WorkApplied(work, "m1"),
                "Normal SyncSucceed Sync work(karmada-es-m1/web-1) to cluster(m1) successful.",
            ),
            (
                ReportedAction::WorkNotApplied(work, "m1", "no"),
                "Warning SyncFailed Failed to sync work(karmada-es-m1/web-1) to cluster(m1), err: no",
            ),
            (
                ReportedAction::StatusReflected(web),
                "Normal ReflectStatusSucceed Reflect status for object(Deployment/default/web) succeed.",
            ),
            (
                ReportedAction::HealthJudged(web, false),
                "Normal InterpretHealthSucceed Interpret health of object(Deployment/default/web) as unhealthy.",
            ),
            (
                ReportedAction::PolicyApplied(policy),
                "Normal ApplyPolicySucceed Apply policy(default/web) succeed",
            ),
            (
                ReportedAction::PolicyNotApplied(cluster_policy, "no"),
                "Warning ApplyPolicyFailed Apply cluster policy(all) failed: no",
            ),
            (
                ReportedAction::Preempted(policy, cluster_policy),
                "Normal PreemptPolicySucceed Propagation policy(default/web) preempted cluster propagation policy(all) successfully",
            ),
            (
                ReportedAction::DependenciesFound(&needed),
                "Normal GetDependenciesSucceed Get dependencies([{APIVersion:v1 Kind:Secret Namespace:default Name:key LabelSelector:<nil>}]) succeed.",
            ),
            (
                ReportedAction::DependencyPoliciesConflict(&["a", "b"]),
                "Warning DependencyPolicyConflict Dependency policy conflict detected: a; b.",
            ),
            (
                ReportedAction::Tainted(&taints),
                "Normal TaintClusterSucceed Taint cluster succeed: cluster now has taints([{Key:a,Effect:NoSchedule},{Key:b,Value:c,Effect:NoExecute}]).",
            ),
            (
                ReportedAction::Tainted(&[]),
                "Normal TaintClusterSucceed Taint cluster succeed: cluster now does not have taints.",
            ),
            (ReportedAction::NotTainted("no"), "Warning TaintClusterFailed no"),
            (
                ReportedAction::NamespaceCreated("karmada-es-m1", "m1"),
                "Normal CreateExecutionSpaceSucceed Created execution space(karmada-es-m1) for cluster(m1).",
            ),
            (
                ReportedAction::NamespaceRemoved("m1"),
                "Normal RemoveExecutionSpaceSucceed Removed execution space for cluster(m1).",
            ),
            (
                ReportedAction::ServiceDerived("web"),
                "Normal SyncDerivedServiceSucceed Sync derived service for serviceImport(web) succeed.",
            ),
        ];
        for (action, expected) in table {
            let (type_, reason, message) = published("1.18", &action).unwrap();
            assert_eq!(format!("{type_} {reason} {message}"), expected);
        }
    }

    #[test]
    fn earlier_releases_publish_less() {
        let table = [
            (
                "1.5",
                ReportedAction::Scheduled(&[]),
                Some("ScheduleBindingSucceed Binding has been scheduled"),
            ),
            (
                "1.7",
                ReportedAction::Scheduled(&[]),
                Some("ScheduleBindingSucceed Binding has been scheduled successfully."),
            ),
            (
                "1.10",
                ReportedAction::Scheduled(&[]),
                Some("ScheduleBindingSucceed Binding has been scheduled successfully. Result: {}"),
            ),
            ("1.6", ReportedAction::Tainted(&[]), None),
            ("1.6", ReportedAction::NotTainted("no"), Some("TaintClusterByConditionFailed no")),
            ("1.6", ReportedAction::RemovalNotTainted("no"), Some("RemoveTargetClusterFailed no")),
            ("1.7", ReportedAction::RemovalNotTainted("no"), Some("TaintClusterFailed no")),
            ("1.10", ReportedAction::Dispatching("Work is being dispatched to member clusters."), None),
            ("1.11", ReportedAction::Dispatching("held"), Some("WorkDispatching held")),
        ];
        for (release, action, expected) in table {
            let found = published(release, &action).map(|(_, reason, message)| format!("{reason} {message}"));
            assert_eq!(found.as_deref(), expected, "{release} {action:?}");
        }
    }
}
