//! The cluster controller: taints by health, the execution namespace, and the removal of clusters.

mod monitor;
mod sync;
mod taint;

pub(crate) use monitor::run as run_monitor;
pub(crate) use sync::run;
pub(crate) use taint::put_taints;
