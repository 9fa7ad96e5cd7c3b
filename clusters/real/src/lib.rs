//! Members that run outside of the process, in containers, as clusters of kind's, as processes, or as clusters that exist, and what is
//! done to the machine for that: all of it is written into a journal first, so that the next start can undo what a crash has left.
//!
//! What a member is, and how faults strike the way to it, is left to `capsize-clusters`.

mod cleanup;
mod docker;
mod journal;
mod kind;
mod kubeconfig;
mod leftover;
mod ports;
mod process;
mod run_id;
mod state_folder;

pub use cleanup::{CleanUpReport, clean_up};
pub use docker::{Containers, Engine, EngineError, Image, Known, Labelled};
pub use journal::{Journal, Resource};
pub use kind::{Kind, NodeImage, Privilege};
pub use kubeconfig::{Allowed, Cluster, Copies, Existing, NotAllowed, read_kubeconfig, server_url};
pub use leftover::{Runs, runs};
pub use ports::free_port;
pub use process::{Asset, Assets, NoAsset, Processes, Starter};
pub use run_id::{NoRunId, RunId};
pub use state_folder::state_folder;
