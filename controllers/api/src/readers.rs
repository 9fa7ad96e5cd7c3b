//! Compiles the readers of the kinds in this crate, where they are optimised once.
//!
//! Serde's code to read a type is generic, and every crate that reads the type would compile the code again. A compiled form
//! in this crate is shared by the crates that are not optimised for speed.

use super::{
    Cluster, ClusterOverridePolicy, ClusterPropagationPolicy, ClusterResourceBinding, ClusterTaintPolicy,
    OverridePolicy, PropagationPolicy, RawObject, Remedy, ResourceBinding, ServiceImport, Work,
    WorkloadRebalancer,
};

macro_rules! compile_readers {
    ($($kind:ty),* $(,)?) => {
        $(const _: () = {
            #[used]
            static READER: fn(&'static str) -> serde_json::Result<$kind> = serde_json::from_str;
        };)*
    };
}

compile_readers!(
    Cluster,
    ClusterOverridePolicy,
    ClusterPropagationPolicy,
    ClusterResourceBinding,
    ClusterTaintPolicy,
    OverridePolicy,
    PropagationPolicy,
    RawObject,
    Remedy,
    ResourceBinding,
    ServiceImport,
    Work,
    WorkloadRebalancer,
);
