//! The command line of Capsize, and the suites that it runs. It joins the reference implementation to the
//! framework; what a scenario means and what must hold is left to the latter.

pub mod bench;
mod bench_api;
mod bench_history;
mod bench_https;
mod bench_judge;
mod bench_link_proxy;
mod bench_members;
mod bench_nodes;
mod bench_scale;
pub mod budget;
pub mod canary;
pub mod chaos;
pub mod check;
pub mod cleanup;
pub mod cli;
pub mod conformance;
pub mod die_with_parent;
pub mod diff;
pub mod doctor;
pub mod exit;
pub mod explain;
pub mod images;
pub mod list;
pub mod member;
pub mod mutants;
pub mod output;
pub mod processes;
pub mod providers;
pub mod record;
pub mod reference;
pub mod reference_nodes;
pub mod run;
pub mod schema;
pub mod side_by_side;
pub mod targets;
pub mod up;
