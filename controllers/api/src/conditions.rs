//! Reading and writing lists of conditions (`metav1.Condition`).

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The condition of this type.
#[must_use]
pub fn condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition of this type is there, and `True`.
#[must_use]
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    condition(conditions, type_).is_some_and(|condition| condition.status == "True")
}

/// Sets the condition of this type to `True` or `False`.
/// Its time of transition is `now` only where its status differs.
pub fn set_condition(
    conditions: &mut Vec<Condition>,
    type_: &str,
    holds: bool,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    set_status(conditions, type_, if holds { "True" } else { "False" }, reason, message, now);
}

/// Like [`set_condition`], with the status `Unknown`.
pub fn set_unknown(
    conditions: &mut Vec<Condition>,
    type_: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    set_status(conditions, type_, "Unknown", reason, message, now);
}

fn set_status(
    conditions: &mut Vec<Condition>,
    type_: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    let before = conditions.iter().position(|condition| condition.type_ == type_);
    let since = before
        .map(|index| &conditions[index])
        .filter(|condition| condition.status == status)
        .map_or(Time(now), |condition| condition.last_transition_time.clone());
    let condition = Condition {
        type_: type_.into(),
        status: status.into(),
        reason: reason.into(),
        message: message.into(),
        last_transition_time: since,
        observed_generation: None,
    };
    match before {
        Some(index) => conditions[index] = condition,
        None => conditions.push(condition),
    }
}
