//! Eviction tasks end when their work is done, or their time is over: EVICTION.

use crate::guarantee::engine::bounds;
use crate::guarantee::engine::court::{Court, Guarantee, Reason, Topics, Waits, topics};
use crate::guarantee::engine::tolerates::begun;
use crate::guarantee::{Rule, Subject};
use crate::profile::Feature;
use crate::text::{clock, span};
use capsize_history::digest::Table;
use capsize_history::facts::{EvictionTask, Fact, InstanceHealth, News, Workload, WorkloadKey};

/// Whether the control plane tells of every assigned member that it is healthy; true also where none is assigned.
fn told_healthy(workload: &Workload) -> bool {
    let healthy = |member: &String| {
        workload.instances.get(member).is_some_and(|instance| instance.health == InstanceHealth::Healthy)
    };
    workload.assignment.keys().all(healthy)
}

/// Whether what is told of every assigned member is of the latest schedule: so many replicas as that has given it, and
/// nothing that could not be written. A copy that was scaled to nothing is healthy without any replicas, and told to be so until
/// what it is to be since has been delivered and reported on.
fn told_of_schedule(workload: &Workload) -> bool {
    let is_of = |(member, replicas): (&String, &u64)| {
        let told = workload.instances.get(member).and_then(|instance| instance.ready);
        let failed = workload.deliveries.get(member).is_some_and(|it| it.applied == Some(false));
        !failed && (*replicas == 0 || told.is_none_or(|ready| ready == *replicas))
    };
    workload.assignment.iter().all(is_of)
}

static EVICTION_01: Rule = Rule {
    id: "EVICTION-01",
    sentence: "an eviction task ends when every assigned member is told to be healthy",
    features: &[Feature::GracefulEviction],
    formula: bounds::DONE,
    releases: "all",
    source: "Karmada pkg/controllers/gracefuleviction/evictiontask.go",
};

/// T11: all assigned members healthy, by a status that the scheduler's last word is in, ends a stamped task.
#[derive(Default)]
pub(crate) struct TaskEndsWhenReplacementsAreHealthy(Waits);

impl Guarantee for TaskEndsWhenReplacementsAreHealthy {
    fn rule(&self) -> &'static Rule {
        &EVICTION_01
    }

    fn topics(&self) -> Topics {
        topics![EvictionEnded, Recorded, WorkloadGone]
    }

    fn waits(&mut self) -> Option<&mut Waits> {
        Some(&mut self.0)
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::EvictionEnded { workload, task } => {
                if let Some(left) = self.0.met(&Subject::on(workload, &task.member), fact) {
                    court.book.held_by(left);
                }
            }
            News::Recorded(key) => self.recorded(key, fact, court),
            News::WorkloadGone(key) => self.0.cancel_of(key, |_| true),
            _ => {}
        }
    }
}

impl TaskEndsWhenReplacementsAreHealthy {
    fn recorded(&mut self, key: &WorkloadKey, fact: &Fact, court: &Court<'_>) {
        let Some(workload) = court.workload(key) else { return };
        let placed = workload.scheduled && !workload.assignment.is_empty();
        let ready = placed && told_healthy(workload) && told_of_schedule(workload);
        for task in &workload.evictions {
            let subject = Subject::on(key, &task.member);
            if ready && task.stamped.is_some() && task.suppress_deletion != Some(true) {
                let reason = Reason {
                    because: format!("all assigned members are told to be healthy since {}", clock(fact.at)),
                    missing: format!("the task that evicts from {} is still there", task.member),
                };
                self.0.start(subject, fact, bounds::done(court.timings()), reason);
            } else {
                self.0.cancel(&subject);
            }
        }
    }
}

static EVICTION_02: Rule = Rule {
    id: "EVICTION-02",
    sentence: "an eviction task whose work is not done ends when its timeout has passed, not before",
    features: &[Feature::GracefulEviction],
    formula: bounds::TIMED_OUT,
    releases: "all",
    source: "Karmada pkg/controllers/gracefuleviction/evictiontask.go",
};

/// T12 with V7: a task is gone by its timeout, and is not gone before it unless all is healthy.
#[derive(Default)]
pub(crate) struct TaskEndsAtTimeout {
    waits: Waits,
    /// Whether all was healthy in the version before: a task that ends may end in that very version.
    healthy: Table<WorkloadKey, bool>,
}

impl Guarantee for TaskEndsAtTimeout {
    fn rule(&self) -> &'static Rule {
        &EVICTION_02
    }

    fn counts_from_stamps(&self) -> bool {
        true
    }

    fn topics(&self) -> Topics {
        topics![EvictionBegan, EvictionStamped, EvictionEnded, Recorded, WorkloadGone]
    }

    fn waits(&mut self) -> Option<&mut Waits> {
        Some(&mut self.waits)
    }

    fn observe(&mut self, fact: &Fact, court: &mut Court<'_>) {
        match &fact.news {
            News::EvictionBegan { workload, task } | News::EvictionStamped { workload, task } => {
                self.wait(workload, task, fact, court);
            }
            News::EvictionEnded { workload, task } => self.ended(workload, task, fact, court),
            News::Recorded(key) => {
                let Some(workload) = court.workload(key) else { return };
                self.healthy.insert(key.clone(), told_healthy(workload));
                for task in workload.evictions.iter().filter(|task| task.suppress_deletion == Some(true)) {
                    self.waits.cancel(&Subject::on(key, &task.member));
                }
            }
            News::WorkloadGone(key) => {
                self.healthy.swap_remove(key);
                self.waits.cancel_of(key, |_| true);
            }
            _ => {}
        }
    }
}

impl TaskEndsAtTimeout {
    /// Until the stamp is there, it may take the latency to come.
    fn wait(&mut self, key: &WorkloadKey, task: &EvictionTask, fact: &Fact, court: &Court<'_>) {
        let limit = bounds::timed_out(court.timings(), task.grace);
        let until = task.stamped.unwrap_or(task.seen + court.timings().latency) + limit;
        let reason = Reason {
            because: format!("task begun {}, and {} is the longest", clock(task.seen), span(limit)),
            missing: match task.stamped {
                Some(_) => format!("the task that evicts from {} is still there", task.member),
                None => {
                    format!("the task that evicts from {} is still there, and has no time stamp", task.member)
                }
            },
        };
        self.waits.restart(Subject::on(key, &task.member), fact, until, court.timings().latency, reason);
    }

    fn ended(&mut self, key: &WorkloadKey, task: &EvictionTask, fact: &Fact, court: &mut Court<'_>) {
        let subject = Subject::on(key, &task.member);
        let left = self.waits.met(&subject, fact);
        let healthy =
            self.healthy.get(key).copied().unwrap_or(true) || court.workload(key).is_none_or(told_healthy);
        if healthy || task.inherited || task.suppress_deletion.is_some() {
            return;
        }
        let earliest = begun(task, court.world) + bounds::not_timed_out(court.timings(), task.grace);
        let (world, timings) = (court.world, court.timings());
        court.came(subject, fact, earliest, left, || {
            let timeout = task.grace.unwrap_or(timings.graceful_eviction_timeout);
            let because = format!("task begun {}, timeout {}", clock(task.seen), span(timeout));
            (because, format!("the task is gone, and {}", unhealthy(world.workloads.get(key))))
        });
    }
}

/// Says of which assigned members the control plane does not tell that they are healthy.
fn unhealthy(workload: Option<&Workload>) -> String {
    let Some(workload) = workload else { return "nothing is known of it".to_owned() };
    let state = |member: &String| workload.instances.get(member).map(|each| each.health).unwrap_or_default();
    let named: Vec<_> = workload
        .assignment
        .keys()
        .map(|member| (member, state(member)))
        .filter(|(_, health)| *health != InstanceHealth::Healthy)
        .map(|(member, health)| format!("{member} is {health:?}"))
        .collect();
    named.join(", ")
}
