//! The command line of Capsize, and the suites that it runs. It joins the reference implementation to the
//! framework; what a scenario means and what must hold is left to the latter.

pub mod bench;
pub mod budget;
pub mod canary;
pub mod chaos;
pub mod check;
pub mod cleanup;
pub mod cli;
pub mod colour;
pub mod conformance;
pub mod controllers;
pub mod die_with_parent;
pub mod diff;
pub mod doctor;
pub mod empty;
pub mod exit;
pub mod explain;
pub mod guilty;
pub mod images;
pub mod list;
pub mod member;
pub mod mutants;
pub mod numbers;
pub mod output;
pub mod processes;
pub mod providers;
pub mod record;
pub mod reference;
pub mod reference_nodes;
pub mod run;
pub mod schema;
pub mod show;
pub mod side_by_side;
pub mod targets;
pub mod traces;
pub mod up;
