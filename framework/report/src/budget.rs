//! Formats how long a failover may take: for people, and for programs.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::layout::Page;
use capsize_history::dialect::DialectKind;
use capsize_judge::budget::{Budget, EvictionTimes, FailoverTimes, Failure, Range};
use capsize_judge::profile::Profile;
use capsize_judge::time_format::span;

/// The version of the document; another one where a field goes or changes its meaning.
const SCHEMA: &str = "capsize.budget/v1";

/// For people, in lines of `columns` columns.
#[must_use]
pub fn budget(budget: &Budget, profile: &Profile, columns: usize) -> String {
    let mut page = Page::new(columns);
    page.line(&format!("capsize budget · {} {}", profile.name, profile.version));
    for (transition, range) in &budget.transitions {
        page.blank();
        page.wrapped("  ", transition.what);
        page.labelled("takes", &takes(*range));
        page.labelled("at least", &transition.lower.to_string());
        page.labelled("at most", &transition.upper.to_string());
        if !transition.guarantee.is_empty() {
            page.labelled("asked by", transition.guarantee);
        }
    }
    for failover in &budget.failovers {
        page.blank();
        end_to_end(&mut page, failover);
    }
    page.blank();
    if let Some(shortest) = budget.shortest_evicting_outage() {
        let text = format!("An outage that is shorter than {} moves no workload.", span(shortest));
        page.wrapped("", &text);
    }
    for warning in warnings(profile) {
        page.wrapped("warning: ", warning);
    }
    let latency = span(profile.timings.latency);
    page.wrapped(
        "",
        &format!(
            "Times are without latency, which is {latency} here and may come on top wherever a formula has it. How long \
             the new copy takes to start comes on top as well."
        ),
    );
    page.finish()
}

/// Settings that are allowed, but seldom wanted.
fn warnings(profile: &Profile) -> impl Iterator<Item = &'static str> {
    let timings = &profile.timings;
    let probed = profile.dialect == DialectKind::Karmada;
    let warnings = [
        (
            probed && timings.failure_threshold.is_zero(),
            "failureThreshold is 0: one failed probe makes a member NotReady",
        ),
        (
            probed && timings.success_threshold.is_zero(),
            "successThreshold is 0: one successful probe makes a member Ready again",
        ),
        (
            probed && timings.graceful_eviction_timeout.is_zero(),
            "gracefulEvictionTimeout is 0: old copies go before new copies are ready",
        ),
    ];
    warnings.into_iter().filter_map(|(applies, warning)| applies.then_some(warning))
}

/// A sentence that compares the longest failover with `limit`, and whether the failover is within it.
#[must_use]
pub fn budget_within(budget: &Budget, limit: Duration, columns: usize) -> (String, bool) {
    let (worst, limit_text) = (budget.worst(), span(limit));
    let is_within = worst.is_some_and(|worst| worst <= limit);
    let text = match worst {
        Some(worst) if is_within => {
            format!("within {limit_text}: the new copy is applied after {} at most", span(worst))
        }
        Some(worst) => {
            format!("NOT within {limit_text}: the new copy may be applied only after {}", span(worst))
        }
        None => format!("NOT within {limit_text}: the failover has no limit, or moves nothing by itself"),
    };
    let mut page = Page::new(columns);
    page.line(&text);
    (page.finish(), is_within)
}

fn end_to_end(page: &mut Page, failover: &FailoverTimes) {
    page.line(title(failover.failure));
    page.labelled("detected", &takes(failover.detected));
    match failover.moved {
        None => page.labelled("evicted", "never, unless a person taints the member"),
        Some(EvictionTimes { evicted, applied, given_up }) => {
            page.labelled("evicted", &takes(evicted));
            page.labelled("new copy", &takes(applied));
            page.labelled("old copy", &format!("given up after {}", takes(given_up)));
            let worst = applied.upper.map(|upper| span(upper + applied.latency));
            let worst = worst.unwrap_or_else(|| NO_LIMIT.to_owned());
            page.labelled("worst", &format!("{worst} from the failure to the new copy, latency and all"));
        }
    }
}

const NO_LIMIT: &str = "no limit";

pub(super) fn title(failure: Failure) -> &'static str {
    match failure {
        Failure::Refused => "A member that refuses connections, from end to end",
        Failure::BlackHole => "A member that is a black hole, from end to end",
        Failure::SilentAgent => "A member whose agent falls silent, from end to end",
    }
}

pub(super) fn takes(Range { lower, upper, .. }: Range) -> String {
    match upper {
        Some(upper) if upper == lower => span(upper),
        Some(upper) => format!("{} to {}", span(lower), span(upper)),
        None => format!("{NO_LIMIT}: nothing ends a probe that is not answered"),
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    schema: &'static str,
    target: &'a str,
    version: &'a str,
    latency_seconds: f64,
    transitions: Vec<OneTransition>,
    failovers: Vec<OneFailover>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OneTransition {
    what: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    guarantee: &'static str,
    lower: String,
    upper: String,
    takes: OneRange,
}

/// Seconds; no `upper` where there is no limit. Latency comes on top.
#[derive(Serialize, JsonSchema)]
struct OneRange {
    lower: f64,
    upper: Option<f64>,
    latency: f64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OneFailover {
    failure: &'static str,
    detected: OneRange,
    evicted: Option<OneRange>,
    new_copy_applied: Option<OneRange>,
    old_copy_given_up: Option<OneRange>,
}

/// For programs.
///
/// # Panics
/// Never: text, numbers and lists are always JSON.
#[must_use]
pub fn budget_json(budget: &Budget, profile: &Profile) -> String {
    let transitions = budget.transitions.iter().map(|(transition, range)| OneTransition {
        what: transition.what,
        guarantee: transition.guarantee,
        lower: transition.lower.to_string(),
        upper: transition.upper.to_string(),
        takes: one(*range),
    });
    let document = Document {
        schema: SCHEMA,
        target: &profile.name,
        version: &profile.version,
        latency_seconds: profile.timings.latency.as_secs_f64(),
        transitions: transitions.collect(),
        failovers: budget.failovers.iter().map(one_failover).collect(),
    };
    serde_json::to_string_pretty(&document).expect("text, numbers and lists are always JSON") + "\n"
}

fn one(Range { lower, upper, latency }: Range) -> OneRange {
    let (lower, latency) = (lower.as_secs_f64(), latency.as_secs_f64());
    OneRange { lower, upper: upper.as_ref().map(Duration::as_secs_f64), latency }
}

fn one_failover(FailoverTimes { failure, detected, moved }: &FailoverTimes) -> OneFailover {
    OneFailover {
        failure: match failure {
            Failure::Refused => "refused",
            Failure::BlackHole => "blackHole",
            Failure::SilentAgent => "silentAgent",
        },
        detected: one(*detected),
        evicted: moved.map(|moved| one(moved.evicted)),
        new_copy_applied: moved.map(|moved| one(moved.applied)),
        old_copy_given_up: moved.map(|moved| one(moved.given_up)),
    }
}
