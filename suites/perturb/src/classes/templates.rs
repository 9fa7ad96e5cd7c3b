//! Wrong behaviour about templates, policies, namespaces, dependencies and services.

use capsize_judge::profile::Feature;
use serde_json::{Value, json};

use crate::class::{Class, ViolationKind};
use crate::edit::Edit;
use crate::object::{is_away, is_leaving, items, template, wanted};
use crate::recording::Recording;
use crate::track::Track;

const CLAIM: &[&str] = &["POLICY-01", "POLICY-02"];

pub(super) const CLASSES: &[Class] = &[
    Class::new("claim-of-the-template-lost", ViolationKind::Lost, CLAIM, claim_of_template_lost),
    Class::new("claim-of-the-binding-lost", ViolationKind::Lost, CLAIM, claim_of_binding_lost),
    Class::new("claimed-by-another-policy", ViolationKind::Other, CLAIM, other_policy),
    Class::new(
        "placement-of-another-policy",
        ViolationKind::Other,
        &["POLICY-01", "POLICY-03"],
        other_placement,
    ),
    Class::new("change-of-policy-ignored", ViolationKind::Stale, &["POLICY-01"], policy_ignored),
    Class::new("suspension-lost", ViolationKind::Lost, &["POLICY-04", "POLICY-01"], suspension_lost),
    Class::new("binding-never", ViolationKind::Never, &["POLICY-01"], binding_never),
    Class::new("binding-outlives-its-template", ViolationKind::Stale, &["LIVENESS-07"], orphaned),
    Class::new("namespace-not-synced", ViolationKind::Never, &["DELIVERY-12"], namespace_not_synced),
    Class::new(
        "dependency-without-its-member",
        ViolationKind::Never,
        &["DELIVERY-10", "DELIVERY-13"],
        |all| dependencies(all, true),
    ),
    Class::new("dependency-outlives-its-need", ViolationKind::Stale, &["DELIVERY-10"], |all| {
        dependencies(all, false)
    }),
    Class::new("service-addresses-lost", ViolationKind::Lost, &["SERVICES-01"], addresses_lost),
];

/// The bindings of policies with a moment from which nothing changes.
fn settled<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, f64)> {
    let lasting = recording.beyond(recording.timing("latency"));
    recording.bindings().flat_map(move |binding| {
        let moments = recording.moments(lasting).into_iter();
        let is_settled = move |at: &f64| {
            let Some(now) = binding.object_at(*at) else { return false };
            let stays = binding.holds(at - 1.0, at + lasting, |object| {
                object["spec"]["placement"] == now["spec"]["placement"] && !is_leaving(object)
            });
            stays
                && recording.is_calm(at - 1.0, at + lasting)
                && policy(recording, now).is_some_and(|policy| policy.stays(at - 1.0, at + lasting))
        };
        moments.filter(is_settled).map(move |at| (binding, at))
    })
}

/// The policy that claims a binding.
fn policy<'r>(recording: &'r Recording<'_>, binding: &Value) -> Option<&'r Track> {
    let annotation = |name: &str| {
        let metadata = &binding["metadata"];
        metadata["annotations"][name].as_str().or_else(|| metadata["labels"][name].as_str())
    };
    let of = |kind: &str, name: Option<&str>, namespace: &str| {
        recording.track("control-plane", kind, &format!("{namespace}/{}", name?))
    };
    let namespace = annotation("propagationpolicy.karmada.io/namespace").unwrap_or_default();
    of("PropagationPolicy", annotation("propagationpolicy.karmada.io/name"), namespace).or_else(|| {
        of("ClusterPropagationPolicy", annotation("clusterpropagationpolicy.karmada.io/name"), "")
    })
}

fn is_lazy(policy: &Track) -> bool {
    policy.versions.iter().any(|version| version.object["spec"]["activationPreference"] == "Lazy")
}

fn forget_claim(object: &mut Value) {
    for part in ["annotations", "labels"] {
        if let Some(fields) = object["metadata"][part].as_object_mut() {
            fields.retain(|key, _| !key.contains("propagationpolicy.karmada.io/"));
        }
    }
}

fn template_of<'r>(recording: &'r Recording<'_>, binding: &Track, at: f64) -> Option<&'r Track> {
    let (kind, name) = template(binding.object_at(at)?);
    recording.track("control-plane", &kind, &name).filter(|template| template.stays(at - 0.5, at + 0.5))
}

fn claim_of_template_lost(recording: &Recording<'_>) -> Vec<Edit> {
    let places = settled(recording).filter_map(|(binding, at)| {
        let template = template_of(recording, binding, at)?;
        let stays = template.stays(at, at + recording.beyond(recording.timing("latency")));
        stays.then(|| template.alter(at, None, forget_claim))
    });
    places.collect()
}

fn claim_of_binding_lost(recording: &Recording<'_>) -> Vec<Edit> {
    let places = settled(recording).filter_map(|(binding, at)| {
        template_of(recording, binding, at)?;
        Some(binding.alter(at, None, forget_claim))
    });
    places.collect()
}

/// The name of the policy in the claims is that of a policy that does not exist.
fn other_policy(recording: &Recording<'_>) -> Vec<Edit> {
    let places = settled(recording).filter_map(|(binding, at)| {
        let template = template_of(recording, binding, at)?;
        let change = |object: &mut Value| {
            for part in ["annotations", "labels"] {
                for (key, value) in object["metadata"][part].as_object_mut().into_iter().flatten() {
                    if key.ends_with("propagationpolicy.karmada.io/name") {
                        *value = json!("another");
                    }
                    if key.ends_with("propagationpolicy.karmada.io/permanent-id") {
                        *value = json!("0d1c5e0e-0000-4000-8000-000000000001");
                    }
                }
            }
        };
        let mut edit = template.alter(at, None, change);
        edit.extend(binding.alter(at + 0.02, None, change));
        Some(edit)
    });
    places.collect()
}

fn other_placement(recording: &Recording<'_>) -> Vec<Edit> {
    let places = settled(recording).filter_map(|(binding, at)| {
        template_of(recording, binding, at)?;
        let names = items(binding.object_at(at)?, "/spec/placement/clusterAffinity/clusterNames");
        (names.len() > 1).then(|| {
            binding.alter(at, None, |object| {
                if let Some(names) = object
                    .pointer_mut("/spec/placement/clusterAffinity/clusterNames")
                    .and_then(Value::as_array_mut)
                {
                    names.pop();
                }
            })
        })
    });
    places.collect()
}

fn policy_ignored(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for binding in recording.bindings() {
        for (before, pair) in binding.versions.windows(2).enumerate() {
            let (was, now) = (&pair[0].object["spec"]["placement"], &pair[1].object["spec"]["placement"]);
            let at = pair[1].at;
            let due = at + recording.beyond(recording.timing("latency"));
            let stays = binding.holds(at, due, |object| &object["spec"]["placement"] == now);
            let known = policy(recording, &pair[1].object).is_some_and(|policy| {
                let changed = policy.begins(|object| &object["spec"]["placement"] == now);
                !is_lazy(policy)
                    && changed.iter().any(|number| policy.versions[*number].at <= at)
                    && policy.stays(at, due)
            });
            let claimed = policy(recording, &pair[0].object).map(|it| &it.name)
                == policy(recording, &pair[1].object).map(|it| &it.name);
            if was != now && !was.is_null() && known && claimed && stays && recording.is_calm(at, due) {
                edits.push(binding.hold(before + 1, None, &["/spec/placement", "/spec/clusters"]));
            }
        }
    }
    edits
}

fn suspension_lost(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let is_suspended = |object: &Value| object["spec"]["suspension"]["scheduling"] == true;
    for binding in recording.bindings() {
        let Some(number) = binding.versions.iter().position(|version| is_suspended(&version.object)) else {
            continue;
        };
        let at = binding.versions[number].at;
        let until = binding.holds_until(number, recording.end, is_suspended);
        let middle = f64::midpoint(at, until);
        // Only a suspension by a person has to stay.
        let by_hand = recording.steps().any(|(step, mark)| {
            let object = mark.get("object").and_then(Value::as_str).unwrap_or_default();
            object.contains(binding.short()) && step <= at && at - step <= recording.timing("latency")
        });
        if until - at > 1.0 && recording.is_calm(at, middle) && by_hand {
            edits.push(binding.alter(middle, Some(until), |object| {
                if let Some(spec) = object["spec"].as_object_mut() {
                    spec.remove("suspension");
                }
            }));
        }
    }
    edits
}

/// A selected template never gets a claim, a binding, or anything that follows.
fn binding_never(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for binding in recording.bindings() {
        let Some(created) = binding.created() else { continue };
        let (kind, name) = template(&binding.versions[0].object);
        let Some(template) =
            recording.track("control-plane", &kind, &name).filter(|it| it.created().is_some())
        else {
            continue;
        };
        let due = created + recording.beyond(recording.timing("latency"));
        let claimed = policy(recording, &binding.versions[0].object)
            .is_some_and(|policy| policy.stays(created, due) && !is_lazy(policy));
        if claimed
            && template.stays(created, due)
            && binding.stays(created, due)
            && recording.is_calm(template.versions[0].at, due)
        {
            let mut edit = binding.never();
            edit.extend(template.alter(template.versions[0].at, None, |object| {
                forget_claim(object);
                object["status"] = json!({});
            }));
            for work in recording
                .tracks("Work")
                .filter(|work| wanted(&work.versions[0].object) == (kind.clone(), name.clone()))
            {
                edit.extend(work.never());
            }
            for member in recording.tracks("Cluster") {
                edit.extend(
                    recording.track(member.short(), &kind, &name).map(Track::never).unwrap_or_default(),
                );
            }
            edits.push(edit);
        }
    }
    edits
}

fn orphaned(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for binding in recording.bindings() {
        let Some(number) = binding.deletion().filter(|number| *number > 0) else { continue };
        let (kind, name) = template(&binding.versions[0].object);
        let gone = recording
            .track("control-plane", &kind, &name)
            .and_then(|template| Some(template.versions[template.removal()?].at));
        let at = binding.versions[number].at;
        let due = at + recording.beyond(recording.timing("latency"));
        let again =
            recording.track("control-plane", &kind, &name).is_some_and(|template| template.at(due).is_some());
        if gone.is_some_and(|gone| gone <= due)
            && !again
            && binding.at(due).is_none()
            && recording.is_calm(at, due)
        {
            edits.push(binding.survives(number, None));
        }
    }
    edits
}

fn namespace_not_synced(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for namespace in recording.tracks("Namespace").filter(|_| recording.has(Feature::NamespaceSync)) {
        let Some(created) = namespace.created() else { continue };
        for work in recording.tracks("Work") {
            let (kind, name) = wanted(&work.versions[0].object);
            let due = created + recording.beyond(0.0);
            let asked = kind == "Namespace" && name.trim_start_matches('/') == namespace.short();
            let member = work.namespace().strip_prefix("karmada-es-").unwrap_or_default();
            if asked
                && work.created().is_some()
                && namespace.stays(created, due)
                && recording.is_calm(created, due)
            {
                let mut edit = work.never();
                edit.extend(recording.track(member, &kind, &name).map(Track::never).unwrap_or_default());
                edits.push(edit);
            }
        }
    }
    edits
}

/// The records of dependencies with the versions in which members are required or no longer.
fn requirements<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, usize, usize, usize)> {
    recording.bindings().flat_map(move |binding| {
        let pairs = binding.versions.windows(2).enumerate();
        let size = |object: &Value| {
            items(object, "/spec/requiredBy").iter().map(|one| items(one, "/clusters").len()).sum::<usize>()
        };
        pairs.filter_map(move |(before, pair)| {
            let (was, now) = (size(&pair[0].object), size(&pair[1].object));
            let at = pair[1].at;
            let due = at + recording.beyond(recording.timing("latency"));
            let required = &pair[1].object["spec"]["requiredBy"];
            let stays = binding.holds(at, due, |object| &object["spec"]["requiredBy"] == required);
            (was != now
                && stays
                && recording.is_calm(at, due)
                && recording.has(Feature::PropagatesDependencies))
            .then_some((binding, before + 1, was, now))
        })
    })
}

/// A change of the required members is lost. They become more, or fewer.
fn dependencies(recording: &Recording<'_>, are_more: bool) -> Vec<Edit> {
    let places = requirements(recording).filter(|(_, _, was, now)| (now > was) == are_more);
    places.map(|(binding, number, ..)| binding.hold(number, None, &["/spec/requiredBy"])).collect()
}

/// The addresses of an exported service are lost while their member is away.
fn addresses_lost(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for work in recording.tracks("Work").filter(|_| recording.has(Feature::MultiClusterServices)) {
        let (kind, _) = wanted(&work.versions[0].object);
        let Some(member) = work.namespace().strip_prefix("karmada-es-").filter(|_| kind == "EndpointSlice")
        else {
            continue;
        };
        let Some(member) = recording.member(member) else { continue };
        for number in member.begins(is_away) {
            let at = member.versions[number].at + 0.5;
            if work.stays(at - 0.5, at) && recording.is_calm(at, at) {
                let stamp = recording.stamp(at);
                edits.push(work.alter(at, None, |object| {
                    object["metadata"]["deletionTimestamp"] = stamp.clone();
                }));
            }
        }
    }
    edits
}
