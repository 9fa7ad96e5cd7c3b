//! The suspension of a binding, and the owner references of a new binding.
//!
//! karmada-io/karmada v1.18.2 `pkg/detector/detector.go`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::api::{DispatchSuspension, ObjectReference, Suspension};

/// Returns the suspension of a binding.
/// The suspension of dispatching is that of the policy. The suspension of scheduling stays as at present, because no
/// policy sets the suspension of scheduling (#6062).
#[must_use]
pub fn suspension_of_binding(
    policy: Option<&DispatchSuspension>,
    present: Option<&Suspension>,
) -> Option<Suspension> {
    let scheduling = present.is_some_and(|suspension| suspension.scheduling);
    let dispatch = policy.cloned().unwrap_or_default();
    (policy.is_some() || scheduling).then_some(Suspension { dispatch, scheduling })
}

/// Returns the owners of a new binding.
/// The owner is the template of the binding, so that the binding is deleted with the template (#5943).
#[must_use]
pub fn owners_of_binding(template: &ObjectReference) -> Vec<OwnerReference> {
    vec![OwnerReference {
        api_version: template.api_version.clone(),
        kind: template.kind.clone(),
        name: template.name.clone(),
        uid: template.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_does_not_change_whether_scheduling_is_suspended() {
        let dispatch = DispatchSuspension { dispatching: Some(true), ..Default::default() };
        let scheduling = Suspension { scheduling: true, ..Default::default() };
        let both = Suspension { dispatch: dispatch.clone(), scheduling: true };
        assert_eq!(suspension_of_binding(None, None), None);
        assert_eq!(suspension_of_binding(None, Some(&both)), Some(scheduling.clone()));
        assert_eq!(suspension_of_binding(Some(&dispatch), Some(&scheduling)), Some(both));
    }

    #[test]
    fn the_template_owns_its_binding() {
        let template = ObjectReference { name: "web".into(), uid: "1".into(), ..ObjectReference::default() };
        let owners = owners_of_binding(&template);
        let [owner] = owners.as_slice() else { panic!("{owners:?}") };
        assert_eq!((owner.name.as_str(), owner.uid.as_str(), owner.controller), ("web", "1", Some(true)));
    }
}
