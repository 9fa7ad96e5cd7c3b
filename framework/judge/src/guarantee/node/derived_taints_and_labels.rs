//! Checks taints and labels that follow directly from the state of a node: NODE.

use std::collections::BTreeSet;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use crate::profile::{Feature, Profile};
use capsize_history::facts::{Change, Fact, Member, TaintEffect};
use capsize_sorted::CollectSorted;

static NODE_06: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-06",
    sentence: "a node has a NoSchedule taint for each pressure condition, for an unavailable network and for a cordon, and no other taint of these kinds",
    features: &[Feature::HealthProbes],
    formula: bounds::DERIVED_FIELDS,
    releases: "Kubernetes 1.17 and newer",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, doNoScheduleTaintingPass",
};

static NODE_07: GuaranteeSpec = GuaranteeSpec {
    id: "NODE-07",
    sentence: "the stable and the beta labels of a node's operating system and architecture are equal",
    features: &[Feature::HealthProbes],
    formula: bounds::DERIVED_FIELDS,
    releases: "Kubernetes, all",
    source: "Kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go, reconcileNodeLabels",
};

/// Requirements I33 and I25: checks the taints or the labels of a node.
pub(crate) struct DerivedTaintsAndLabels {
    spec: &'static GuaranteeSpec,
    wrong: fn(&Member, &Profile) -> Option<String>,
    deadlines: Deadlines,
}

impl DerivedTaintsAndLabels {
    /// Checks the taints.
    pub(crate) fn taints() -> Self {
        Self { spec: &NODE_06, wrong: wrong_taints, deadlines: Deadlines::default() }
    }

    /// Checks the labels.
    pub(crate) fn labels() -> Self {
        Self { spec: &NODE_07, wrong: wrong_labels, deadlines: Deadlines::default() }
    }
}

impl Guarantee for DerivedTaintsAndLabels {
    accessors!(self.spec, [Conditions, MemberChanged, MemberGone], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let name = match &fact.change {
            Change::Conditions(name) | Change::MemberChanged(name) => name,
            Change::MemberGone(name) => return self.deadlines.cancel(&Subject::member(name)),
            _ => return,
        };
        let Some(member) = context.member(name) else { return };
        let subject = Subject::member(name);
        let wrong = (self.wrong)(member, context.profile).map(|missing| Expectation {
            because: format!("it follows from the state of {name}"),
            observed: format!("{name} {missing}"),
        });
        // Another defect has a deadline of its own.
        let open = self.deadlines.observed(&subject);
        if wrong.as_ref().zip(open).is_some_and(|(wrong, open)| wrong.observed != open) {
            self.deadlines.cancel(&subject);
        }
        let allowed = context.timings().latency;
        self.deadlines.expect_correction(subject, fact, allowed, wrong, context);
    }
}

/// The conditions that cause a taint while they are true, and the key of the taint.
const CONDITIONS_WITH_TAINTS: [(&str, &str); 4] = [
    ("DiskPressure", "node.kubernetes.io/disk-pressure"),
    ("MemoryPressure", "node.kubernetes.io/memory-pressure"),
    ("NetworkUnavailable", "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", "node.kubernetes.io/pid-pressure"),
];
const CORDONED: &str = "node.kubernetes.io/unschedulable";

fn wrong_taints(member: &Member, _: &Profile) -> Option<String> {
    let pressed =
        |(kind, _): &&(&str, &str)| member.conditions.get(*kind).is_some_and(|status| status == "True");
    let wanted = CONDITIONS_WITH_TAINTS.iter().filter(pressed).map(|(_, key)| *key);
    let wanted: BTreeSet<&str> = wanted.chain(member.cordoned.then_some(CORDONED)).collect_sorted();
    let owned = |key: &str| key == CORDONED || CONDITIONS_WITH_TAINTS.iter().any(|(_, owned)| *owned == key);
    let there =
        member.taints.iter().filter(|taint| taint.effect == TaintEffect::NoSchedule && owned(&taint.key));
    let there: BTreeSet<&str> = there.map(|taint| taint.key.as_str()).collect_sorted();
    if let Some(key) = wanted.difference(&there).next() {
        return Some(format!("has no taint {key}:NoSchedule"));
    }
    there.difference(&wanted).next().map(|key| format!("still has the taint {key}:NoSchedule"))
}

/// The leading label must be copied to the other one; without it, nothing is required.
fn wrong_labels(member: &Member, profile: &Profile) -> Option<String> {
    ["os", "arch"].into_iter().find_map(|name| {
        let label = |key: String| member.labels.get(&key);
        let (stable, beta) =
            (label(format!("kubernetes.io/{name}")), label(format!("beta.kubernetes.io/{name}")));
        let leads = if profile.has(Feature::StableLabelsLead) { stable } else { beta };
        (leads.is_some() && stable != beta)
            .then(|| format!("has another beta.kubernetes.io/{name} than kubernetes.io/{name}"))
    })
}
