//! `/eviction`: deletes a pod, if the disruption budgets allow it.

use std::sync::Arc;

use http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::http::body;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::request::Query;
use crate::http::respond::{self, ApiBody};
use crate::kind::builtin::builtin;
use crate::kind::kinds::Kind;
use crate::kind::object::{check_metadata_types, child, is_terminating, meta, time};
use crate::store::{self, Version};
use crate::validation::builtin::selects;
use crate::write::delete::DeleteOptions;
use crate::write::writer::Writer;

/// The maximum number of disrupted pods that a budget can record.
const MAX_DISRUPTED: usize = 2000;

/// POST to a pod's `/eviction`.
pub(crate) fn evict(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let eviction = body::typed_body(
        call.content_type(),
        &call.body,
        &[("policy", "v1", "Eviction"), ("policy", "v1beta1", "Eviction")],
    )?;
    check_metadata_types(&eviction)?;
    if meta(&eviction, "name") != call.path.name {
        return Err(Failure::bad_request("name in URL does not match name in Eviction object"));
    }
    let mut options = DeleteOptions::read(&eviction["deleteOptions"], &Query::default())?;
    options.dry_run |= call.query.dry_run("CreateOptions")?;
    call.writing(|writer| writer.evict(&call.path.namespace, &call.path.name, options))?;
    Ok(respond::json(
        StatusCode::CREATED,
        &json!({"kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Success", "code": 201}),
    ))
}

fn budgets() -> &'static Arc<Kind> {
    builtin("policy", "v1", "poddisruptionbudgets")
}

/// The decision of the budgets about the eviction of a pod.
enum Decision {
    /// The pod is deleted; with `only_this_version`, only if it has not changed since the check.
    Delete { only_this_version: bool },
    /// The pod is deleted, and the budget allows one disruption less.
    Disrupt(Arc<Version>),
}

impl Writer<'_> {
    fn evict(&mut self, namespace: &str, name: &str, mut options: DeleteOptions) -> Result<(), Failure> {
        let pods = builtin("", "v1", "pods");
        let stored = self.stored(pods, namespace, name).ok_or_else(|| Failure::not_found(pods, name))?;
        let present = stored.object();
        match self.decision(namespace, &present)? {
            Decision::Disrupt(budget) if !options.dry_run => self.record_disruption(&budget, name),
            Decision::Delete { only_this_version: true } if options.resource_version.is_none() => {
                options.resource_version = Some(meta(&present, "resourceVersion").to_owned());
            }
            _ => {}
        }
        if !options.dry_run {
            crate::write::delete::check_preconditions(pods, name, &present, &options)?;
            let mut pod = Value::clone(&present);
            let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting"});
            self.set_condition(&mut pod, condition);
            if pod != *present {
                let marked = self.put(pods, pod);
                options.resource_version =
                    options.resource_version.map(|_| meta(&marked.object(), "resourceVersion").to_owned());
            }
        }
        self.delete(pods, namespace, name, &options).map(drop)
    }

    fn decision(&self, namespace: &str, pod: &Value) -> Result<Decision, Failure> {
        let phase = pod["status"]["phase"].as_str().unwrap_or_default();
        if is_terminating(pod) || matches!(phase, "Succeeded" | "Failed") {
            return Ok(Decision::Delete { only_this_version: false });
        }
        if phase == "Pending" {
            return Ok(Decision::Delete { only_this_version: true });
        }
        let prefix = store::key(namespace, "");
        let table = self.state.store.table(&budgets().storage);
        let mut ours =
            table.into_iter().flat_map(|table| table.range(&prefix)).map(|(_, version)| version).filter(
                |version| {
                    let object = version.object();
                    let selector = &object["spec"]["selector"];
                    // An empty selector selects nothing here.
                    selector.as_object().is_some_and(|fields| !fields.is_empty())
                        && selects(selector, &pod["metadata"]["labels"])
                },
            );
        let Some(budget) = ours.next().cloned() else {
            return Ok(Decision::Delete { only_this_version: false });
        };
        if ours.next().is_some() {
            return Err(Failure::internal(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            ));
        }
        let object = budget.object();
        let (spec, status) = (&object["spec"], &object["status"]);
        let count = |field: &str| status[field].as_i64().unwrap_or(0);
        if !is_ready(pod) {
            let enough = count("desiredHealthy") > 0 && count("currentHealthy") >= count("desiredHealthy");
            if enough || spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow" {
                return Ok(Decision::Delete { only_this_version: true });
            }
        }
        allows(&object).map(|()| Decision::Disrupt(budget))
    }

    /// Reduces the allowed disruptions of a budget, and records the disrupted pod.
    fn record_disruption(&mut self, budget: &Version, pod: &str) {
        let mut object = Value::clone(&budget.object());
        let status = child(&mut object, "status");
        let left = status["disruptionsAllowed"].as_i64().unwrap_or(0) - 1;
        status["disruptionsAllowed"] = left.into();
        let now = time(self.server.clock.now());
        child(status, "disruptedPods")[pod] = now.clone();
        let listed = status.get_mut("conditions").and_then(Value::as_array_mut);
        if left == 0 {
            for condition in
                listed.into_iter().flatten().filter(|condition| condition["type"] == "DisruptionAllowed")
            {
                condition["status"] = "False".into();
                condition["reason"] = "InsufficientPods".into();
                condition["lastTransitionTime"] = now.clone();
            }
        }
        self.put(budgets(), object);
    }
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// Checks that a budget allows one more disruption.
fn allows(budget: &Value) -> Result<(), Failure> {
    let name = meta(budget, "name");
    let status = &budget["status"];
    let refused = |message: &str, seconds: Option<u64>| {
        let why = "Cannot evict pod as it would violate the pod's disruption budget.";
        Failure::too_many_requests(why, seconds).with_cause("DisruptionBudget", message, "")
    };
    let generation = budget["metadata"]["generation"].as_i64().unwrap_or(0);
    if status["observedGeneration"].as_i64().unwrap_or(0) < generation {
        let message = format!("The disruption budget {name} is still being processed by the server.");
        return Err(refused(&message, Some(10)));
    }
    let forbidden = |why: &str| {
        let message = format!("poddisruptionbudgets.policy {name:?} is forbidden: {why}");
        Failure { message, ..Failure::forbidden(budgets(), name, why) }
    };
    let allowed = status["disruptionsAllowed"].as_i64().unwrap_or(0);
    if allowed < 0 {
        return Err(forbidden("pdb disruptions allowed is negative"));
    }
    if status["disruptedPods"].as_object().is_some_and(|pods| pods.len() > MAX_DISRUPTED) {
        return Err(forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ));
    }
    if allowed == 0 {
        let count = |field: &str| status[field].as_i64().unwrap_or(0);
        let (wanted, present) = (count("desiredHealthy"), count("currentHealthy"));
        let message =
            format!("The disruption budget {name} needs {wanted} healthy pods and has {present} currently");
        return Err(refused(&message, None));
    }
    Ok(())
}
