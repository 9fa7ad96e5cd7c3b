//! Providers of members outside this process: containers, kind, processes, existing clusters.
//!
//! Everything that a run makes on the machine is written into a journal first, so that the next start can remove
//! what a crash has left. The member and the faults on the link to it are in `capsize-clusters`.

mod cleanup;
mod docker;
mod journal;
mod kind;
mod kubeconfig;
mod leftover;
mod locked_file;
mod ports;
mod process;
mod run_id;
mod state_folder;

pub use cleanup::{CleanUpReport, clean_up};
pub use docker::{Containers, Engine, EngineError, EngineProperties, Image, LabelledResource};
pub use journal::{Journal, Resource};
pub use kind::{Kind, NodeImage, Privilege};
pub use kubeconfig::{
    AllowedCluster, Cluster, Copies, ExistingClusters, NotAllowed, read_kubeconfig, server_url,
};
pub use leftover::{Runs, runs};
pub use ports::free_port;
pub use process::{Asset, Assets, NoAsset, Processes, Starter};
pub use run_id::{NoRunId, RunId};
pub use state_folder::{make as make_state_folder, state_folder};
