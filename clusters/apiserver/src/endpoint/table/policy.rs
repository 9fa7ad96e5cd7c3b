//! The rows of roles, bindings, budgets, webhooks, policies, flow control and signing requests.

use jiff::SignedDuration;
use serde_json::Value;

use super::cells::{age, count, human, int_of, items, name, or, or_none, scalar, str_of};
use super::column::{AGE, NAME, Printer, integer, text, wide};

pub(super) static BUDGETS: Printer = Printer {
    columns: &[
        NAME,
        text("Min Available", "The minimum number of pods that must stay available."),
        text("Max Unavailable", "The maximum number of pods that may be unavailable."),
        integer("Allowed Disruptions", "The number of pods that may be disrupted now."),
        AGE,
    ],
    cells: |object, now| {
        let bound = |field: &str| match &object["spec"][field] {
            Value::Null => Value::from("N/A"),
            value => scalar(value).into(),
        };
        let allowed = int_of(&object["status"]["disruptionsAllowed"]).into();
        vec![name(object), bound("minAvailable"), bound("maxUnavailable"), allowed, age(object, now)]
    },
};

pub(super) static BINDINGS: Printer = Printer {
    columns: &[
        NAME,
        text("Role", "The role that the binding grants."),
        AGE,
        wide(text("Users", "The users that get the role.")),
        wide(text("Groups", "The groups that get the role.")),
        wide(text("ServiceAccounts", "The service accounts that get the role.")),
    ],
    cells: |object, now| {
        let role = &object["roleRef"];
        let subjects = |kind: &str| {
            let of = items(&object["subjects"]).filter(|subject| subject["kind"] == kind);
            let text = of.map(|subject| match kind {
                "ServiceAccount" => format!("{}/{}", str_of(&subject["namespace"]), str_of(&subject["name"])),
                _ => str_of(&subject["name"]).to_owned(),
            });
            Value::from(text.collect::<Vec<_>>().join(", "))
        };
        let role = format!("{}/{}", str_of(&role["kind"]), str_of(&role["name"]));
        let [users, groups, accounts] = ["User", "Group", "ServiceAccount"].map(subjects);
        vec![name(object), role.into(), age(object, now), users, groups, accounts]
    },
};

pub(super) static WEBHOOKS: Printer = Printer {
    columns: &[NAME, integer("Webhooks", "The number of webhooks."), AGE],
    cells: |object, now| vec![name(object), count(&object["webhooks"]).into(), age(object, now)],
};

pub(super) static VALIDATING_POLICIES: Printer = Printer {
    columns: &[
        NAME,
        integer("Validations", "The number of validation rules."),
        text("ParamKind", "The kind of the parameters."),
        AGE,
    ],
    cells: |object, now| {
        let spec = &object["spec"];
        vec![name(object), count(&spec["validations"]).into(), parameter_kind(spec), age(object, now)]
    },
};

pub(super) static MUTATING_POLICIES: Printer = Printer {
    columns: &[
        NAME,
        integer("Mutations", "The number of mutations."),
        text("ParamKind", "The kind of the parameters."),
        AGE,
    ],
    cells: |object, now| {
        let spec = &object["spec"];
        vec![name(object), count(&spec["mutations"]).into(), parameter_kind(spec), age(object, now)]
    },
};

fn parameter_kind(spec: &Value) -> Value {
    match &spec["paramKind"] {
        Value::Null => "<unset>".into(),
        kind => format!("{}/{}", str_of(&kind["apiVersion"]), str_of(&kind["kind"])).into(),
    }
}

pub(super) static POLICY_BINDINGS: Printer = Printer {
    columns: &[
        NAME,
        text("PolicyName", "The policy that the binding puts into effect."),
        text("ParamRef", "The object with the parameters of the policy."),
        AGE,
    ],
    cells: |object, now| {
        let spec = &object["spec"];
        let reference = match &spec["paramRef"] {
            Value::Null => "<unset>".to_owned(),
            reference => match (str_of(&reference["namespace"]), or(&reference["name"], "*")) {
                ("", name) => name.to_owned(),
                (namespace, name) => format!("{namespace}/{name}"),
            },
        };
        vec![name(object), str_of(&spec["policyName"]).into(), reference.into(), age(object, now)]
    },
};

pub(super) static CERTIFICATES: Printer = Printer {
    columns: &[
        NAME,
        AGE,
        text("SignerName", "The name of the signer."),
        text("Requestor", "The user that made the request."),
        text("RequestedDuration", "The requested time for which the certificate is valid."),
        text("Condition", "The state of the request, such as Pending or Approved."),
    ],
    cells: |object, now| {
        let (spec, status) = (&object["spec"], &object["status"]);
        let duration = spec["expirationSeconds"].as_i64();
        let duration = duration.map_or_else(|| "<none>".to_owned(), |s| human(SignedDuration::from_secs(s)));
        let has = |kind: &str| items(&status["conditions"]).any(|condition| condition["type"] == kind);
        let mut text = match (has("Denied"), has("Approved")) {
            (true, _) => "Denied",
            (false, true) => "Approved",
            (false, false) => "Pending",
        }
        .to_owned();
        if has("Failed") {
            text += ",Failed";
        }
        if !str_of(&status["certificate"]).is_empty() {
            text += ",Issued";
        }
        vec![
            name(object),
            age(object, now),
            or_none(&spec["signerName"]).into(),
            str_of(&spec["username"]).into(),
            duration.into(),
            text.into(),
        ]
    },
};

pub(super) static FLOWS: Printer = Printer {
    columns: &[
        NAME,
        text("PriorityLevel", "The priority level of the requests."),
        integer("MatchingPrecedence", "The precedence among matching schemas: the lowest number is first."),
        text("DistinguisherMethod", "The property that distinguishes flows."),
        AGE,
        text("MissingPL", "True if the priority level does not exist."),
    ],
    cells: |object, now| {
        let spec = &object["spec"];
        let dangling =
            items(&object["status"]["conditions"]).find(|condition| condition["type"] == "Dangling");
        vec![
            name(object),
            str_of(&spec["priorityLevelConfiguration"]["name"]).into(),
            int_of(&spec["matchingPrecedence"]).into(),
            or_none(&spec["distinguisherMethod"]["type"]).into(),
            age(object, now),
            dangling.map_or("?", |condition| str_of(&condition["status"])).into(),
        ]
    },
};

pub(super) static LEVELS: Printer = Printer {
    columns: &[
        NAME,
        text("Type", "The type of the level: Limited or Exempt."),
        text("NominalConcurrencyShares", "The share of the requests that are handled at a time."),
        text("Queues", "The number of queues."),
        text("HandSize", "The number of queues that a flow may use."),
        text("QueueLengthLimit", "The maximum length of a queue."),
        AGE,
    ],
    cells: |object, now| {
        let spec = &object["spec"];
        let shown =
            |value: &Value| Value::from(if value.is_null() { "<none>".to_owned() } else { scalar(value) });
        let limited = &spec["limited"];
        let queuing = &limited["limitResponse"]["queuing"];
        let shares = match &limited["nominalConcurrencyShares"] {
            Value::Null => &spec["exempt"]["nominalConcurrencyShares"],
            shares => shares,
        };
        vec![
            name(object),
            str_of(&spec["type"]).into(),
            shown(shares),
            shown(&queuing["queues"]),
            shown(&queuing["handSize"]),
            shown(&queuing["queueLengthLimit"]),
            age(object, now),
        ]
    },
};
