//! One write in the form for admission, and the check whether a webhook matches it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::hook::{Hook, Webhooks};
use crate::http::failure::Failure;
use crate::kind::kinds::Kind;
use crate::kind::object::meta;
use crate::state::{AdmissionRequest, State};
use crate::store;
use capsize_cel::{self as cel, Budget, EvaluationError};

/// The write that admission decides about.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub kind: &'a Kind,
    pub subresource: &'a str,
    pub operation: &'static str,
    /// `None` for a delete.
    pub object: Option<&'a Value>,
    /// `None` for a create.
    pub old: Option<&'a Value>,
    pub dry_run: bool,
}

impl<'a> Subject<'a> {
    /// The write that stores `object` in place of `old`, or creates it.
    pub(crate) fn write(
        kind: &'a Kind,
        subresource: &'a str,
        object: &'a Value,
        old: Option<&'a Value>,
        dry_run: bool,
    ) -> Self {
        let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
        Self { kind, subresource, operation, object: Some(object), old, dry_run }
    }

    /// The delete of `old`.
    pub(crate) fn delete(kind: &'a Kind, old: &'a Value, dry_run: bool) -> Self {
        Self { kind, subresource: "", operation: "DELETE", object: None, old: Some(old), dry_run }
    }

    /// The same write in the form for the admission function in this process.
    pub(crate) fn in_process(&self) -> AdmissionRequest<'a> {
        let Self { kind, subresource, operation, object, old, dry_run } = *self;
        AdmissionRequest {
            operation,
            group: &kind.group,
            kind: &kind.kind,
            subresource,
            object,
            old,
            dry_run,
        }
    }
}

impl Subject<'_> {
    fn meta(&self, field: &str) -> &str {
        let given = self.object.map(|object| meta(object, field)).filter(|given| !given.is_empty());
        given.or_else(|| self.old.map(|old| meta(old, field))).unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.meta("name")
    }

    /// The namespace of the object; for a Namespace object its own name.
    pub(crate) fn namespace(&self) -> &str {
        if self.kind.is_core("namespaces") { self.name() } else { self.meta("namespace") }
    }

    /// Returns true for webhook configurations, so that a broken webhook can always be repaired.
    pub(crate) fn is_exempt(&self) -> bool {
        self.kind.group == "admissionregistration.k8s.io"
    }

    /// The kind in which a webhook sees the write; `None` if the webhook does not match it.
    ///
    /// # Errors
    /// Forbidden if a condition cannot be evaluated and the webhook fails closed.
    pub(crate) fn matching_kind(
        &self,
        hook: &Hook,
        webhooks: &Webhooks,
        state: &State,
        user: &Value,
    ) -> Result<Option<Arc<Kind>>, Failure> {
        if !self.is_selected(hook, state) {
            return Ok(None);
        }
        let fits =
            |kind: &Kind| hook.rules.iter().any(|rule| rule.matches(self.operation, kind, self.subresource));
        let own = || state.kind(&self.kind.group, &self.kind.version, &self.kind.plural).cloned();
        let seen = if fits(self.kind) {
            own()
        } else if hook.equivalent && self.kind.is_custom() {
            let others = state.kinds().filter(|other| other.storage == self.kind.storage);
            others.filter(|other| other.path() != self.kind.path()).find(|other| fits(other)).cloned()
        } else {
            None
        };
        let Some(seen) = seen else { return Ok(None) };
        Ok(self.meets_conditions(hook, webhooks, &seen, user)?.then_some(seen))
    }

    fn is_selected(&self, hook: &Hook, state: &State) -> bool {
        if let Some(selector) = &hook.objects {
            let selected =
                |object: Option<&Value>| object.is_some_and(|object| selector.matches_labels(object));
            if !selected(self.object) && !selected(self.old) {
                return false;
            }
        }
        let Some(selector) = &hook.namespaces else { return true };
        if self.kind.is_core("namespaces") {
            return self.object.or(self.old).is_some_and(|namespace| selector.matches_labels(namespace));
        }
        if !self.kind.traits.namespaced {
            return true;
        }
        let namespace = state.store.get("namespaces", &store::key("", self.namespace()));
        namespace.is_some_and(|namespace| selector.matches_labels(&namespace.object()))
    }

    fn meets_conditions(
        &self,
        hook: &Hook,
        webhooks: &Webhooks,
        seen: &Kind,
        user: &Value,
    ) -> Result<bool, Failure> {
        let (Some(environment), false) = (&webhooks.environment, hook.conditions.is_empty()) else {
            return Ok(true);
        };
        let shown = |object: Option<&Value>| {
            cel::from_json(&object.map_or(Value::Null, |object| seen.with_type_fields(object, true)))
        };
        let variables = [
            ("object", shown(self.object)),
            ("oldObject", shown(self.old)),
            ("request", cel::from_json(&self.request(seen, user))),
        ];
        let mut budget = Budget::of_conditions();
        let mut error = None;
        for condition in &hook.conditions {
            let Some(program) = &condition.program else { continue };
            match environment.evaluate(program, variables.clone(), &mut budget) {
                Ok(kube_cel::cel::Value::Bool(true)) => {}
                Ok(_) => return Ok(false),
                Err(failed) => {
                    let expression = &condition.expression;
                    let reason = match &failed {
                        EvaluationError::Failed(message) => message,
                        EvaluationError::CallLimit => "operation cancelled: actual cost limit exceeded",
                        EvaluationError::BudgetSpent => {
                            let message = "validation failed due to running out of cost budget, \
                                           no further validation rules will be run";
                            error.get_or_insert(message.to_owned());
                            break;
                        }
                    };
                    error.get_or_insert(format!("expression '{expression}' resulted in error: {reason}"));
                }
            }
        }
        match error {
            Some(error) if hook.fails_closed => Err(Failure::forbidden(self.kind, self.name(), &error)),
            Some(_) => Ok(false),
            None => Ok(true),
        }
    }

    /// The request for webhooks without the objects and the uid.
    pub(crate) fn request(&self, seen: &Kind, user: &Value) -> Value {
        let kind_of = |kind: &Kind| json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
        let resource_of =
            |kind: &Kind| json!({"group": kind.group, "version": kind.version, "resource": kind.plural});
        let mut request = json!({"kind": kind_of(seen), "resource": resource_of(seen),
            "requestKind": kind_of(self.kind), "requestResource": resource_of(self.kind),
            "operation": self.operation, "userInfo": user, "dryRun": self.dry_run});
        for (field, value) in [
            ("name", self.name()),
            ("namespace", self.namespace()),
            ("subResource", self.subresource),
            ("requestSubResource", self.subresource),
        ] {
            if !value.is_empty() {
                request[field] = value.into();
            }
        }
        request
    }
}
