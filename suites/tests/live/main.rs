//! The commands that run in real time, with sockets and signals, as users run them.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod cluster_paths;
mod command;
mod doctor;
mod envtest;
mod example;
mod existing;
mod fleet;
mod following;
mod interrupted;
mod kits;
mod kubeconfigs;
#[path = "../manifests/mod.rs"]
mod manifests;
mod monitor;
mod node_kit;
mod playground;
mod processes;
mod record;
mod refusal;
#[path = "../short_profile/mod.rs"]
mod short_profile;
mod up;
