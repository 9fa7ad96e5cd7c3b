//! Checks that records follow their policies and templates, and when changes apply: POLICY.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{
    Deadlines, Expectation, Guarantee, JudgeContext, Violation, accessors,
};
use crate::guarantee::engine::unmarked_causes::report_if_faults_are_marked;
use crate::guarantee::{Bound, GuaranteeSpec, Subject};
use crate::profile::Feature;
use capsize_history::digest::Table;
use capsize_history::facts::{Change, Fact, Policy, Template, Workload, WorkloadKey};

static POLICY_01: GuaranteeSpec = GuaranteeSpec {
    id: "POLICY-01",
    sentence: "a template that a policy selects belongs to a policy, and its record has the placement and the rules of that policy and the replicas \
               of the template, unless the policy is lazy",
    features: &[],
    formula: bounds::CHANGE_REPORTED,
    releases: "all; Karmada dropped changes of policies until 1.15 (#6674)",
    source: "Karmada pkg/detector/detector.go, BuildResourceBinding",
};

/// Requirement P1: a record has the placement of the policy that it belongs to.
#[derive(Default)]
pub(crate) struct RecordFollowsPolicy {
    deadlines: Deadlines,
    /// The workloads whose open deadline is about the policy of the record.
    otherwise: BTreeSet<WorkloadKey>,
    /// The workloads whose records may be deleted.
    /// Another template made the record, or other workloads required it.
    excused: BTreeSet<WorkloadKey>,
    /// The workloads with a record and a template.
    whole: BTreeSet<WorkloadKey>,
    /// The workloads that have lost their record, although their template stays.
    lost: BTreeSet<WorkloadKey>,
}

/// The policy of a workload, if the history shows it.
fn policy_of<'a>(workload: &Workload, context: &JudgeContext<'a>) -> Option<&'a Policy> {
    context.world.policies.get(&workload.policy)
}

impl Guarantee for RecordFollowsPolicy {
    accessors!(POLICY_01, [Wanted, Recorded, Claimed, Policy, Template, Required, WorkloadGone], deadlines);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        if let Some(key) = fact.change.workload() {
            self.follow_record(key, fact, context);
        }
        match &fact.change {
            Change::Wanted(key) | Change::Claimed { workload: key, .. } => self.look(key, fact, context),
            Change::Template(key) => self.look(key, fact, context),
            Change::Recorded(key) if self.deadlines.has(&Subject::workload(key)) => {
                self.look(key, fact, context);
            }
            Change::Policy(name) => {
                let world = context.world;
                for key in world.policies.get(name).into_iter().flat_map(|policy| &policy.names) {
                    self.look(key, fact, context);
                }
                let of_policy = world.workloads.iter().filter(|(_, workload)| workload.policy == *name);
                for (key, _) in of_policy {
                    self.look(key, fact, context);
                }
                // The policy may be gone, or select other templates now.
                let open: Vec<_> = self.deadlines.workloads().cloned().collect();
                for key in open {
                    self.look(&key, fact, context);
                }
            }
            Change::WorkloadGone(key) => {
                self.deadlines.cancel(&Subject::workload(key));
                self.look(key, fact, context);
            }
            _ => {}
        }
    }
}

/// Returns what is wrong with a template that a policy selects by name, and that has no policy.
fn unclaimed(key: &WorkloadKey, context: &JudgeContext<'_>) -> Option<Expectation> {
    let template = context.world.templates.get(key)?;
    let policies = &context.world.policies;
    if template.leaving || policies.contains_key(&template.policy) {
        return None;
    }
    let means = |policy: &Policy| policy.names.contains(key) && !policy.lazy;
    let (name, _) = policies.iter().find(|(_, policy)| means(policy))?;
    let observed = match &*template.policy {
        // Every record has annotations, but a history may leave them out.
        "" if !context.world.records.is_empty() && !context.world.annotations_shown => return None,
        "" => "the template belongs to no policy".to_owned(),
        // A history may record the policies of one scope only.
        other if other.contains('/') != name.contains('/') => return None,
        other => format!("the template belongs to {other}, which does not exist"),
    };
    Some(Expectation { because: format!("the policy {name} selects {key}"), observed })
}

/// Returns what is wrong with a record that does not belong to the policy of its template.
fn claimed_otherwise(
    key: &WorkloadKey,
    workload: &Workload,
    context: &JudgeContext<'_>,
) -> Option<Expectation> {
    let template = context.world.templates.get(key).filter(|template| !template.leaving)?;
    let policies = &context.world.policies;
    let named = |name: &str| if name.is_empty() { "no policy".to_owned() } else { name.to_owned() };
    let eager = |name: &String| policies.get(name).is_none_or(|policy| !policy.lazy);
    let shown = [&template.policy, &workload.policy].into_iter().any(|name| policies.contains_key(name));
    let differs = workload.recorded && workload.policy != template.policy;
    (shown && differs && eager(&template.policy) && eager(&workload.policy)).then(|| Expectation {
        because: format!("the template of {key} belongs to {}", named(&template.policy)),
        observed: format!("its record belongs to {}", named(&workload.policy)),
    })
}

/// Returns what is wrong with a template whose record is lost.
fn unrecorded(key: &WorkloadKey, context: &JudgeContext<'_>) -> Option<Expectation> {
    let template = context.world.templates.get(key).filter(|template| !template.leaving)?;
    let claimed = context.world.policies.contains_key(&template.policy);
    claimed.then(|| Expectation {
        because: format!("the template of {key} belongs to {}", template.policy),
        observed: "its record is lost".to_owned(),
    })
}

/// Returns what is wrong with a record that differs from its policy.
fn unlike_policy(key: &WorkloadKey, workload: &Workload, policy: &Policy) -> Option<Expectation> {
    let rules = [
        (policy.placement != workload.placement, "placement"),
        (policy.failover != workload.failover, "rule for failover"),
        (policy.leads != workload.leads, "rule for dependencies"),
    ];
    let (_, what) = rules.into_iter().find(|(differs, _)| *differs)?;
    Some(Expectation {
        because: format!("{} has another {what}", workload.policy),
        observed: format!("the record of {key} still has its old {what}"),
    })
}

/// Returns what is wrong with a record that has other replicas than its template.
fn unlike_template(
    key: &WorkloadKey,
    workload: &Workload,
    context: &JudgeContext<'_>,
) -> Option<Expectation> {
    let template = context.world.templates.get(key).filter(|template| !template.leaving)?;
    let scales = matches!(key.kind(), "Deployment" | "StatefulSet");
    let replicas = template.content.replicas.filter(|_| scales)?;
    (workload.recorded && replicas != workload.replicas).then(|| Expectation {
        because: format!("the template of {key} asks for {replicas} replicas"),
        observed: format!("its record has {}", workload.replicas),
    })
}

impl RecordFollowsPolicy {
    /// Notes whether the record of a workload is lost.
    /// It is right that the record of another template with the same name is deleted, and that a record which other workloads
    /// required is deleted. Real controllers do not write a record again that a person has deleted.
    fn follow_record(&mut self, key: &WorkloadKey, fact: &Fact, context: &JudgeContext<'_>) {
        let recorded = context.workload(key).is_some_and(|workload| workload.recorded);
        match &fact.change {
            Change::WorkloadGone(_) => {
                let by_nobody = context.world.acts_are_marked && !context.may_be_by_a_person(fact.at);
                let is_excused = self.excused.remove(key);
                if self.whole.remove(key) && by_nobody && !is_excused && !recorded {
                    self.lost.insert(key.clone());
                }
            }
            Change::Template(_) if !context.world.templates.contains_key(key) => {
                self.lost.remove(key);
                if recorded {
                    self.excused.insert(key.clone());
                }
            }
            Change::Required(_) => drop(self.excused.insert(key.clone())),
            _ if recorded => {
                self.lost.remove(key);
                if context.world.templates.contains_key(key) {
                    self.whole.insert(key.clone());
                }
            }
            _ => {}
        }
    }

    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let subject = Subject::workload(key);
        if let Some(expectation) = unclaimed(key, context) {
            return self.deadlines.start(
                subject,
                fact,
                bounds::change_reported(context.timings()),
                expectation,
            );
        }
        if let Some(expectation) = unrecorded(key, context).filter(|_| self.lost.contains(key)) {
            return self.deadlines.start(
                subject,
                fact,
                bounds::change_reported(context.timings()),
                expectation,
            );
        }
        let Some(workload) = context.workload(key) else { return self.deadlines.cancel(&subject) };
        if let Some(expectation) = claimed_otherwise(key, workload, context) {
            // A deadline about the claim of the template is over.
            if self.otherwise.insert(key.clone()) {
                self.deadlines.cancel(&subject);
            }
            return self.deadlines.start(
                subject,
                fact,
                bounds::change_reported(context.timings()),
                expectation,
            );
        }
        self.otherwise.remove(key);
        // A template that a lazy policy has claimed keeps the record of the previous policy until the template
        // changes.
        let policies = &context.world.policies;
        let claimed = context.world.templates.get(key).and_then(|template| policies.get(&template.policy));
        let is_eager = |policy: &&Policy| !policy.lazy && !claimed.is_some_and(|claimed| claimed.lazy);
        let Some(policy) = policy_of(workload, context).filter(is_eager) else {
            return self.deadlines.cancel(&subject);
        };
        let wrong = unlike_policy(key, workload, policy).or_else(|| unlike_template(key, workload, context));
        if let (Some(open), Some(now)) = (self.deadlines.observed(&subject), &wrong)
            && open != now.observed
        {
            self.deadlines.cancel(&subject);
        }
        if wrong.is_none() && !self.deadlines.has(&subject) {
            return context.tally.record_held();
        }
        self.deadlines.expect_correction(
            subject,
            fact,
            bounds::change_reported(context.timings()),
            wrong,
            context,
        );
    }
}

static POLICY_02: GuaranteeSpec = GuaranteeSpec {
    id: "POLICY-02",
    sentence: "a template stays with its policy, unless another policy with a higher priority preempts it",
    features: &[Feature::PolicyPreemption],
    formula: "whenever the policy of a template changes; a change of a policy counts from latency after it is observed",
    releases: "1.7 and newer",
    source: "Karmada pkg/detector/preemption.go",
};

/// Requirement P2: a policy keeps its template as long as it selects the template.
/// A namespaced policy outranks a cluster-wide one.
#[derive(Default)]
pub(crate) struct TemplateKeepsItsPolicy {
    /// The policy that each template belongs to.
    claims: BTreeMap<WorkloadKey, String>,
    /// The templates that another policy preempted rightly. Their records may follow much later.
    preempted: BTreeSet<WorkloadKey>,
}

/// Returns true if the policy `after` may take a template away from `before`.
fn preempts(after: &Policy, before: &Policy) -> bool {
    let outranks = match (before.everywhere, after.everywhere) {
        (true, false) => true,
        (false, true) => false,
        _ => after.priority > before.priority,
    };
    after.preempts && outranks
}

impl Guarantee for TemplateKeepsItsPolicy {
    accessors!(POLICY_02, [Claimed, Template]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let policies = &context.world.policies;
        let (key, was) = match &fact.change {
            Change::Template(key) => return self.template_changed(key, context),
            Change::Claimed { workload, was } => (workload, was),
            _ => return,
        };
        let Some(workload) = context.workload(key) else { return };
        if self.preempted.contains(key) && self.claims.get(key) == Some(&workload.policy) {
            return context.tally.record_held();
        }
        let (Some(before), Some(after)) = (policies.get(was), policies.get(&workload.policy)) else { return };
        let is_selected = |template: &Template| before.selects(key, &template.content);
        if before.by_labels
            || context.may_have_missed(before.changed, fact.at)
            || !context.world.templates.get(key).is_none_or(is_selected)
        {
            return;
        }
        if preempts(after, before) {
            return context.tally.record_held();
        }
        let because =
            format!("{was} owns the template, and {} does not outrank and preempt {was}", workload.policy);
        let seen = format!("{} owns the template now", workload.policy);
        context.report_violation(Violation::by(fact, Subject::workload(key), Bound::Never, because, seen));
    }
}

impl TemplateKeepsItsPolicy {
    fn template_changed(&mut self, key: &WorkloadKey, context: &JudgeContext<'_>) {
        let world = context.world;
        let Some(template) = world.templates.get(key) else {
            self.claims.remove(key);
            self.preempted.remove(key);
            return;
        };
        if self.claims.get(key) == Some(&template.policy) {
            return;
        }
        let Some(was) = self.claims.insert(key.clone(), template.policy.clone()) else { return };
        let policy = |name: &str| world.policies.get(name);
        match policy(&template.policy).zip(policy(&was)) {
            Some((after, before)) if preempts(after, before) => drop(self.preempted.insert(key.clone())),
            _ => drop(self.preempted.remove(key)),
        }
    }
}

static POLICY_03: GuaranteeSpec = GuaranteeSpec {
    id: "POLICY-03",
    sentence: "a change of a lazy policy takes effect only when its template changes",
    features: &[Feature::LazyActivation],
    formula: "at every change of a placement",
    releases: "1.10 and newer",
    source: "Karmada pkg/detector/detector.go, ApplyPolicy; PropagationSpec.ActivationPreference",
};

/// Checks that the record of a lazy policy keeps its placement (requirement P3).
/// The record gets another placement only with another version of its template.
#[derive(Default)]
pub(crate) struct LazyPolicyWaitsForTemplate {
    /// The version of the template that a record was made from.
    made_from: Table<WorkloadKey, String>,
    /// The last return of the controllers. After a start, every template counts as new.
    back: Option<Duration>,
}

impl Guarantee for LazyPolicyWaitsForTemplate {
    accessors!(POLICY_03, [Recorded, Wanted, FaultEnded, WorkloadGone]);

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        let is_lazy = |workload: &Workload| policy_of(workload, context).is_some_and(|policy| policy.lazy);
        match &fact.change {
            Change::Recorded(key) => {
                let Some(workload) = context.workload(key) else { return };
                if is_lazy(workload) {
                    self.made_from.insert(key.clone(), workload.template.clone());
                } else {
                    self.made_from.swap_remove(key);
                }
            }
            Change::Wanted(key) => {
                let Some(workload) = context.workload(key) else { return };
                let anew = workload.placed_since == fact.at;
                let Some(before) = self.made_from.get(key).filter(|_| anew && is_lazy(workload)) else {
                    return;
                };
                if *before != workload.template {
                    return context.tally.record_held();
                }
                let takeover = context.timings().takeover + context.timings().latency;
                if context.controllers_are_hindered(fact.at)
                    || self.back.is_some_and(|back| fact.at <= back + takeover)
                {
                    return;
                }
                let because = format!("{} is lazy, and the template has not changed", workload.policy);
                let seen = format!("the record of {key} has another placement");
                let subject = Subject::workload(key);
                let violation = Violation::by(fact, subject, Bound::Never, because, seen);
                report_if_faults_are_marked(violation, context);
            }
            Change::FaultEnded { member: None, .. } => self.back = Some(fact.at),
            Change::WorkloadGone(key) => drop(self.made_from.swap_remove(key)),
            _ => {}
        }
    }
}
