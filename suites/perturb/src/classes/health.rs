//! Wrong behaviour about the health of members that the control plane probes, or whose agent reports.

use serde_json::json;

use crate::class::{Class, ViolationKind};
use crate::edit::Edit;
use crate::object::{
    HEALTH, add_health_taint, array, condition, is_away, is_leaving, is_ready, remove_health_taints,
    set_condition,
};
use crate::recording::{Fault, Recording};
use crate::track::Track;

pub(super) const CLASSES: &[Class] = &[
    Class::new("not-ready-too-early", ViolationKind::TooEarly, &["HEALTH-01"], not_ready_too_early),
    Class::new("not-ready-too-late", ViolationKind::TooLate, &["HEALTH-01"], not_ready_too_late),
    Class::new("not-ready-never", ViolationKind::Never, &["HEALTH-01"], not_ready_never),
    Class::new("not-ready-without-cause", ViolationKind::Causeless, &["HEALTH-01"], |all| {
        unready(all, 5.0, "False", false)
    }),
    Class::new("not-ready-for-a-moment", ViolationKind::Causeless, &["HEALTH-01"], |all| {
        unready(all, 0.3, "False", false)
    }),
    Class::new("ready-too-early", ViolationKind::TooEarly, &["HEALTH-04"], ready_too_early),
    Class::new("ready-too-late", ViolationKind::TooLate, &["HEALTH-04"], |all| late_return(all, false)),
    Class::new("ready-never", ViolationKind::Never, &["HEALTH-04"], |all| late_return(all, true)),
    Class::new("ready-during-an-outage", ViolationKind::Causeless, &["HEALTH-04"], ready_while_away),
    Class::new("probed-member-unknown", ViolationKind::Other, &["HEALTH-03"], probed_unknown),
    Class::new("status-changes-while-away", ViolationKind::Stale, &["HEALTH-05"], status_changes),
    Class::new("kinds-lost-with-readiness", ViolationKind::Lost, &["HEALTH-05"], kinds_lost),
    Class::new("remedies-lost", ViolationKind::Lost, &["HEALTH-07"], remedies_lost),
    Class::new("silent-agent-unknown-too-late", ViolationKind::TooLate, &["HEALTH-02"], unknown_too_late),
    Class::new("silent-agent-unknown-never", ViolationKind::Never, &["HEALTH-02"], unknown_never),
    Class::new("unknown-without-silence", ViolationKind::Causeless, &["HEALTH-02"], |all| {
        unready(all, 5.0, "Unknown", true)
    }),
    Class::new("never-reported-not-unknown", ViolationKind::Never, &["HEALTH-06"], never_reported),
];

fn is_probed(member: &Track) -> bool {
    member.versions.iter().all(|version| version.object["spec"]["syncMode"] != "Pull")
}

/// The outages of probed members, with the version that reports each, if there is one.
fn reported<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, &'r Fault, usize)> {
    outages_of(recording, recording.tracks("Cluster").filter(|member| is_probed(member)))
}

/// The outages of these members, with the version that reports each, if there is one.
fn outages_of<'r>(
    recording: &'r Recording<'_>,
    members: impl Iterator<Item = &'r Track>,
) -> impl Iterator<Item = (&'r Track, &'r Fault, usize)> {
    members.flat_map(move |member| {
        let outages = recording.outages(member.short()).into_iter();
        outages.filter_map(move |fault| {
            let until = fault.end.max(fault.begin);
            let mut began = member.begins(is_away).into_iter();
            let number = began.find(|number| {
                let at = member.versions[*number].at;
                at > fault.begin && at < until
            })?;
            let was_ready = member.object_at(fault.begin).is_some_and(is_ready);
            was_ready.then_some((member, fault, number))
        })
    })
}

/// The ends of outages of probed members, with the version that reports the member ready again.
fn recovered<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, &'r Fault, usize)> {
    reported(recording).filter_map(|(member, fault, _)| {
        let mut began = member.begins(is_ready).into_iter();
        let number = began.find(|number| member.versions[*number].at > fault.end)?;
        let away = member.object_at(fault.end).is_some_and(is_away);
        let next =
            recording.faults_of(member.short()).map(|other| other.begin).find(|begin| *begin > fault.end);
        let first = next.is_none_or(|next| next > member.versions[number].at);
        (away && first && fault.end < recording.end).then_some((member, fault, number))
    })
}

/// The latest moment at which an outage may be reported.
fn longest(recording: &Recording<'_>, fault: &Fault) -> Option<f64> {
    let (every, probe) = (recording.timing("statusUpdateFrequency"), recording.probe(fault)?);
    let times = (recording.timing("failureThreshold") / every).ceil();
    Some(recording.beyond((every + probe) * (times + 2.0)))
}

fn not_ready_too_early(recording: &Recording<'_>) -> Vec<Edit> {
    let early = 0.25 * recording.timing("failureThreshold");
    let places = reported(recording).filter(|(member, fault, number)| {
        early >= 0.5 && member.versions[*number].at > fault.begin + early + 0.5
    });
    places.map(|(member, fault, number)| member.advance(number, fault.begin + early, &HEALTH)).collect()
}

fn not_ready_too_late(recording: &Recording<'_>) -> Vec<Edit> {
    let places = reported(recording).filter_map(|(member, fault, number)| {
        let until = fault.begin + longest(recording, fault)?;
        let lasts = until + 1.0 < fault.end && recording.is_calm(fault.begin, until);
        lasts.then(|| member.hold(number, Some(until), &HEALTH))
    });
    places.collect()
}

fn not_ready_never(recording: &Recording<'_>) -> Vec<Edit> {
    let places = reported(recording).filter_map(|(member, fault, number)| {
        let until = fault.begin + longest(recording, fault)?;
        let back = member.holds_until(number, recording.end + 1.0, is_away);
        let lasts = until < fault.end && recording.is_calm(fault.begin, until);
        lasts.then(|| member.hold(number, Some(back), &HEALTH))
    });
    places.collect()
}

/// Returns the moments at which a ready member could be reported as not ready.
/// The report would last for `lasting` seconds, without any fault.
fn healthy_moments<'r>(recording: &'r Recording<'_>, lasting: f64) -> impl Iterator<Item = (&'r Track, f64)> {
    let members = recording.tracks("Cluster").filter(|_| recording.is_marked);
    members.flat_map(move |member| {
        let moments = recording.moments(lasting + 1.0).into_iter();
        let is_healthy = move |at: &f64| {
            let (from, until) = (at - 1.0, at + lasting + 1.0);
            let settled = recording.faults_of(member.short()).all(|fault| fault.end < recording.end);
            settled
                && recording.is_untroubled(member.short(), from, until)
                && member.holds(from, until, |object| is_ready(object) && !is_leaving(object))
                && !by_hand(recording, member.short(), until)
        };
        moments.filter(is_healthy).map(move |at| (member, at))
    })
}

/// Whether the history marks that a person wrote the record of the member before `until`.
fn by_hand(recording: &Recording<'_>, member: &str, until: f64) -> bool {
    recording.steps().any(|(at, mark)| {
        at < until && mark.get("object").and_then(|it| it.as_str()).is_some_and(|it| it.contains(member))
    })
}

fn unready(recording: &Recording<'_>, lasting: f64, status: &str, pulls: bool) -> Vec<Edit> {
    let moments = healthy_moments(recording, lasting).filter(|(member, _)| is_probed(member) != pulls);
    let edit = |(member, at): (&Track, f64)| {
        let stamp = recording.stamp(at);
        member.alter(at, Some(at + lasting), |object| {
            set_condition(object, "Ready", status, "ClusterNotReachable");
            if lasting > 1.0 {
                add_health_taint(object, "NoSchedule", status, &stamp);
            }
        })
    };
    moments.map(edit).collect()
}

fn ready_too_early(recording: &Recording<'_>) -> Vec<Edit> {
    let early = 0.2 * recording.timing("successThreshold");
    let places = recovered(recording).filter(|(member, fault, number)| {
        early >= 0.4 && member.versions[*number].at > fault.end + early + 0.4
    });
    places.map(|(member, fault, number)| member.advance(number, fault.end + early, &HEALTH)).collect()
}

fn late_return(recording: &Recording<'_>, for_good: bool) -> Vec<Edit> {
    let places = recovered(recording).filter_map(|(member, fault, number)| {
        let (every, probe) = (recording.timing("statusUpdateFrequency"), recording.probe(fault)?);
        let times = (recording.timing("successThreshold") / every).ceil();
        let until = fault.end + recording.beyond(every * (times + 1.0) + probe);
        let again = recording
            .faults_of(member.short())
            .any(|other| other.begin > fault.end && other.begin < until + 1.0);
        let lasts = !again && recording.is_calm(fault.begin, until + 0.5);
        lasts.then(|| member.hold(number, (!for_good).then_some(until), &HEALTH))
    });
    places.collect()
}

/// The times between the report of an outage and its end, if they last.
fn away<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, f64, f64)> {
    reported(recording).filter_map(|(member, fault, number)| {
        let at = member.versions[number].at;
        let ends = fault.end.min(member.holds_until(number, recording.end, is_away));
        (ends - at > 1.0).then_some((member, at, ends))
    })
}

fn ready_while_away(recording: &Recording<'_>) -> Vec<Edit> {
    let edit = |(member, from, until): (&Track, f64, f64)| {
        let (third, status) = ((until - from) / 3.0, member.object_at(from).cloned().unwrap_or_default());
        let stale = condition(&status, "Ready") == "False";
        let change = member.alter(from + third, Some(from + 2.0 * third), |object| {
            set_condition(object, "Ready", "True", "ClusterReady");
            remove_health_taints(object, "NoSchedule");
        });
        if stale { change } else { Edit::new() }
    };
    away(recording).map(edit).collect()
}

fn probed_unknown(recording: &Recording<'_>) -> Vec<Edit> {
    let edit = |(member, from, until): (&Track, f64, f64)| {
        member.alter(from, Some(until), |object| {
            set_condition(object, "Ready", "Unknown", "ClusterStatusUnknown");
        })
    };
    away(recording).map(edit).collect()
}

fn status_changes(recording: &Recording<'_>) -> Vec<Edit> {
    let edit = |(member, from, until): (&Track, f64, f64)| {
        member.alter(f64::midpoint(from, until), Some(until), |object| {
            object["status"]["kubernetesVersion"] = json!("v0.0.0");
        })
    };
    away(recording).map(edit).collect()
}

fn kinds_lost(recording: &Recording<'_>) -> Vec<Edit> {
    let has_kinds = |member: &Track, at: f64| {
        member.object_at(at).is_some_and(|object| {
            object["status"]["apiEnablements"].as_array().is_some_and(|kinds| !kinds.is_empty())
        })
    };
    let places = away(recording).filter(|(member, from, _)| has_kinds(member, *from));
    let edit = |(member, from, until): (&Track, f64, f64)| {
        member.alter(from, Some(until), |object| object["status"]["apiEnablements"] = json!([]))
    };
    places.map(edit).collect()
}

/// A remedy that another writer put into the status before a report is lost with the report.
fn remedies_lost(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for member in recording.tracks("Cluster") {
        let reports = member.begins(is_away).into_iter().chain(member.begins(is_ready));
        for number in reports.filter(|number| *number > 0) {
            let (before, at) = (member.versions[number - 1].at, member.versions[number].at);
            if at - before > 0.2 && !recording.has_remedies() {
                edits.push(member.alter(f64::midpoint(before, at), Some(at), |object| {
                    array(object, "status", "remedyActions").push(json!("TrafficControl"));
                }));
            }
        }
    }
    edits
}

/// The silences of agents, with the version that reports each.
fn silences<'r>(recording: &'r Recording<'_>) -> impl Iterator<Item = (&'r Track, &'r Fault, usize, f64)> {
    let members = recording.tracks("Cluster").filter(|member| !is_probed(member));
    outages_of(recording, members).filter_map(|(member, fault, number)| {
        let unknown = condition(&member.versions[number].object, "Ready") == "Unknown";
        let grace = recording.timing("monitorGracePeriod") + 2.0 * recording.timing("monitorPeriod");
        let until = fault.begin + recording.beyond(grace);
        let lasts = until + 1.0 < fault.end && recording.is_calm(fault.begin, until);
        (unknown && lasts).then_some((member, fault, number, until))
    })
}

fn unknown_too_late(recording: &Recording<'_>) -> Vec<Edit> {
    silences(recording).map(|(member, _, number, until)| member.hold(number, Some(until), &HEALTH)).collect()
}

fn unknown_never(recording: &Recording<'_>) -> Vec<Edit> {
    let edit = |(member, _, number, _): (&Track, &Fault, usize, f64)| {
        let back = member.holds_until(number, recording.end + 1.0, is_away);
        member.hold(number, Some(back), &HEALTH)
    };
    silences(recording).map(edit).collect()
}

fn never_reported(recording: &Recording<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for member in recording.tracks("Cluster").filter(|member| !is_probed(member)) {
        let Some(created) = member.created() else { continue };
        let until = created + recording.beyond(60.0 + 2.0 * recording.timing("monitorPeriod"));
        let first = member.begins(|object| condition(object, "Ready") == "Unknown").into_iter().next();
        let silent = |number: &usize| {
            member.versions[..*number].iter().all(|version| condition(&version.object, "Ready").is_empty())
        };
        if let Some(number) = first.filter(silent)
            && recording.is_calm(created, until)
        {
            edits.push(member.hold(number, None, &HEALTH));
        }
    }
    edits
}
