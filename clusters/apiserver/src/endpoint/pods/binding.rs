//! `/binding`: assigns a pod to a node.

use http::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::http::body;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::respond::{self, ApiBody};
use crate::kind::builtin::builtin;
use crate::kind::object::{check_metadata_types, child, is_terminating, meta, time};
use crate::write::writer::Writer;

/// POST to a pod's `/binding`.
pub(crate) fn bind(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let binding = read(call)?;
    if meta(&binding, "name") != call.path.name {
        return Err(Failure::bad_request("name in URL does not match name in Binding object"));
    }
    answer(call, &binding)
}

/// POST of a Binding to the collection of bindings. The Binding names the pod.
pub(crate) fn bind_by_name(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    if call.parts.method != Method::POST || call.path.namespace.is_empty() {
        return Err(Failure::method_not_allowed());
    }
    answer(call, &read(call)?)
}

fn read(call: &Call<'_>) -> Result<Value, Failure> {
    let binding = body::typed_body(call.content_type(), &call.body, &[("", "v1", "Binding")])?;
    check_metadata_types(&binding)?;
    Ok(binding)
}

fn answer(call: &Call<'_>, binding: &Value) -> Result<Response<ApiBody>, Failure> {
    let target = |field: &str| binding["target"][field].as_str().unwrap_or_default();
    if !matches!(target("kind"), "" | "Node") {
        let kind = &binding["target"]["kind"];
        return Err(Failure::internal(format!(
            "target.kind: Unsupported value: {kind}: supported values: \"Node\", \"<empty>\""
        )));
    }
    if target("name").is_empty() {
        return Err(Failure::internal("target.name: Required value"));
    }
    let dry_run = call.query.dry_run("CreateOptions")?;
    let node = target("name");
    call.writing(|writer| writer.assign(&call.path.namespace, binding, node, dry_run))?;
    Ok(respond::json(
        StatusCode::CREATED,
        &json!({"kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Success", "code": 201}),
    ))
}

impl Writer<'_> {
    fn assign(&mut self, namespace: &str, binding: &Value, node: &str, dry_run: bool) -> Result<(), Failure> {
        let pods = builtin("", "v1", "pods");
        let name = meta(binding, "name");
        let stored = self.stored(pods, namespace, name).ok_or_else(|| Failure::not_found(pods, name))?;
        let stored = stored.object();
        let refused = |why: String| Failure::conflict_of("", "pods/binding", name, &why);
        for (field, shown) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
            let (given, present) = (meta(binding, field), meta(&stored, field));
            if !given.is_empty() && given != present {
                let seen =
                    if field == "uid" { "UID in object meta" } else { "ResourceVersion in object meta" };
                return Err(refused(format!(
                    "Precondition failed: {shown} in precondition: {given}, {seen}: {present}"
                )));
            }
        }
        let mut pod = Value::clone(&stored);
        if is_terminating(&pod) {
            return Err(refused(format!("pod {name} is being deleted, cannot be assigned to a host")));
        }
        let present = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        if !present.is_empty() {
            return Err(refused(format!("pod {name} is already assigned to node {present:?}")));
        }
        if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
            return Err(refused(format!("pod {name} has non-empty .spec.schedulingGates")));
        }
        pod["spec"]["nodeName"] = node.into();
        if let Some(status) = pod["status"].as_object_mut() {
            status.remove("nominatedNodeName");
        }
        let added = ["annotations", "labels"].map(|field| (field, &binding["metadata"][field]));
        for (field, map) in added {
            for (key, value) in map.as_object().into_iter().flatten() {
                child(child(&mut pod, "metadata"), field)[key] = value.clone();
            }
        }
        self.set_condition(&mut pod, json!({"type": "PodScheduled", "status": "True"}));
        if !dry_run {
            self.put(pods, pod);
        }
        Ok(())
    }

    /// Sets a condition of a pod, with the time of the change if its status changed.
    pub(super) fn set_condition(&self, pod: &mut Value, mut condition: Value) {
        let now = time(self.server.clock.now());
        let status = child(pod, "status");
        let mut listed = status["conditions"].as_array().cloned().unwrap_or_default();
        let known = listed.iter_mut().find(|known| known["type"] == condition["type"]);
        condition["lastProbeTime"] = Value::Null;
        condition["lastTransitionTime"] = now;
        match known {
            Some(known) => {
                if known["status"] == condition["status"] {
                    condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
                }
                *known = condition;
            }
            None => listed.push(condition),
        }
        status["conditions"] = Value::Array(listed);
    }
}
