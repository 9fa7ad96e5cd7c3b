//! Wrong rules about policies and namespaces, and about the dependencies of workloads.

use std::collections::BTreeSet;
use std::sync::Arc;

use capsize_rules::api::{
    BindingSnapshot, DispatchSuspension, ObjectReference, ResourceBindingSpec, ResourceSelector, Suspension,
};
use capsize_rules::{Claim, NamePattern, Rules, owner, snapshot, suspension_of_binding};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::Value;

mutants! {
    a_policy_is_never_lazy("policy/lazy", "POLICY-03") {
        fn activates(&self, _: &str, _: bool) -> bool {
            true
        }
    }

    the_highest_priority_always_takes_a_template("policy/taken-by-a-higher-priority", "POLICY-02") {
        fn owner<'a>(&self, claims: &'a [Claim], _: Option<(bool, &str)>) -> Option<&'a Claim> {
            owner(claims, None)
        }
    }

    dependencies_leave_before_their_workload("dependencies/stay-as-long-as-the-workload", "DELIVERY-10") {
        fn snapshot(&self, namespace: &str, name: &str, spec: &ResourceBindingSpec) -> BindingSnapshot {
            let placed = ResourceBindingSpec { graceful_eviction_tasks: Vec::new(), ..spec.clone() };
            snapshot(self.behaviour(), namespace, name, &placed)
        }
    }

    every_namespace_is_synced("namespaces/everywhere", "DELIVERY-12") {
        fn is_synced(&self, _: &Namespace, _: &[NamePattern]) -> bool {
            true
        }
    }

    no_namespace_is_synced("namespaces/everywhere", "DELIVERY-12") {
        fn is_synced(&self, _: &Namespace, _: &[NamePattern]) -> bool {
            false
        }
    }

    autoscalers_go_nowhere("autoscaling/follows-its-workload", "DELIVERY-16") {
        fn autoscaler_targets<'a>(
            &self,
            _: bool,
            _: Option<&'a ResourceBindingSpec>,
        ) -> BTreeSet<&'a str> {
            BTreeSet::new()
        }
    }

    a_suspension_of_others_is_overwritten("policy/suspension-of-others", "POLICY-04") {
        fn suspension_of_binding(
            &self,
            policy: Option<&DispatchSuspension>,
            _: Option<&Suspension>,
        ) -> Option<Suspension> {
            suspension_of_binding(policy, None)
        }
    }

    a_record_outlives_its_template("policy/template-deleted", "LIVENESS-07") {
        fn owners_of_binding(&self, _: &ObjectReference) -> Vec<OwnerReference> {
            Vec::new()
        }
    }

    nothing_depends_on_anything("dependencies/stay-as-long-as-the-workload", "DELIVERY-13") {
        fn dependencies(&self, _: &str, _: &Value) -> Vec<ResourceSelector> {
            Vec::new()
        }
    }
}
