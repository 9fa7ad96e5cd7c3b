//! Objects as tables: the columns that `kubectl get` prints, one row per object.

mod build;
mod cells;
mod cluster;
mod column;
mod custom;
mod network;
mod pod;
mod policy;
mod printers;
mod storage;
mod workload;

pub(crate) use build::{Include, Tables};
