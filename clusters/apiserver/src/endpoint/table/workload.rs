//! The rows of workloads.

use jiff::Timestamp;
use serde_json::Value;

use super::cells::{
    age, between, condition, containers, count, int_of, items, labels, name, or_none, selector,
    selector_text, since, str_of,
};
use super::column::{AGE, CONTAINERS, IMAGES, NAME, Printer, SELECTOR, boolean, integer, text};

/// Appends the containers of a template, and the selector if there is one.
fn with_containers(mut cells: Vec<Value>, pod_spec: &Value, selector: Option<String>) -> Vec<Value> {
    cells.extend(containers(pod_spec));
    cells.extend(selector.map(Value::from));
    cells
}

fn number(value: &Value) -> Value {
    int_of(value).into()
}

pub(super) static DEPLOYMENTS: Printer = Printer {
    columns: &[
        NAME,
        text("Ready", "The number of ready pods, and of desired pods."),
        text("Up-to-date", "The number of pods that were created from the present template."),
        text("Available", "The number of pods that have been ready for the minimum time."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let ready = format!("{}/{}", int_of(&status["readyReplicas"]), int_of(&spec["replicas"]));
        let (updated, available) = (number(&status["updatedReplicas"]), number(&status["availableReplicas"]));
        let cells = vec![name(object), ready.into(), updated, available, age(object, now)];
        with_containers(cells, &spec["template"]["spec"], Some(selector_text(&spec["selector"])))
    },
};

fn replicas(object: &Value, now: Timestamp, selector: String) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let numbers = [&spec["replicas"], &status["replicas"], &status["readyReplicas"]].map(number);
    let cells = [name(object)].into_iter().chain(numbers).chain([age(object, now)]).collect();
    with_containers(cells, &spec["template"]["spec"], Some(selector))
}

pub(super) static REPLICA_SETS: Printer = Printer {
    columns: REPLICATION_CONTROLLERS.columns,
    cells: |object, now| replicas(object, now, selector(&object["spec"]["selector"])),
};

pub(super) static REPLICATION_CONTROLLERS: Printer = Printer {
    columns: &[
        NAME,
        integer("Desired", "The number of desired pods."),
        integer("Current", "The number of existing pods."),
        integer("Ready", "The number of ready pods."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |object, now| replicas(object, now, labels(&object["spec"]["selector"])),
};

pub(super) static STATEFUL_SETS: Printer = Printer {
    columns: &[
        NAME,
        text("Ready", "The number of ready pods, and of desired pods."),
        AGE,
        CONTAINERS,
        IMAGES,
    ],
    cells: |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let ready = format!("{}/{}", int_of(&status["readyReplicas"]), int_of(&spec["replicas"]));
        with_containers(vec![name(object), ready.into(), age(object, now)], &spec["template"]["spec"], None)
    },
};

pub(super) static DAEMON_SETS: Printer = Printer {
    columns: &[
        NAME,
        integer("Desired", "The number of nodes that should run a pod."),
        integer("Current", "The number of nodes that run a pod."),
        integer("Ready", "The number of ready pods."),
        integer("Up-to-date", "The number of pods that were created from the present template."),
        integer("Available", "The number of pods that have been ready for the minimum time."),
        text("Node Selector", "The labels of the nodes that should run a pod."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let pod_spec = &spec["template"]["spec"];
        let fields = [
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
        ];
        let mut cells = vec![name(object)];
        cells.extend(fields.map(|field| number(&status[field])));
        cells.extend([labels(&pod_spec["nodeSelector"]).into(), age(object, now)]);
        with_containers(cells, pod_spec, Some(selector(&spec["selector"])))
    },
};

pub(super) static JOBS: Printer = Printer {
    columns: &[
        NAME,
        text("Status", "The state of the job."),
        text("Completions", "The number of pods that have succeeded, and of pods that should succeed."),
        text("Duration", "The time from the start of the job to its end, or until now."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let duration = match (&status["startTime"], &status["completionTime"]) {
            (Value::Null, _) => String::new(),
            (start, Value::Null) => since(start, now),
            (start, end) => between(start, end).unwrap_or_default(),
        };
        let state = job_state(object);
        let cells =
            vec![name(object), state.into(), completions(object).into(), duration.into(), age(object, now)];
        with_containers(cells, &spec["template"]["spec"], Some(selector(&spec["selector"])))
    },
};

fn job_state(job: &Value) -> &'static str {
    let is = |kind: &str| condition(job, kind) == "True";
    if is("Complete") {
        return "Complete";
    }
    if is("Failed") {
        return "Failed";
    }
    if !job["metadata"]["deletionTimestamp"].is_null() {
        return "Terminating";
    }
    ["Suspended", "FailureTarget", "SuccessCriteriaMet"]
        .into_iter()
        .find(|kind| is(kind))
        .unwrap_or("Running")
}

fn completions(job: &Value) -> String {
    let succeeded = int_of(&job["status"]["succeeded"]);
    match (job["spec"]["completions"].as_i64(), int_of(&job["spec"]["parallelism"])) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

pub(super) static CRON_JOBS: Printer = Printer {
    columns: &[
        NAME,
        text("Schedule", "The schedule on which jobs are created, in the format of cron."),
        text("Timezone", "The time zone of the schedule."),
        boolean("Suspend", "True if no jobs are created for now."),
        integer("Active", "The number of running jobs."),
        text("Last Schedule", "The time since the last job was created."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let job = &spec["jobTemplate"]["spec"];
        let suspended = match spec["suspend"].as_bool() {
            Some(true) => "True",
            Some(false) => "False",
            None => "<unset>",
        };
        let last = match &status["lastScheduleTime"] {
            Value::Null => "<none>".to_owned(),
            time => since(time, now),
        };
        let cells = vec![
            name(object),
            str_of(&spec["schedule"]).into(),
            or_none(&spec["timeZone"]).into(),
            suspended.into(),
            count(&status["active"]).into(),
            last.into(),
            age(object, now),
        ];
        with_containers(cells, &job["template"]["spec"], Some(selector(&job["selector"])))
    },
};

pub(super) static SCALES: Printer = Printer {
    columns: &[
        NAME,
        integer("Desired", "The number of desired pods."),
        integer("Available", "The number of existing pods."),
        AGE,
    ],
    cells: |object, now| {
        let numbers = [&object["spec"]["replicas"], &object["status"]["replicas"]].map(number);
        [name(object)].into_iter().chain(numbers).chain([age(object, now)]).collect()
    },
};

pub(super) static POD_TEMPLATES: Printer = Printer {
    columns: &[
        NAME,
        text("Containers", "The names of the containers."),
        text("Images", "The images of the containers."),
        text("Pod Labels", "The labels of the pods that are created from the template."),
    ],
    cells: |object, _| {
        let template = &object["template"];
        with_containers(vec![name(object)], &template["spec"], Some(labels(&template["metadata"]["labels"])))
    },
};

pub(super) static REVISIONS: Printer = Printer {
    columns: &[
        NAME,
        text("Controller", "The object whose template the revision keeps."),
        text("Revision", "The number of the revision."),
        AGE,
    ],
    cells: |object, now| {
        let owner = items(&object["metadata"]["ownerReferences"]).find(|owner| owner["controller"] == true);
        let controller = owner.map_or_else(|| "<none>".to_owned(), owner_text);
        vec![name(object), controller.into(), number(&object["revision"]), age(object, now)]
    },
};

/// `kind.group/name` of an owner.
fn owner_text(owner: &Value) -> String {
    let kind = str_of(&owner["kind"]).to_lowercase();
    match str_of(&owner["apiVersion"]).split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{}", str_of(&owner["name"])),
        None => format!("{kind}/{}", str_of(&owner["name"])),
    }
}

pub(super) static AUTOSCALERS: Printer = Printer {
    columns: &[
        NAME,
        text("Reference", "The object that the autoscaler scales."),
        text("Targets", "The current values of the metrics, and their target values."),
        text("MinPods", "The minimum number of pods."),
        text("MaxPods", "The maximum number of pods."),
        text("Replicas", "The number of existing pods."),
        AGE,
    ],
    cells: |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let target = &spec["scaleTargetRef"];
        let reference = format!("{}/{}", str_of(&target["kind"]), str_of(&target["name"]));
        let least =
            spec["minReplicas"].as_i64().map_or_else(|| "<unset>".to_owned(), |least| least.to_string());
        vec![
            name(object),
            reference.into(),
            metrics(&spec["metrics"], &status["currentMetrics"]).into(),
            least.into(),
            number(&spec["maxReplicas"]),
            number(&status["currentReplicas"]),
            age(object, now),
        ]
    },
};

/// The metrics of an autoscaler: the current and the target value of each metric.
fn metrics(wanted: &Value, found: &Value) -> String {
    const MOST: usize = 2;
    if count(wanted) == 0 {
        return "<none>".to_owned();
    }
    let all: Vec<_> =
        items(wanted).enumerate().map(|(index, metric)| one_metric(metric, &found[index])).collect();
    let shown = all[..all.len().min(MOST)].join(", ");
    if all.len() > MOST { format!("{shown} + {} more...", all.len() - MOST) } else { shown }
}

fn one_metric(metric: &Value, found: &Value) -> String {
    let (source, of_resource) = match str_of(&metric["type"]) {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let (target, current) = (&metric[source]["target"], &found[source]["current"]);
    let shown = |field: &str| match &current[field] {
        Value::Null => "<unknown>".to_owned(),
        Value::Number(percent) => format!("{percent}%"),
        quantity => str_of(quantity).to_owned(),
    };
    let average = target["averageValue"].as_str();
    if of_resource {
        let resource = str_of(&metric[source]["name"]);
        return match (average, target["averageUtilization"].as_i64()) {
            (Some(average), _) => format!("{resource}: {}/{average}", shown("averageValue")),
            (None, Some(percent)) => format!("{resource}: {}/{percent}%", shown("averageUtilization")),
            (None, None) => format!("{resource}: {}/<auto>", shown("averageUtilization")),
        };
    }
    match (source, average) {
        ("pods", _) => format!("{}/{}", shown("averageValue"), average.unwrap_or_default()),
        (_, Some(average)) => format!("{}/{average} (avg)", shown("averageValue")),
        (_, None) => format!("{}/{}", shown("value"), str_of(&target["value"])),
    }
}

/// The printer of kinds that show only a name and an age.
pub(super) static NAME_AND_AGE: Printer =
    Printer { columns: &[NAME, AGE], cells: |object, now| vec![name(object), age(object, now)] };

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_metric_shows_its_current_and_target_value() {
        let resource =
            |target: Value| json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        let wanted = json!([resource(json!({"averageUtilization": 80})), resource(json!({"averageValue": "1"})),
            {"type": "Pods", "pods": {"target": {"averageValue": "2"}}}]);
        let found = json!([{"resource": {"current": {"averageUtilization": 10}}}]);
        assert_eq!(metrics(&wanted, &found), "cpu: 10%/80%, cpu: <unknown>/1 + 1 more...");
        assert_eq!(metrics(&Value::Null, &Value::Null), "<none>");
    }
}
