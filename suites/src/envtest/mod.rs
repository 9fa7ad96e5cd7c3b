//! Contains the programs that envtest starts.
//! These programs are a kube-apiserver that is the embedded API server, and an etcd that stores nothing.

mod command;
mod etcd;
mod kube_apiserver;

pub use command::{Envtest, command_of};
pub use etcd::Etcd;
pub use kube_apiserver::KubeApiserver;
