//! Reads marks, which are the same in every dialect: faults that begin and end, and steps.

use std::time::Duration;

use capsize_sorted::CollectSorted;
use serde_json::Value;

use crate::facts::{Change, FaultInForce, World};
use crate::format::{CONTROL_PLANE, FOREVER, FaultKind, Mark};

/// The latest time for the header and the first versions of clusters in a history with its beginning.
/// A history with a later header, or with a later first version of a cluster, was cut out of a longer history.
pub(super) const AT_ONCE: Duration = Duration::from_secs(1);

/// Applies a mark, and returns its change. The field `cluster` or `node` names the member.
pub fn observe(world: &mut World, mark: &Mark) -> Change {
    let text = |key: &str| mark.get(key).and_then(Value::as_str).map(str::to_owned);
    let member = text("cluster").or_else(|| text("node")).filter(|name| name != CONTROL_PLANE);
    // The reader of histories refuses unknown kinds.
    let fault = mark.get("fault").and_then(Value::as_str).and_then(FaultKind::named);
    if let (Some(fault), Some(member)) = (fault, &member)
        && fault.loses_data()
    {
        world.lost.insert(member.clone(), world.now);
    }
    // A recorder that knows of a wrong clock need not know of other faults.
    let marked = fault.is_some_and(|fault| fault != FaultKind::Skew);
    world.is_of_a_scenario |= mark.contains_key("scenario");
    world.acts_are_marked |= world.is_of_a_scenario;
    world.faults_are_marked |= marked || world.is_of_a_scenario;
    if mark.contains_key("history") {
        world.stated_start = text("start").and_then(|start| capsize_clock::parse_time(&start));
    }
    if mark.contains_key("history") && world.now > AT_ONCE {
        world.unknown_past = Some(world.now);
    }
    match (fault, text("state").as_deref()) {
        (Some(fault), Some("begin")) => {
            let (since, direction) = (world.now, text("direction"));
            let late = seconds(mark).unwrap_or_default();
            let unreachable_since = world.unreachable_since(fault, member.as_deref());
            let begun =
                FaultInForce { fault, member: member.clone(), direction, late, since, unreachable_since };
            if begun.is_of_a_clock() {
                set_clock(world, mark, member.is_none());
                world.faults.push(begun);
                return Change::ClockWrong { member, by: seconds(mark).unwrap_or(FOREVER) };
            }
            if begun.hinders() {
                world.note_hindrance();
            }
            world.faults.push(begun);
            Change::FaultBegan { fault, member }
        }
        (Some(fault), Some("end")) => {
            let direction = text("direction");
            let same = |each: &FaultInForce| each.fault == fault && each.member == member;
            let one_way = |each: &FaultInForce| same(each) && each.direction == direction;
            let late = seconds(mark).unwrap_or_default();
            let exactly = |each: &FaultInForce| one_way(each) && each.late == late;
            // Of equal faults, the first lasts the longest, because the marks do not say which of them has ended.
            let place = |is_it: &dyn Fn(&FaultInForce) -> bool| world.faults.iter().rposition(is_it);
            if let Some(place) = place(&exactly).or_else(|| place(&one_way)).or_else(|| place(&same)) {
                let over = world.faults.remove(place);
                world.note_end(&over);
            } else {
                world.unknown_past = Some(world.now);
            }
            match fault {
                FaultKind::Skew => {
                    let is_wrong = |each: &FaultInForce| each.is_of_a_clock() && each.member.is_none();
                    if member.is_none() && !world.faults.iter().any(is_wrong) {
                        world.clock_right = Some(world.now);
                    }
                    Change::ClockRight { member, by: seconds(mark).unwrap_or(FOREVER) }
                }
                _ => Change::FaultEnded { fault, member },
            }
        }
        _ => {
            by_hand(world, text("step").as_deref(), member, &text("object").unwrap_or_default());
            if let Some(names) = mark.get("schedulers").and_then(Value::as_array) {
                let names = names.iter().filter_map(Value::as_str).map(str::to_owned);
                world.schedulers = Some(names.collect_sorted());
            }
            world.eviction_events |= mark.get("evictionEvents") == Some(&Value::Bool(true));
            Change::Step(mark.clone())
        }
    }
}

/// Notes that a clock is wrong. The clock of a kubelet makes no stamps that count.
fn set_clock(world: &mut World, mark: &Mark, control_plane: bool) {
    world.stamps_are_off |= !mark.contains_key("node");
    if control_plane {
        world.clock_right = None;
        world.clock_set = world.clock_set.saturating_add(seconds(mark).unwrap_or(FOREVER));
    }
}

/// The offset of a clock in either direction, or the delay of answers.
fn seconds(mark: &Mark) -> Option<Duration> {
    let seconds = mark.get("seconds").and_then(Value::as_f64)?;
    Duration::try_from_secs_f64(seconds.abs()).ok().map(|length| length.min(FOREVER))
}

/// Notes the actions of a person, which the recorder marks as steps.
fn by_hand(world: &mut World, step: Option<&str>, member: Option<String>, object: &str) {
    let now = world.now;
    world.acts_are_marked |= matches!(step, Some("taint" | "untaint" | "apply" | "delete"));
    match step {
        Some("taint" | "untaint") => {
            let Some(member) = member.and_then(|name| world.members.get_mut(&name)) else { return };
            match step {
                Some("taint") => member.tainted_by_hand = Some(now),
                _ => member.untainted_by_hand = Some(now),
            }
        }
        Some("apply" | "delete") => {
            world.acted = now;
            world.acts += 1;
            world.access_touched |= object.starts_with("Secret ");
            for (name, member) in &mut world.members {
                if object.starts_with("Cluster ") && object.split([' ', '/']).any(|word| word == name) {
                    member.untainted_by_hand = Some(now);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_member_is_unreachable_since_the_first_of_the_faults_that_overlap() {
        let mut world = World::default();
        let mut mark = |at: u64, fault: &str, state: &str| {
            world.now = Duration::from_secs(at);
            let mark = json!({"fault": fault, "cluster": "m1", "state": state});
            observe(&mut world, mark.as_object().expect("a mark is an object"));
            world.faults.last().map(|fault| fault.unreachable_since.as_secs())
        };
        assert_eq!(mark(1, "lose", "begin"), Some(1));
        assert_eq!(mark(10, "wipe", "begin"), Some(10));
        assert_eq!(mark(20, "refuse", "begin"), Some(10));
        assert_eq!(mark(30, "wipe", "end"), Some(10));
        assert_eq!(mark(40, "partition", "begin"), Some(10));
        mark(50, "refuse", "end");
        mark(50, "partition", "end");
        assert_eq!(mark(60, "refuse", "begin"), Some(60));
    }
}
