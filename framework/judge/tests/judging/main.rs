//! The judging half: histories in, verdicts and reports out.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod announced;
mod arbitrary_clocks;
mod autoscalers;
mod cases;
mod clocks;
mod coverage;
mod disturbed;
mod examples;
mod finalizers;
mod forms;
mod history;
mod meanwhile;
mod moving;
mod nodes;
mod nodes_drained;
mod noticed;
mod numbers;
mod outcomes;
mod partial;
mod perturbed;
mod placing;
mod profile;
mod reports;
mod story;
mod undecided;
mod wishes;
