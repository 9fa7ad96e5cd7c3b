//! Validates containers: names, images, ports, variables, mounts, probes, resources.

use std::collections::BTreeSet;

use serde_json::Value;

use super::At;
use super::text::{self, PORT_RANGE};
use crate::http::failure::Cause;
use capsize_cel::Quantity;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];

/// The names that containers can refer to, and the names that are in use.
pub(super) struct Names<'a> {
    /// The volumes of the pod; `None` if they are not known.
    pub volumes: Option<&'a BTreeSet<&'a str>>,
    pub taken: BTreeSet<&'a str>,
}

/// Validates one list of containers of a pod. The list of main containers must not be empty.
pub(super) fn containers<'a>(at: &At<'a>, needed: bool, names: &mut Names<'a>, causes: &mut Vec<Cause>) {
    if needed && at.len() == 0 {
        causes.push(at.required(""));
    }
    for (index, value) in at.value.as_array().into_iter().flatten().enumerate() {
        let item = at.item(index);
        let name = value["name"].as_str().unwrap_or_default();
        container(&item, names.volumes, causes);
        if !name.is_empty() && !names.taken.insert(name) {
            causes.push(item.field("name").duplicate(&name.into()));
        }
    }
}

fn container(at: &At<'_>, volumes: Option<&BTreeSet<&str>>, causes: &mut Vec<Cause>) {
    let (name, image) = (at.field("name"), at.field("image"));
    name.not_empty(causes);
    name.in_form(text::label, causes);
    if image.text().is_empty() {
        causes.push(image.required(""));
    } else if image.text() != image.text().trim() {
        causes.push(image.invalid("must not have leading or trailing whitespace"));
    }
    at.field("terminationMessagePolicy").one_of(&["FallbackToLogsOnError", "File"], true, causes);
    for (field, once) in [("livenessProbe", true), ("readinessProbe", false), ("startupProbe", true)] {
        let it = at.field(field);
        if it.is_set() {
            probe(&it, once, causes);
        }
    }
    ports(&at.field("ports"), causes);
    variables(&at.field("env"), causes);
    mounts(&at.field("volumeMounts"), volumes, causes);
    at.field("imagePullPolicy").one_of(&PULL_POLICIES, true, causes);
    resources(&at.field("resources"), causes);
}

fn probe(at: &At<'_>, succeeds_once: bool, causes: &mut Vec<Cause>) {
    let handlers = ["exec", "httpGet", "tcpSocket", "grpc"];
    let given: Vec<_> = handlers.iter().filter(|handler| !at.value[**handler].is_null()).collect();
    match given.as_slice() {
        [] => causes.push(at.required("must specify a handler type")),
        [_] => {}
        [_, others @ ..] => causes.extend(
            others.iter().map(|other| at.field(other).forbidden("may not specify more than 1 handler type")),
        ),
    }
    let fields =
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];
    fields.iter().for_each(|field| at.field(field).not_negative(causes));
    let threshold = at.field("successThreshold");
    if succeeds_once && threshold.value.as_i64().is_some_and(|number| number > 1) {
        causes.push(threshold.invalid("must be 1"));
    }
}

fn ports(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut names = BTreeSet::new();
    for port in at.items() {
        let name = port.field("name");
        let problems = if name.text().is_empty() { Vec::new() } else { text::port_name(name.text()) };
        if !problems.is_empty() {
            causes.extend(problems.iter().map(|why| name.invalid(why)));
        } else if !name.text().is_empty() && !names.insert(name.text().to_owned()) {
            causes.push(name.duplicate(name.value));
        }
        let number = port.field("containerPort");
        match number.value.as_i64().unwrap_or(0) {
            0 => causes.push(number.required("")),
            value if !text::is_port(value) => causes.push(number.invalid(PORT_RANGE)),
            _ => {}
        }
        let host = port.field("hostPort");
        if host.value.as_i64().is_some_and(|value| value != 0 && !text::is_port(value)) {
            causes.push(host.invalid(PORT_RANGE));
        }
        port.field("protocol").one_of(&PROTOCOLS, false, causes);
    }
}

fn variables(at: &At<'_>, causes: &mut Vec<Cause>) {
    for variable in at.items() {
        let name = variable.field("name");
        let printable = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'=';
        if name.text().is_empty() {
            causes.push(name.required(""));
        } else if !name.text().bytes().all(printable) {
            let detail = "a valid environment variable name must consist only of printable ASCII characters other than '='";
            causes.push(name.invalid(detail));
        }
        let source = variable.field("valueFrom");
        if !source.is_set() {
            continue;
        }
        let known = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
        let given = known.iter().filter(|field| !source.value[**field].is_null()).count();
        let problem = if !variable.field("value").text().is_empty() {
            (given > 0).then_some("may not be specified when `value` is not empty")
        } else if given == 0 {
            Some(
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
            )
        } else {
            (given > 1).then_some("may not have more than one field specified at a time")
        };
        causes.extend(problem.map(|detail| Cause::invalid(source.path(), &"".into(), detail)));
    }
}

fn mounts(at: &At<'_>, volumes: Option<&BTreeSet<&str>>, causes: &mut Vec<Cause>) {
    let mut paths = BTreeSet::new();
    for mount in at.items() {
        let (name, path) = (mount.field("name"), mount.field("mountPath"));
        name.not_empty(causes);
        path.not_empty(causes);
        if volumes.is_some_and(|volumes| !volumes.contains(name.text())) {
            causes.push(Cause::new(
                "FieldValueNotFound",
                name.path(),
                format!("Not found: {:?}", name.text()),
            ));
        }
        if !paths.insert(path.text().to_owned()) {
            causes.push(path.invalid("must be unique"));
        }
        if !mount.field("subPath").text().is_empty() && !mount.field("subPathExpr").text().is_empty() {
            causes.push(mount.field("subPathExpr").invalid("subPathExpr and subPath are mutually exclusive"));
        }
    }
}

/// Validates the limits and requests of a container.
pub(super) fn resources(at: &At<'_>, causes: &mut Vec<Cause>) {
    let limits = at.field("limits");
    for side in ["limits", "requests"] {
        let amounts = at.field(side);
        for (name, value) in amounts.value.as_object().into_iter().flatten() {
            let entry = amounts.key(name);
            if !is_resource(name) {
                let detail = "must be a standard resource type or fully qualified";
                causes.push(Cause::invalid(entry.path(), &name.as_str().into(), detail));
            }
            let Some(amount) = Quantity::of(value) else { continue };
            if amount.amount() < 0 {
                causes.push(entry.invalid("must be greater than or equal to 0"));
            }
            let limit = Quantity::of(&limits.value[name.as_str()]).filter(|_| side == "requests");
            if let Some(limit) = limit.filter(|limit| amount.amount() > limit.amount()) {
                let detail = format!("must be less than or equal to {name} limit of {limit}");
                causes.push(amounts.invalid_shown(&amount.to_string().into(), &detail));
            }
        }
    }
}

fn is_resource(name: &str) -> bool {
    name.contains('/')
        || matches!(name, "cpu" | "memory" | "ephemeral-storage")
        || name.starts_with("hugepages-")
}

impl At<'_> {
    /// The problem of a value that is shown in another form than it is stored.
    pub(super) fn invalid_shown(&self, shown: &Value, detail: &str) -> Cause {
        Cause::invalid(self.path(), shown, detail)
    }
}
