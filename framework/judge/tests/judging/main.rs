//! Tests of the judge: from histories to verdicts and reports.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod arbitrary_clocks;
mod autoscalers;
mod clocks;
mod concurrent_faults;
mod coverage;
mod drained_nodes;
mod equivalent_encodings;
mod eviction_events;
mod evictions_and_copies;
mod evictions_without_reason;
mod examples;
mod excuses;
mod fault_evidence;
mod finalizers;
mod history;
mod history_builder;
mod inexact_times;
mod lost_members;
mod member_health;
mod missed_versions;
mod nodes;
mod numbers;
mod outcomes;
mod partial_recordings;
mod perturbed_recordings;
mod placement;
mod policies;
mod profile;
mod real_defects;
mod reports;
mod silent_nodes;
