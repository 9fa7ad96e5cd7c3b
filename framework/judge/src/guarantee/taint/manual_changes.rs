//! That what a person does in a member's record stays: TAINT. And that what a template leaves to members does: DELIVERY.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guarantee::engine::court::{Charge, Court, Guarantee, Topics, topics};
use crate::guarantee::engine::heals::Suspects;
use crate::guarantee::{Bound, Rule, Subject};
use crate::profile::Feature;
use capsize_history::facts::{Fact, Member, News};

static STAYS: Rule = Rule {
    id: "TAINT-09",
    sentence: "a taint that neither tells health nor is a policy's goes only when a person takes it away",
    features: &[Feature::HealthProbes],
    formula: "at every version, where the history tells what persons do",
    releases: "all; Karmada's policies on taints lost what others wrote until 1.18 (#7346)",
    source: "Karmada pkg/controllers/taint/clustertaintpolicy_controller.go",
};

/// H6: nobody else writes over what a person has set.
#[derive(Default)]
pub(crate) struct Stays {
    suspects: Suspects,
}

/// Whether a person took a taint away at about the time of `fact`.
fn by_hand(member: Option<&Member>, fact: &Fact, slack: Duration) -> bool {
    let act = member.and_then(|member| member.untainted_by_hand);
    act.is_some_and(|act| act.saturating_add(slack) >= fact.at)
}

impl Guarantee for Stays {
    fn rule(&self) -> &'static Rule {
        &STAYS
    }

    fn topics(&self) -> Topics {
        topics![TaintRemoved]
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        let News::TaintRemoved { member: name, taint } = &fact.news else { return };
        let world = court.world;
        let lists = |policy: &capsize_history::facts::TaintPolicy| {
            policy.taints.iter().any(|(key, effect)| *key == taint.key && *effect == taint.effect)
        };
        let others = taint.tells.is_some() || world.taint_policies.values().any(lists);
        let terminating = taint.key.ends_with("/terminating");
        if others || terminating || !world.faults_are_marked {
            return;
        }
        let member = world.members.get(name);
        // What was there and still is, with another time, was set anew.
        let again = |member: &Member| {
            member.taints.iter().any(|each| each.key == taint.key && each.effect == taint.effect)
        };
        let slack = court.timings().latency.max(court.disorder());
        if member.is_none_or(again) || by_hand(member, fact, slack) {
            return court.book.held();
        }
        let because = "no person takes it away".to_owned();
        self.suspects.suspect(Subject::member(name), fact, because, format!("{name} loses {taint}"));
    }

    fn due(&mut self) -> Duration {
        self.suspects.due()
    }

    fn pass(&mut self, now: Duration, court: &mut Court<'_>) {
        let slack = court.timings().latency.max(court.disorder());
        self.suspects.pass(now, court, |subject, fact, court| {
            let member = subject.member.as_ref().and_then(|name| court.member(name));
            by_hand(member, fact, slack)
        });
    }
}

static LEFT: Rule = Rule {
    id: "DELIVERY-15",
    sentence: "the replicas that a template leaves to a member stay as the member has them",
    features: &[Feature::RetainedReplicas],
    formula: "until latency after the member changes them",
    releases: "all",
    source: "Karmada pkg/resourceinterpreter/default/native/retain.go, retainWorkloadReplicas",
};

/// P7: what somebody in the member makes of them is not undone.
#[derive(Default)]
pub(crate) struct Left {
    /// The replicas of copies that are left to members, and when they last changed.
    had: BTreeMap<Subject, (u64, Duration)>,
}

impl Guarantee for Left {
    fn rule(&self) -> &'static Rule {
        &LEFT
    }

    fn topics(&self) -> Topics {
        topics![Running, RunningGone, DeliveryGone]
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::Running { workload: key, member } => {
                let Some(workload) = court.workload(key) else { return };
                let subject = Subject::on(key, member);
                let delivery = workload.deliveries.get(member);
                let left = delivery
                    .filter(|it| it.labels.contains_key("resourcetemplate.karmada.io/retain-replicas"));
                let Some((delivery, running)) = left.zip(workload.running.get(member)) else {
                    self.had.remove(&subject);
                    return;
                };
                let now = running.replicas;
                let before = self.had.get(&subject).copied();
                if before.is_some_and(|(had, _)| had == now) {
                    return;
                }
                self.had.insert(subject.clone(), (now, fact.at));
                let Some((had, since)) = before else { return };
                let undone =
                    now == delivery.replicas && fact.at <= since.saturating_add(court.timings().latency);
                if !undone || court.world.has_lost(member, fact.at, Duration::ZERO) {
                    return court.book.held();
                }
                let because = format!("its template leaves them to {member}, which has made them {had}");
                let seen = format!("they are {now} again, as the manifest has it");
                court.violated(Charge::by(fact, subject, Bound::Never, because, seen));
            }
            News::RunningGone { workload, member } | News::DeliveryGone { workload, member } => {
                self.had.remove(&Subject::on(workload, member));
            }
            _ => {}
        }
    }
}
