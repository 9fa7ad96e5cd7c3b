//! An embedded Kubernetes API server: the API that clients see, in the process, with no socket and no etcd.
//!
//! [`ApiServer::client`] gives a `kube::Client`, [`ApiServer::service`] a tower service of HTTP requests. Time comes
//! from the clock and chance from the stream that the builder is given, so that a run repeats exactly.
//!
//! It serves objects and has no controllers but two, which act at once, inside the write that causes them:
//! garbage collection and the termination of namespaces. What happens inside a cluster (pods, readiness) is left
//! to `capsize-clusters`.

mod body;
mod builtin;
mod cel;
mod crd;
mod create;
mod defaults;
mod delete;
mod discovery;
mod events;
mod failure;
mod field_validation;
mod gc;
mod kinds;
mod managed_fields;
mod namespace;
mod object;
mod patch;
mod peer;
mod read;
mod request;
mod respond;
mod review;
mod scale;
mod selector;
mod server;
mod service;
mod store;
mod topology;
mod topology_table;
mod update;
mod validate;
mod watch;
mod write;
mod writer;

pub use peer::ClientCertificate;
pub use respond::ApiBody;
pub use server::{Admission, AdmissionRequest, ApiServer, Builder, InstallError};
pub use service::ApiService;
