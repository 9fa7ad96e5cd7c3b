//! Checks that manifests match their template, with shares and overrides: DELIVERY.

use std::collections::BTreeSet;

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::context::{Deadlines, Expectation, Guarantee, JudgeContext, accessors};
use crate::guarantee::{GuaranteeSpec, Subject};
use capsize_history::facts::{
    Affinity, Change, Content, Delivery, Fact, Member, Override, Scheduling, Template, Workload, WorkloadKey,
    World, sum,
};
use capsize_sorted::CollectSorted;

static DELIVERY_11: GuaranteeSpec = GuaranteeSpec {
    id: "DELIVERY-11",
    sentence: "a manifest matches its template, with the share and the overrides of its member",
    features: &[],
    formula: bounds::CHANGE_REPORTED,
    releases: "all; Karmada mixed up the completions of Jobs until 1.18 (#7387)",
    source: "Karmada pkg/controllers/binding/common.go, pkg/util/overridemanager",
};

/// Checks that a manifest has the contents of the template (requirements P4 and R1).
/// A manifest has the assigned replicas, completions in the same order of size, the overridden images, and the data of
/// the template. A manifest for a member that the workload is leaving does not change. A workload that no longer has a
/// policy stays as it was: changes of its template are not passed on. The same holds for a template that its policy has
/// claimed and no longer selects, because the labels of the template have changed.
#[derive(Default)]
pub(crate) struct ManifestMatchesTemplate {
    deadlines: Deadlines,
    /// The workloads without a policy that had one.
    without_policy: BTreeSet<WorkloadKey>,
}

impl Guarantee for ManifestMatchesTemplate {
    accessors!(
        DELIVERY_11,
        [
            Template,
            Claimed,
            Wanted,
            Assigned,
            EvictionEnded,
            DeliveryGone,
            Delivered,
            Rewritten,
            Overrides,
            WorkloadGone,
            MemberLeaving,
            MemberGone,
            Policy
        ],
        deadlines
    );

    fn observe(&mut self, fact: &Fact, context: &mut JudgeContext<'_>) {
        if let Change::Claimed { workload, was } = &fact.change {
            let has_policy = context.workload(workload).is_some_and(|known| !known.policy.is_empty());
            if has_policy {
                self.without_policy.remove(workload);
            } else if !was.is_empty() {
                self.without_policy.insert(workload.clone());
            }
        }
        match &fact.change {
            Change::Template(key)
            | Change::Claimed { workload: key, .. }
            | Change::Wanted(key)
            | Change::Assigned { workload: key, .. }
            | Change::EvictionEnded { workload: key, .. }
            | Change::DeliveryGone { workload: key, .. }
            | Change::Delivered { workload: key, .. }
            | Change::Rewritten { workload: key, .. } => self.look(key, fact, context),
            Change::Overrides => {
                for key in context.world.workloads.keys() {
                    self.look(key, fact, context);
                }
            }
            Change::Policy(name) => {
                let of_policy =
                    context.world.workloads.iter().filter(|(_, workload)| workload.policy == *name);
                for (key, _) in of_policy {
                    self.look(key, fact, context);
                }
            }
            Change::WorkloadGone(key) => {
                self.without_policy.remove(key);
                self.deadlines.cancel_of(key, |_| true);
            }
            Change::MemberLeaving(member) | Change::MemberGone(member) => {
                self.deadlines.cancel_all(|subject| subject.is_on(member));
            }
            _ => {}
        }
    }
}

impl ManifestMatchesTemplate {
    fn look(&mut self, key: &WorkloadKey, fact: &Fact, context: &mut JudgeContext<'_>) {
        let Some(workload) = context.workload(key).filter(|workload| workload.recorded) else {
            return;
        };
        let asked: BTreeSet<&String> = workload.assignment.keys().collect_sorted();
        self.deadlines
            .cancel_of(key, |subject| !subject.member.as_ref().is_some_and(|member| asked.contains(member)));
        // While a task purges an old manifest directly, new manifests and changes wait for it.
        let purged = workload.evictions.iter().any(|task| task.directly);
        for member in asked {
            let subject = Subject::on(key, member);
            let known = context.member(member).filter(|known| !known.leaving && !purged);
            let delivery = workload.deliveries.get(member).filter(|it| it.placed && it.leaving.is_none());
            let Some((known, delivery)) = known.zip(delivery) else {
                self.deadlines.cancel(&subject);
                continue;
            };
            let policy = context.world.policies.get(&workload.policy);
            let is_selected =
                |template: &&Template| policy.is_none_or(|policy| policy.selects(key, &template.content));
            let template = context.world.templates.get(key).filter(|_| !self.without_policy.contains(key));
            let template = template.filter(is_selected);
            let wrong = mismatch(key, workload, (member, known, delivery), template, context.world);
            let wrong = wrong.map(|(because, observed)| Expectation { because, observed });
            if wrong.is_none() && !self.deadlines.has(&subject) {
                context.tally.record_held();
                continue;
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
}

/// Returns what is wrong with the manifest for the member: the reason, and the observation.
/// Without a template, only replicas count.
fn mismatch(
    key: &WorkloadKey,
    workload: &Workload,
    (member, known, delivery): (&str, &Member, &Delivery),
    template: Option<&Template>,
    world: &World,
) -> Option<(String, String)> {
    let overrides = overrides(key, member, known, delivery, world)?;
    let assigned = workload.assignment.get(member).copied().unwrap_or_default();
    // A manifest with all replicas follows the template, even before the workload is scheduled again. This holds for
    // duplicated workloads and for workloads without replicas. Without a policy, the record keeps its replicas for ever.
    let whole = workload.placement.scheduling == Scheduling::Duplicated || workload.replicas == 0;
    let of_template = world.templates.get(key).and_then(|template| template.content.replicas);
    if let Some(replicas) = delivery.asks.replicas
        && replicas != assigned
        && !(whole && (replicas == workload.replicas || of_template == Some(replicas)))
        && sum(&workload.assignment) > 0
    {
        let because = format!("{key} is assigned to {member} with {assigned} replicas");
        return Some((because, format!("its manifest asks for {replicas}")));
    }
    let template = template.filter(|template| !template.leaving)?;
    if let Some(wrong) = completions(workload, member, delivery, &template.content) {
        return Some(wrong);
    }
    let images = template.content.images.iter().map(|image| tagged(image, &overrides)).collect();
    // The shares that an interpreter computes for a custom kind are not checked.
    let custom = template.content.custom.filter(|_| whole);
    let wanted = Content { images, custom, completions: None, ..template.content.clone() };
    let (is, should) = wanted.difference(&delivery.asks)?;
    Some((format!("the manifest for {member} should have {should}"), format!("it has {is}")))
}

/// The overrides for the member; `None` if one of them changes something that is not checked.
fn overrides<'a>(
    key: &WorkloadKey,
    member: &str,
    known: &Member,
    delivery: &Delivery,
    world: &'a World,
) -> Option<Vec<&'a Override>> {
    let means =
        |change: &&Override| change.members.as_ref().is_none_or(|members| members.admits(member, known));
    let is_unclear = |change: &&Override| {
        let surely = |members: &Affinity| members.surely_admits(member, known);
        means(change) && !change.members.as_ref().is_none_or(surely)
    };
    let about = world.override_policies.values();
    let about = about.filter(|policy| policy.means(key.kind(), key.namespace(), key.name()));
    let changes: Vec<_> = about.flat_map(|policy| &policy.rules).filter(means).collect();
    let hidden = changes.is_empty() && delivery.overridden;
    // The order of several overrides is not checked.
    let unclear = changes.iter().any(is_unclear);
    (!unclear && changes.len() <= 1 && !hidden && changes.iter().all(|change| !change.more))
        .then_some(changes)
}

/// The image with the tag or the digest of the overrides. Each of them replaces the other.
fn tagged(image: &str, overrides: &[&Override]) -> String {
    let tags = overrides.iter().flat_map(|change| &change.tags);
    tags.fold(image.to_owned(), |image, tag| {
        let image = image.split_once('@').map_or(&*image, |(name, _)| name);
        // A colon before the last slash belongs to a port.
        let name =
            image.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')).map_or(image, |(name, _)| name);
        // Only a digest has a colon.
        let sign = if tag.contains(':') { '@' } else { ':' };
        format!("{name}{sign}{tag}")
    })
}

/// Returns what is wrong with the completions of a Job, which are divided like its pods.
/// The completions add up to all completions. A member with fewer pods does not get more completions than another.
fn completions(
    workload: &Workload,
    member: &str,
    delivery: &Delivery,
    template: &Content,
) -> Option<(String, String)> {
    let (all, own) = (template.completions?, delivery.asks.completions.unwrap_or_default());
    if workload.placement.scheduling == Scheduling::Duplicated {
        let because = format!("the Job has to complete {all} times in each member");
        return (own != all).then(|| (because, format!("{member} is asked for {own}")));
    }
    let mut share = Vec::new();
    for (name, replicas) in &workload.assignment {
        share.push((name, *replicas, workload.deliveries.get(name)?.asks.completions?));
    }
    let sum = share.iter().fold(0_u64, |sum, (.., each)| sum.saturating_add(*each));
    let pods = workload.assignment[member];
    // A wrong sum is reported for the first member only.
    let is_first = share.first().is_some_and(|(name, ..)| *name == member);
    if sum != all && is_first {
        let because = format!("the Job has to complete {all} times in all");
        return Some((because, format!("the members are asked for {sum}")));
    }
    let (name, ..) = share.iter().find(|(_, replicas, each)| *replicas < pods && *each > own)?;
    let because = format!("{member} runs more of its pods at a time than {name}");
    Some((because, format!("{member} is asked for {own} completions, fewer than {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_follows_the_last_colon_unless_the_colon_belongs_to_a_port() {
        let change = Override { tags: vec!["2".into()], ..Override::default() };
        let cases = [
            ("web", "web:2"),
            ("web:1", "web:2"),
            ("host:80/web", "host:80/web:2"),
            ("host:80/web:1", "host:80/web:2"),
        ];
        for (image, expected) in cases {
            assert_eq!(tagged(image, &[&change]), expected);
        }
    }

    #[test]
    fn a_tag_and_a_digest_replace_each_other() {
        let cases = [
            ("web@sha256:0a", "2", "web:2"),
            ("web:1@sha256:0a", "2", "web:2"),
            ("host:80/web@sha256:0a", "2", "host:80/web:2"),
            ("web:1", "sha256:0b", "web@sha256:0b"),
            ("web@sha256:0a", "sha256:0b", "web@sha256:0b"),
        ];
        for (image, tag, expected) in cases {
            let change = Override { tags: vec![tag.into()], ..Override::default() };
            assert_eq!(tagged(image, &[&change]), expected);
        }
    }
}
