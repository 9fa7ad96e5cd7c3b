//! The subresources that need a kubelet: logs, commands, ports.
//!
//! There are no kubelets, so the responses are those of a real server that cannot reach the kubelet.

use http::{Response, StatusCode, header};
use serde_json::Value;

use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::respond::{self, ApiBody};
use crate::kind::builtin::builtin;
use crate::store;

/// Answers requests on subresources that need a kubelet.
/// These are `/log`, `/exec`, `/attach`, `/portforward` and `/proxy` of pods, and `/proxy` of services and nodes.
pub(crate) fn through_kubelet(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let kind = &call.kind;
    let (namespace, name) = (&call.path.namespace, &call.path.name);
    let found = |plural: &str, namespace: &str, name: &str| {
        let kind = builtin("", "v1", plural);
        let state = call.server.inner.state();
        let version = state.store.get(&kind.storage, &store::key(namespace, name)).cloned();
        version.map(|version| version.object()).ok_or_else(|| Failure::not_found(kind, name))
    };
    let object = found(&kind.plural, namespace, name)?;
    let subresource = call.path.subresource.split('/').next().unwrap_or_default();
    if subresource == "proxy" {
        return Err(unreachable_service(&kind.plural, name, &object));
    }
    let node = object["spec"]["nodeName"].as_str().unwrap_or_default();
    if node.is_empty() {
        if subresource == "log" {
            return Ok(respond::json_bytes(StatusCode::NO_CONTENT, bytes::Bytes::new()));
        }
        return Err(Failure::bad_request(format!("pod {name} does not have a host assigned")));
    }
    let node = found("nodes", "", node)?;
    let address = address(&node);
    if subresource == "log" {
        let container = match call.query.get("container") {
            "" => object["spec"]["containers"][0]["name"].as_str().unwrap_or_default(),
            container => container,
        };
        return Err(Failure::internal(format!(
            "Get \"https://{address}:10250/containerLogs/{namespace}/{name}/{container}\": dial tcp {address}:10250: \
             connect: connection refused"
        )));
    }
    if !call.parts.headers.contains_key(header::UPGRADE) {
        return Err(Failure::bad_request("Upgrade request required"));
    }
    Err(Failure::internal(format!(
        "error dialing backend: dial tcp {address}:10250: connect: connection refused"
    )))
}

/// The address at which the kubelet of a node would listen.
fn address(node: &Value) -> String {
    let listed = node["status"]["addresses"].as_array().into_iter().flatten();
    let mut internal = listed.filter(|address| address["type"] == "InternalIP");
    let named = internal.next().and_then(|address| address["address"].as_str());
    named.or(node["metadata"]["name"].as_str()).unwrap_or_default().to_owned()
}

fn unreachable_service(plural: &str, name: &str, object: &Value) -> Failure {
    let target = match plural {
        "services" => {
            return Failure::unavailable(format!("no endpoints available for service {name:?}"));
        }
        "nodes" => format!("{}:10250", address(object)),
        _ => match object["status"]["podIP"].as_str() {
            None => return Failure::bad_request("address not allowed"),
            Some(ip) => ip.to_owned(),
        },
    };
    Failure::unavailable(format!(
        "error trying to reach service: dial tcp {target}: connect: connection refused"
    ))
}
