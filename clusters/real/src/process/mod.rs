//! Members that are processes of this machine: an etcd and a kube-apiserver each, and nothing else.

mod assets;
mod files;
mod member;
mod program;
mod provider;
mod run_folder;
mod sweep;

pub use assets::{Asset, Assets, NoAsset};
pub use provider::{Processes, Starter};
pub(crate) use sweep::end;
