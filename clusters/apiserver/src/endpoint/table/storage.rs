//! The rows of storage kinds, config maps, secrets, quotas, service accounts and priority classes.

use serde_json::Value;

use super::cells::{age, count, int_of, items, name, or, str_of};
use super::column::{AGE, Column, NAME, Printer, boolean, integer, text, wide};

const STORAGE_CLASS: Column = text("StorageClass", "The class of the storage.");
const ATTRIBUTES_CLASS: Column = text("VolumeAttributesClass", "The class of the volume's attributes.");
const VOLUME_MODE: Column = wide(text("VolumeMode", "The mode of the volume: Filesystem or Block."));
const CAPACITY: Column = text("Capacity", "The amount of storage.");
const ACCESS_MODES: Column = text("Access Modes", "The modes in which the volume can be mounted.");

/// The short names of the access modes of a volume.
fn access_modes(modes: &Value) -> String {
    let order = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let given = |mode: &str| items(modes).any(|given| given == mode);
    order.into_iter().filter(|(mode, _)| given(mode)).map(|(_, short)| short).collect::<Vec<_>>().join(",")
}

fn phase(object: &Value) -> &str {
    if object["metadata"]["deletionTimestamp"].is_null() {
        str_of(&object["status"]["phase"])
    } else {
        "Terminating"
    }
}

/// The class of a volume or a claim; older objects have it in an annotation.
fn class(object: &Value) -> &str {
    let old = &object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
    or(old, str_of(&object["spec"]["storageClassName"]))
}

pub(super) static VOLUMES: Printer = Printer {
    columns: &[
        NAME,
        CAPACITY,
        ACCESS_MODES,
        text("Reclaim Policy", "The policy for the volume when its claim is deleted."),
        text("Status", "The phase of the volume, such as Available or Bound."),
        text("Claim", "The claim that the volume is bound to."),
        STORAGE_CLASS,
        ATTRIBUTES_CLASS,
        text("Reason", "The reason for the phase of the volume."),
        AGE,
        VOLUME_MODE,
    ],
    cells: |object, now| {
        let spec = &object["spec"];
        let claim = match &spec["claimRef"] {
            Value::Null => String::new(),
            claim => format!("{}/{}", str_of(&claim["namespace"]), str_of(&claim["name"])),
        };
        vec![
            name(object),
            str_of(&spec["capacity"]["storage"]).into(),
            access_modes(&spec["accessModes"]).into(),
            str_of(&spec["persistentVolumeReclaimPolicy"]).into(),
            phase(object).into(),
            claim.into(),
            class(object).into(),
            or(&spec["volumeAttributesClassName"], "<unset>").into(),
            str_of(&object["status"]["reason"]).into(),
            age(object, now),
            or(&spec["volumeMode"], "<unset>").into(),
        ]
    },
};

pub(super) static CLAIMS: Printer = Printer {
    columns: &[
        NAME,
        text("Status", "The phase of the claim, such as Pending or Bound."),
        text("Volume", "The volume that the claim is bound to."),
        CAPACITY,
        ACCESS_MODES,
        STORAGE_CLASS,
        ATTRIBUTES_CLASS,
        AGE,
        VOLUME_MODE,
    ],
    cells: |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let volume = str_of(&spec["volumeName"]);
        let (capacity, modes) = match volume {
            "" => ("", String::new()),
            _ => (str_of(&status["capacity"]["storage"]), access_modes(&status["accessModes"])),
        };
        vec![
            name(object),
            phase(object).into(),
            volume.into(),
            capacity.into(),
            modes.into(),
            class(object).into(),
            or(&spec["volumeAttributesClassName"], "<unset>").into(),
            age(object, now),
            or(&spec["volumeMode"], "<unset>").into(),
        ]
    },
};

pub(super) static CLASSES: Printer = Printer {
    columns: &[
        NAME,
        text("Provisioner", "The provisioner that creates volumes of the class."),
        text("ReclaimPolicy", "The policy for a volume when its claim is deleted."),
        text("VolumeBindingMode", "The time at which a claim is bound: Immediate or WaitForFirstConsumer."),
        boolean("AllowVolumeExpansion", "True if volumes can be expanded."),
        AGE,
    ],
    cells: |object, now| {
        let default =
            object["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true";
        let shown = match (name(object), default) {
            (Value::String(name), true) => format!("{name} (default)").into(),
            (name, _) => name,
        };
        vec![
            shown,
            str_of(&object["provisioner"]).into(),
            or(&object["reclaimPolicy"], "Delete").into(),
            or(&object["volumeBindingMode"], "Immediate").into(),
            object["allowVolumeExpansion"].as_bool().unwrap_or_default().into(),
            age(object, now),
        ]
    },
};

pub(super) static ATTRIBUTES_CLASSES: Printer = Printer {
    columns: &[NAME, text("DriverName", "The driver that knows the class."), AGE],
    cells: |object, now| vec![name(object), str_of(&object["driverName"]).into(), age(object, now)],
};

pub(super) static DRIVERS: Printer = Printer {
    columns: &[
        NAME,
        boolean("AttachRequired", "True if volumes are attached before they are mounted."),
        boolean("PodInfoOnMount", "True if the driver needs information about the pod of a volume."),
        boolean("StorageCapacity", "True if the driver reports its storage capacity."),
        text("TokenRequests", "The audiences of the tokens that the driver gets."),
        boolean("RequiresRepublish", "True if volumes are published again periodically."),
        text("Modes", "The lifecycles of volumes that the driver supports."),
        AGE,
    ],
    cells: |object, now| {
        let spec = &object["spec"];
        let is = |field: &str, otherwise: bool| Value::from(spec[field].as_bool().unwrap_or(otherwise));
        let modes: Vec<_> = items(&spec["volumeLifecycleModes"]).map(str_of).collect();
        let modes = if modes.is_empty() { "Persistent".to_owned() } else { modes.join(",") };
        let tokens: Vec<_> =
            items(&spec["tokenRequests"]).map(|request| str_of(&request["audience"])).collect();
        let tokens = if tokens.is_empty() { "<unset>".to_owned() } else { tokens.join(",") };
        vec![
            name(object),
            is("attachRequired", true),
            is("podInfoOnMount", false),
            is("storageCapacity", false),
            tokens.into(),
            is("requiresRepublish", false),
            modes.into(),
            age(object, now),
        ]
    },
};

pub(super) static NODE_DRIVERS: Printer = Printer {
    columns: &[NAME, integer("Drivers", "The number of drivers on the node."), AGE],
    cells: |object, now| vec![name(object), count(&object["spec"]["drivers"]).into(), age(object, now)],
};

pub(super) static CAPACITIES: Printer = Printer {
    columns: &[NAME, text("StorageClassName", "The class of the storage."), CAPACITY, AGE],
    cells: |object, now| {
        let class = or(&object["storageClassName"], "<unset>").into();
        vec![name(object), class, or(&object["capacity"], "<unset>").into(), age(object, now)]
    },
};

pub(super) static ATTACHMENTS: Printer = Printer {
    columns: &[
        NAME,
        text("Attacher", "The driver that attaches the volume."),
        text("PV", "The volume."),
        text("Node", "The node that the volume is attached to."),
        boolean("Attached", "True if the volume is attached."),
        AGE,
    ],
    cells: |object, now| {
        let spec = &object["spec"];
        vec![
            name(object),
            str_of(&spec["attacher"]).into(),
            str_of(&spec["source"]["persistentVolumeName"]).into(),
            str_of(&spec["nodeName"]).into(),
            object["status"]["attached"].as_bool().unwrap_or_default().into(),
            age(object, now),
        ]
    },
};

pub(super) static CONFIG_MAPS: Printer = Printer {
    columns: &[NAME, text("Data", "The number of entries."), AGE],
    cells: |object, now| {
        let entries = count(&object["data"]) + count(&object["binaryData"]);
        vec![name(object), entries.into(), age(object, now)]
    },
};

pub(super) static SECRETS: Printer = Printer {
    columns: &[NAME, text("Type", "The type of the secret."), text("Data", "The number of entries."), AGE],
    cells: |object, now| {
        vec![name(object), str_of(&object["type"]).into(), count(&object["data"]).into(), age(object, now)]
    },
};

pub(super) static QUOTAS: Printer = Printer {
    columns: &[
        NAME,
        text("Request", "The used amounts and the quotas of everything except limits."),
        text("Limit", "The used amounts and the quotas of limits."),
        AGE,
    ],
    cells: |object, now| {
        let (hard, used) = (&object["status"]["hard"], &object["status"]["used"]);
        let mut resources: Vec<&String> =
            hard.as_object().into_iter().flat_map(serde_json::Map::keys).collect();
        resources.sort();
        let shown = |limits: bool| {
            let of = resources.iter().filter(|resource| resource.starts_with("limits.") == limits);
            let text = |resource: &&&String| {
                format!("{resource}: {}/{}", or(&used[**resource], "0"), str_of(&hard[**resource]))
            };
            Value::from(of.map(|resource| text(&resource)).collect::<Vec<_>>().join(", "))
        };
        vec![name(object), shown(false), shown(true), age(object, now)]
    },
};

pub(super) static SLICES: Printer = Printer {
    columns: &[
        NAME,
        text("Node", "The node that has the devices."),
        text("Driver", "The driver of the devices."),
        text("Pool", "The pool that the devices belong to."),
        AGE,
    ],
    cells: |object, now| {
        let spec = &object["spec"];
        vec![
            name(object),
            or(&spec["nodeName"], if spec["allNodes"] == true { "<all>" } else { "" }).into(),
            str_of(&spec["driver"]).into(),
            str_of(&spec["pool"]["name"]).into(),
            age(object, now),
        ]
    },
};

pub(super) static RESOURCE_CLAIMS: Printer = Printer {
    columns: &[NAME, text("State", "The state of the claim: allocated, reserved, or pending."), AGE],
    cells: |object, now| {
        let status = &object["status"];
        let mut states = Vec::new();
        if !object["metadata"]["deletionTimestamp"].is_null() {
            states.push("deleted");
        }
        if status["allocation"].is_null() {
            if states.is_empty() {
                states.push("pending");
            }
        } else {
            states.push("allocated");
            if count(&status["reservedFor"]) > 0 {
                states.push("reserved");
            }
        }
        vec![name(object), states.join(",").into(), age(object, now)]
    },
};

pub(super) static ACCOUNTS: Printer = Printer {
    columns: &[NAME, text("Secrets", "The number of secrets that pods of the account may use."), AGE],
    cells: |object, now| vec![name(object), count(&object["secrets"]).into(), age(object, now)],
};

pub(super) static PRIORITIES: Printer = Printer {
    columns: &[
        NAME,
        integer("Value", "The priority of the pods of the class."),
        boolean("Global-Default", "True if the class is the default for pods that name no class."),
        AGE,
        text("PreemptionPolicy", "The policy for the preemption of pods with a lower priority."),
    ],
    cells: |object, now| {
        let policy = or(&object["preemptionPolicy"], "PreemptLowerPriority");
        vec![
            name(object),
            int_of(&object["value"]).into(),
            object["globalDefault"].as_bool().unwrap_or_default().into(),
            age(object, now),
            policy.into(),
        ]
    },
};
