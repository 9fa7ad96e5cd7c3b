//! Validates jobs, cron jobs, autoscalers and disruption budgets.

use serde_json::Value;

use super::labels::{selector, selects};
use super::workload::amount;
use super::{At, pod};
use crate::http::failure::Cause;

/// Validates a Job.
pub(super) fn job(at: &At<'_>, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    generated(at, &spec, causes);
    job_spec(&spec, causes);
    let wanted = spec.field("selector");
    if wanted.is_set() {
        selector(&wanted, causes);
    } else {
        causes.push(wanted.required(""));
    }
    let pods = spec.field("template");
    let metadata = pods.field("metadata");
    let labels = metadata.field("labels");
    if !selects(wanted.value, labels.value) {
        causes.push(labels.invalid("`selector` does not match template `labels`"));
    }
    if let Some(old) = old {
        job_update(&spec, &old["spec"], causes);
    }
}

/// Checks that the labels of the pods are those that the server generates.
/// The labels are not checked if the job has a manual selector.
fn generated(at: &At<'_>, spec: &At<'_>, causes: &mut Vec<Cause>) {
    let (wanted, metadata) = (spec.field("selector"), at.field("metadata"));
    if spec.value["manualSelector"] == true || !wanted.is_set() {
        return;
    }
    let template = spec.field("template");
    let template_metadata = template.field("metadata");
    let labels = template_metadata.field("labels");
    let (uid, name) = (&metadata.value["uid"], &metadata.value["name"]);
    for (prefix, key, expected) in [
        ("", "controller-uid", uid),
        ("", "job-name", name),
        ("batch.kubernetes.io/", "controller-uid", uid),
        ("batch.kubernetes.io/", "job-name", name),
    ] {
        let key = format!("{prefix}{key}");
        match labels.value.get(&key) {
            None => {
                let detail = format!("must be '{}'", expected.as_str().unwrap_or_default());
                causes.push(labels.key(&key).required(&detail));
            }
            Some(given) if given != expected => {
                let detail = format!("must be '{}'", expected.as_str().unwrap_or_default());
                causes.push(labels.key(&key).invalid_shown(labels.value, &detail));
            }
            Some(_) => {}
        }
    }
    let wrong = ["controller-uid", "batch.kubernetes.io/controller-uid"]
        .iter()
        .any(|key| wanted.value["matchLabels"].get(*key).is_some_and(|given| given != uid));
    if wrong {
        causes.push(wanted.invalid("`selector` not auto-generated"));
    }
}

fn job_spec(spec: &At<'_>, causes: &mut Vec<Cause>) {
    let counts = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    counts.iter().for_each(|field| spec.field(field).not_negative(causes));
    let mode = spec.field("completionMode");
    mode.one_of(&["Indexed", "NonIndexed"], true, causes);
    if mode.text() == "Indexed" && !spec.field("completions").is_set() {
        causes.push(spec.field("completions").required("when completion mode is Indexed"));
    }
    let pods = spec.field("template");
    pod::template(&pods, causes);
    let pod_spec = pods.field("spec");
    let policy = pod_spec.field("restartPolicy");
    match policy.text() {
        "OnFailure" | "Never" => {}
        "" | "Always" => causes.push(policy.required("valid values: \"OnFailure\", \"Never\"")),
        _ => causes.push(policy.unsupported(&["OnFailure", "Never"])),
    }
}

fn job_update(spec: &At<'_>, old: &Value, causes: &mut Vec<Cause>) {
    let elastic = old["completionMode"] == "Indexed"
        && spec.value["completions"] == spec.value["parallelism"]
        && spec.value["completions"].is_number();
    if !elastic {
        spec.field("completions").immutable(&old["completions"], causes);
    }
    spec.field("selector").immutable(&old["selector"], causes);
    if old["suspend"] != true {
        spec.field("template").immutable(&old["template"], causes);
    }
    for field in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex"] {
        spec.field(field).immutable(&old[field], causes);
    }
}

/// Validates a `CronJob`.
pub(super) fn cron_job(at: &At<'_>, causes: &mut Vec<Cause>) {
    let (spec, metadata) = (at.field("spec"), at.field("metadata"));
    let schedule = spec.field("schedule");
    if schedule.text().is_empty() {
        causes.push(schedule.required(""));
    } else {
        causes.extend(schedule_problem(schedule.text()).map(|why| schedule.invalid(&why)));
    }
    spec.field("startingDeadlineSeconds").not_negative(causes);
    spec.field("concurrencyPolicy").one_of(&["Allow", "Forbid", "Replace"], true, causes);
    let template = spec.field("jobTemplate");
    let job = template.field("spec");
    job_spec(&job, causes);
    if job.field("selector").is_set() {
        causes.push(job.field("selector").invalid("`selector` will be auto-generated"));
    }
    if job.value["manualSelector"] == true {
        causes.push(job.field("manualSelector").unsupported(&["nil", "false"]));
    }
    spec.field("successfulJobsHistoryLimit").not_negative(causes);
    spec.field("failedJobsHistoryLimit").not_negative(causes);
    let name = metadata.field("name");
    if name.text().len() > 52 {
        causes.push(name.invalid("must be no more than 52 characters"));
    }
}

/// Returns the problem of text that is not a schedule.
/// A schedule is five fields of numbers, names, ranges, steps and lists, or a word such as `@daily`.
fn schedule_problem(schedule: &str) -> Option<String> {
    const FIELDS: [(i64, i64, &[&str]); 5] = [
        (0, 59, &[]),
        (0, 23, &[]),
        (1, 31, &[]),
        (1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
        (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
    ];
    let words = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
    if words.contains(&schedule) || schedule.starts_with("@every ") {
        return None;
    }
    if schedule.starts_with('@') {
        return Some(format!("unrecognized descriptor: {schedule}"));
    }
    if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
        return Some("cannot use TZ or CRON_TZ in schedule, use timeZone field instead".into());
    }
    let given: Vec<&str> = schedule.split_whitespace().collect();
    if given.len() != FIELDS.len() {
        return Some(format!("expected exactly 5 fields, found {}: [{}]", given.len(), given.join(" ")));
    }
    given.iter().zip(FIELDS).find_map(|(field, (least, most, names))| {
        field.split(',').find_map(|part| range_problem(part, least, most, names))
    })
}

fn range_problem(part: &str, least: i64, most: i64, names: &[&str]) -> Option<String> {
    let number = |text: &str| {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        named
            .and_then(|index| i64::try_from(index).ok())
            .map_or_else(|| text.parse::<i64>().ok(), |index| Some(index + least))
    };
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    if step.is_some_and(|step| step.parse::<u32>().ok().is_none_or(|step| step == 0)) {
        return Some(format!("failed to parse int from {}", step.unwrap_or_default()));
    }
    if matches!(range, "*" | "?") {
        return None;
    }
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    match (number(first), number(last)) {
        (Some(first), Some(_)) if first < least => {
            Some(format!("beginning of range ({first}) below minimum ({least}): {part}"))
        }
        (Some(_), Some(last)) if last > most => {
            Some(format!("end of range ({last}) above maximum ({most}): {part}"))
        }
        (Some(first), Some(last)) if first > last => {
            Some(format!("beginning of range ({first}) beyond end of range ({last}): {part}"))
        }
        (Some(_), Some(_)) => None,
        _ => {
            Some(format!("failed to parse int from {range}: strconv.Atoi: parsing {range:?}: invalid syntax"))
        }
    }
}

/// Validates a `HorizontalPodAutoscaler`.
pub(super) fn scaler(at: &At<'_>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    let target = spec.field("scaleTargetRef");
    for field in ["kind", "name"] {
        target.field(field).not_empty(causes);
    }
    let (least, most) = (spec.field("minReplicas"), spec.field("maxReplicas"));
    if least.value.as_i64().is_some_and(|count| count < 1) {
        causes.push(least.invalid("must be greater than or equal to 1"));
    }
    let limit = most.value.as_i64().unwrap_or(0);
    if limit < 1 {
        causes.push(most.invalid_shown(&limit.into(), "must be greater than 0"));
    }
    if least.value.as_i64().is_some_and(|count| limit < count) {
        causes.push(most.invalid_shown(&limit.into(), "must be greater than or equal to `minReplicas`"));
    }
}

/// Validates a `PodDisruptionBudget`.
pub(super) fn budget(at: &At<'_>, causes: &mut Vec<Cause>) {
    let spec = at.field("spec");
    let (available, unavailable) = (spec.field("minAvailable"), spec.field("maxUnavailable"));
    if available.is_set() && unavailable.is_set() {
        causes.push(spec.invalid("minAvailable and maxUnavailable cannot be both set"));
    }
    amount(&available, causes);
    amount(&unavailable, causes);
    selector(&spec.field("selector"), causes);
    spec.field("unhealthyPodEvictionPolicy").one_of(&["AlwaysAllow", "IfHealthyBudget"], true, causes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_has_five_fields() {
        let good = ["* * * * *", "*/5 0-3,7 1 jan-MAR mon", "@hourly", "@every 5m", "0 0 1 1 0"];
        good.iter().for_each(|schedule| assert_eq!(schedule_problem(schedule), None, "{schedule}"));
        let bad = [
            "* * * *",
            "60 * * * *",
            "* * 0 * *",
            "* * * x *",
            "5-1 * * * *",
            "*/0 * * * *",
            "@never",
            "TZ=UTC * * * * *",
        ];
        bad.iter().for_each(|schedule| assert!(schedule_problem(schedule).is_some(), "{schedule}"));
    }
}
