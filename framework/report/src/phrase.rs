//! A fact in a few words, for time lines.

use capsize_history::FaultKind;
use capsize_history::facts::{Assignment, Fact, FaultInForce, News};
use capsize_judge::text::clock;

/// `08:42.0 task m1 begins`.
pub(super) fn moment(fact: &Fact) -> String {
    format!("{} {}", clock(fact.at), phrase(&fact.news))
}

/// `refuse m1 since 00:03.0`.
pub(super) fn fault(fault: &FaultInForce) -> String {
    let member = fault.member.as_ref().map(|member| format!(" {member}")).unwrap_or_default();
    format!("{}{member} since {}", fault.fault, clock(fault.since))
}

/// The object that shows a fact: `control-plane, version 4711`; nothing for a mark.
pub(super) fn source(fact: &Fact) -> String {
    fact.witness
        .as_ref()
        .map(|witness| format!("{}, version {}", witness.on(), witness.version()))
        .unwrap_or_default()
}

pub(super) fn phrase(news: &News) -> String {
    let hit = |fault: &FaultKind, member: &Option<String>| match member {
        Some(member) => format!("{fault} {member}"),
        None => fault.to_string(),
    };
    match news {
        News::FaultBegan { fault, member } => format!("{} begins", hit(fault, member)),
        News::FaultEnded { fault, member } => format!("{} ends", hit(fault, member)),
        News::ClockWrong { member, .. } => format!("{} begins", hit(&FaultKind::Skew, member)),
        News::ClockRight { member, .. } => format!("{} ends", hit(&FaultKind::Skew, member)),
        News::Step(mark) => match mark.get("step").and_then(|step| step.as_str()) {
            Some(step) => format!("step {step}"),
            None => "a mark".to_owned(),
        },
        News::Health { member, now: Some(health), .. } => format!("{member} {health}"),
        News::Health { member, .. } => format!("{member} reports nothing"),
        News::TaintAdded { member, taint, .. } => format!("{member} gets {taint}"),
        News::TaintRemoved { member, taint } => format!("{member} loses {taint}"),
        News::MemberChanged(member) | News::MemberTold { member, .. } => format!("{member} changes"),
        News::SignOfLife(member) => format!("{member} is heard of"),
        News::Conditions(member) => format!("the conditions of {member} change"),
        News::Access(member) => format!("{member} is reached otherwise"),
        News::TaintPolicy(name) | News::Policy(name) => format!("policy {name} changes"),
        News::Overrides => "overrides change".to_owned(),
        News::Template(key) => format!("template {key} changes"),
        News::Namespace(name) => format!("namespace {name} changes"),
        News::Claimed { workload, .. } => format!("{workload} is another policy's"),
        News::HeldBack(workload) => format!("what is held back of {workload} changes"),
        News::MemberLeaving(member) => format!("{member} is being removed"),
        News::MemberGone(member) => format!("{member} is gone"),
        News::Recorded(workload) => format!("{workload} is written"),
        News::Required(workload) => format!("{workload} is needed elsewhere"),
        News::Wanted(workload) => format!("{workload} is wanted otherwise"),
        News::Assigned { was, now, .. } => assigned(was, now),
        News::EvictionBegan { task, .. } => format!("task {} begins", task.member),
        News::EvictionStamped { task, .. } => format!("task {} is stamped", task.member),
        News::EvictionChanged { task, .. } => format!("task {} changes", task.member),
        News::EvictionEnded { task, .. } => format!("task {} ends", task.member),
        News::EvictionAnnounced { member, .. } => format!("an event says that {member} is evicted from"),
        News::InstanceHealth { member, .. } => format!("health on {member} changes"),
        News::Delivered { member, .. } => format!("copy for {member} written"),
        News::Rewritten { member, .. } => format!("copy for {member} rewritten"),
        News::DeliveryTold { member, .. } => format!("more is reported of the copy for {member}"),
        News::DeliveredTwice { member, .. } => format!("second copy for {member} written"),
        News::Recalled { member, .. } => format!("copy for {member} being deleted"),
        News::DeliveryGone { member, .. } => format!("copy for {member} deleted"),
        News::Running { member, .. } => format!("what runs on {member} changes"),
        News::RunningGone { member, .. } => format!("nothing runs on {member} any more"),
        News::WorkloadGone(workload) => format!("{workload} is gone"),
    }
}

/// `m3 chosen: m1 2, m3 2`.
fn assigned(was: &Assignment, now: &Assignment) -> String {
    let names = |from: &Assignment, not_in: &Assignment| {
        from.keys().filter(|name| !not_in.contains_key(*name)).cloned().collect::<Vec<_>>().join(" and ")
    };
    let (chosen, dropped) = (names(now, was), names(was, now));
    let all =
        now.iter().map(|(member, replicas)| format!("{member} {replicas}")).collect::<Vec<_>>().join(", ");
    let all = if all.is_empty() { "nothing is left".to_owned() } else { all };
    match (chosen.as_str(), dropped.as_str()) {
        ("", "") => format!("replicas now {all}"),
        (chosen, "") => format!("{chosen} chosen: {all}"),
        ("", dropped) => format!("{dropped} dropped: {all}"),
        (chosen, dropped) => format!("{chosen} chosen, {dropped} dropped: {all}"),
    }
}
