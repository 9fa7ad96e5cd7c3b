//! A fact in a few words, for time lines.

use capsize_history::facts::{Assignment, Change, Fact, FaultInForce};
use capsize_history::{FaultKind, Mark};
use capsize_judge::time_format::clock;

/// `08:42.0 task m1 begins`.
pub(super) fn moment(fact: &Fact) -> String {
    format!("{} {}", clock(fact.at), phrase(&fact.change))
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

pub(super) fn phrase(change: &Change) -> String {
    let hit = |fault: &FaultKind, member: &Option<String>| match member {
        Some(member) => format!("{fault} {member}"),
        None => fault.to_string(),
    };
    match change {
        Change::FaultBegan { fault, member } => format!("{} begins", hit(fault, member)),
        Change::FaultEnded { fault, member } => format!("{} ends", hit(fault, member)),
        Change::ClockWrong { member, .. } => format!("{} begins", hit(&FaultKind::Skew, member)),
        Change::ClockRight { member, .. } => format!("{} ends", hit(&FaultKind::Skew, member)),
        Change::Step(mark) => step(mark),
        Change::Health { member, now: Some(health), .. } => format!("{member} {health}"),
        Change::Health { member, .. } => format!("{member} reports nothing"),
        Change::TaintAdded { member, taint, .. } => format!("{member} gets {taint}"),
        Change::TaintRemoved { member, taint } => format!("{member} loses {taint}"),
        Change::MemberChanged(member) | Change::MemberReported { member, .. } => format!("{member} changes"),
        Change::SignOfLife(member) => format!("{member} reports that it is alive"),
        Change::GraceChanged { member, .. } => format!("{member} may be silent for another time"),
        Change::Conditions(member) => format!("the conditions of {member} change"),
        Change::Access(member) => format!("{member} is reached otherwise"),
        Change::TaintPolicy(name) | Change::Policy(name) => format!("policy {name} changes"),
        Change::Overrides => "overrides change".to_owned(),
        Change::Template(key) => format!("template {key} changes"),
        Change::Namespace(name) => format!("namespace {name} changes"),
        Change::Claimed { workload, .. } => format!("{workload} is another policy's"),
        Change::HeldBack(workload) => format!("what is held back of {workload} changes"),
        Change::MemberLeaving(member) => format!("{member} is being removed"),
        Change::MemberGone(member) => format!("{member} is gone"),
        Change::Recorded(workload) => format!("{workload} is written"),
        Change::Required(workload) => format!("{workload} is needed elsewhere"),
        Change::Wanted(workload) => format!("{workload} is wanted otherwise"),
        Change::Assigned { was, now, .. } => assigned(was, now),
        Change::EvictionBegan { task, .. } => format!("task {} begins", task.member),
        Change::EvictionStamped { task, .. } => format!("task {} is stamped", task.member),
        Change::EvictionChanged { task, .. } => format!("task {} changes", task.member),
        Change::EvictionEnded { task, .. } => format!("task {} ends", task.member),
        Change::EvictionAnnounced { member, .. } => format!("an event says that {member} is evicted from"),
        Change::InstanceHealth { member, .. } => format!("health on {member} changes"),
        Change::InstanceCounts { member, .. } => format!("counts of replicas on {member} change"),
        Change::Delivered { member, .. } => format!("copy for {member} written"),
        Change::Rewritten { member, .. } => format!("copy for {member} rewritten"),
        Change::DeliveryReported { member, .. } => format!("more is reported of the copy for {member}"),
        Change::DeliveredTwice { member, .. } => format!("second copy for {member} written"),
        Change::Recalled { member, .. } => format!("copy for {member} being deleted"),
        Change::DeliveryGone { member, .. } => format!("copy for {member} deleted"),
        Change::Running { member, .. } => format!("what runs on {member} changes"),
        Change::RunningGone { member, .. } => format!("nothing runs on {member} any more"),
        Change::WorkloadGone(workload) => format!("{workload} is gone"),
    }
}

/// `step taint m1`.
fn step(mark: &Mark) -> String {
    let text = |key: &str| mark.get(key).and_then(|value| value.as_str());
    match text("step") {
        Some(step) => {
            let about = ["cluster", "node", "object"].into_iter().filter_map(text);
            ["step", step].into_iter().chain(about).collect::<Vec<_>>().join(" ")
        }
        None if mark.contains_key("history") => "the history begins".to_owned(),
        None if mark.contains_key("observer") => "the exactness of an observer is known".to_owned(),
        None => "a mark".to_owned(),
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
