//! The rows of nodes, namespaces, events and leases.

use jiff::Timestamp;
use serde_json::Value;

use super::cells::{age, condition, int_of, items, name, or, or_none, since, str_of};
use super::column::{AGE, NAME, Printer, text, wide};

pub(super) static NODES: Printer = Printer {
    columns: &[
        NAME,
        text("Status", "The readiness of the node, with a note if the node accepts no pods."),
        text("Roles", "The roles that the labels of the node name."),
        AGE,
        text("Version", "The version of the kubelet."),
        wide(text("Internal-IP", "The address inside the cluster.")),
        wide(text("External-IP", "The address outside of the cluster.")),
        wide(text("OS-Image", "The operating system.")),
        wide(text("Kernel-Version", "The version of the kernel.")),
        wide(text("Container-Runtime", "The container runtime and its version.")),
    ],
    cells: |object, now| {
        let info = &object["status"]["nodeInfo"];
        let address = |kind: &str| {
            let found = items(&object["status"]["addresses"]).find(|address| address["type"] == kind);
            Value::from(found.map_or("<none>", |address| or_none(&address["address"])))
        };
        let known = |field: &str| Value::from(or(&info[field], "<unknown>"));
        vec![
            name(object),
            node_status(object).into(),
            roles(object).into(),
            age(object, now),
            str_of(&info["kubeletVersion"]).into(),
            address("InternalIP"),
            address("ExternalIP"),
            known("osImage"),
            known("kernelVersion"),
            known("containerRuntimeVersion"),
        ]
    },
};

fn node_status(node: &Value) -> String {
    let ready = match condition(node, "Ready") {
        "" => "Unknown",
        "True" => "Ready",
        _ => "NotReady",
    };
    let closed = if node["spec"]["unschedulable"] == true { ",SchedulingDisabled" } else { "" };
    format!("{ready}{closed}")
}

fn roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let mut roles: Vec<&str> = labels
        .filter_map(|(label, value)| match label.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if label == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    if roles.is_empty() { "<none>".to_owned() } else { roles.join(",") }
}

pub(super) static NAMESPACES: Printer = Printer {
    columns: &[NAME, text("Status", "The phase of the namespace: Active or Terminating."), AGE],
    cells: |object, now| vec![name(object), str_of(&object["status"]["phase"]).into(), age(object, now)],
};

pub(super) static LEASES: Printer = Printer {
    columns: &[NAME, text("Holder", "The identity of the holder."), AGE],
    cells: |object, now| {
        vec![name(object), str_of(&object["spec"]["holderIdentity"]).into(), age(object, now)]
    },
};

pub(super) static EVENTS: Printer = Printer {
    columns: &[
        text("Last Seen", "The time since the event last happened."),
        text("Type", "The type of the event: Normal or Warning."),
        text("Reason", "The reason for the event, in one word."),
        text("Object", "The object that the event is about."),
        wide(text("Subobject", "The part of the object that the event is about.")),
        wide(text("Source", "The component that reports the problem.")),
        text("Message", "A description of the event."),
        wide(text("First Seen", "The time since the event first happened.")),
        wide(text("Count", "The number of times that the event has happened.")),
        wide(NAME),
    ],
    cells: |object, now| event(&in_core_form(object), now),
};

/// Converts events of `events.k8s.io` into the form of the core group.
fn in_core_form(event: &Value) -> std::borrow::Cow<'_, Value> {
    match str_of(&event["apiVersion"]) {
        "events.k8s.io/v1" => std::borrow::Cow::Owned(crate::kind::events::to_core(event)),
        _ if event["involvedObject"].is_null() && event["regarding"].is_object() => {
            std::borrow::Cow::Owned(crate::kind::events::to_core(event))
        }
        _ => std::borrow::Cow::Borrowed(event),
    }
}

fn event(event: &Value, now: Timestamp) -> Vec<Value> {
    let time = |value: &Value| (!value.is_null()).then(|| since(value, now));
    let first = time(&event["firstTimestamp"]).unwrap_or_else(|| since(&event["eventTime"], now));
    let series = &event["series"];
    let (last, count) = if series.is_object() {
        (since(&series["lastObservedTime"], now), int_of(&series["count"]))
    } else {
        let count = int_of(&event["count"]);
        (time(&event["lastTimestamp"]).unwrap_or_else(|| first.clone()), count.max(i64::from(count == 0)))
    };
    let about = &event["involvedObject"];
    let kind = str_of(&about["kind"]).to_lowercase();
    let object = match str_of(&about["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let source = &event["source"];
    let component = or(&source["component"], str_of(&event["reportingComponent"]));
    let source = match or(&source["host"], str_of(&event["reportingInstance"])) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    };
    vec![
        last.into(),
        str_of(&event["type"]).into(),
        str_of(&event["reason"]).into(),
        object.into(),
        str_of(&about["fieldPath"]).into(),
        source.into(),
        str_of(&event["message"]).trim().into(),
        first.into(),
        count.into(),
        name(event),
    ]
}

pub(super) static API_SERVICES: Printer = Printer {
    columns: &[
        NAME,
        text("Service", "The service that serves the group version."),
        text("Available", "The availability of the service."),
        AGE,
    ],
    cells: |object, now| {
        let service = match &object["spec"]["service"] {
            Value::Null => "Local".to_owned(),
            service => format!("{}/{}", str_of(&service["namespace"]), str_of(&service["name"])),
        };
        let found = items(&object["status"]["conditions"]).find(|condition| condition["type"] == "Available");
        let available = match found {
            None => "Unknown".to_owned(),
            Some(condition) if condition["status"] == "True" => "True".to_owned(),
            Some(condition) => format!("{} ({})", str_of(&condition["status"]), str_of(&condition["reason"])),
        };
        vec![name(object), service.into(), available.into(), age(object, now)]
    },
};

pub(super) static RUNTIMES: Printer = Printer {
    columns: &[NAME, text("Handler", "The handler that runs the pods of the class."), AGE],
    cells: |object, now| vec![name(object), str_of(&object["handler"]).into(), age(object, now)],
};
