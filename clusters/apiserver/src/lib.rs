//! An embedded Kubernetes API server: the API that clients see, in the process, without etcd.
//!
//! A server in the process, without a network:
//!
//! ```
//! use capsize_apiserver::Server;
//! use k8s_openapi::api::core::v1::Namespace;
//! use kube::Api;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::builder().build();
//! let namespaces: Api<Namespace> = Api::all(server.client());
//! assert_eq!(namespaces.list(&Default::default()).await?.items.len(), 4);
//! # Ok(())
//! # }
//! ```
//!
//! Over HTTPS, for kubectl and every other client:
//!
//! ```
//! # use capsize_apiserver::Server;
//! # use k8s_openapi::api::core::v1::Namespace;
//! # use kube::Api;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let listening = Server::builder().name("demo").build().listen("127.0.0.1:0").await?;
//! println!("export a kubeconfig of {}:\n{}", listening.url(), listening.kubeconfig());
//! let namespaces: Api<Namespace> = Api::all(listening.client().await?);
//! assert!(namespaces.get_opt("kube-system").await?.is_some());
//! listening.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! In a simulation, [`ApiServer::builder`] takes the clock and the stream of random numbers, so that a run repeats
//! exactly. A simulation has no sockets.
//!
//! The server stores and serves objects. By default it has two controllers, which act inside the write that causes them: garbage
//! collection and the termination of namespaces. It can also do the work of the service account controllers. `capsize-clusters` simulates pods and readiness.

mod auth;
mod builder;
mod endpoint;
mod http;
mod kind;
mod server;
mod state;
mod store;
mod validation;
mod write;

// The examples of the pages are tests. `guide.md` is a link to the page of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../guide.md")]
struct Documentation;

pub use self::http::client_certificate::ClientCertificate;
pub use self::http::respond::{ApiBody, ListBody};
pub use self::http::serve::{Authority, Identity, Keys, Limits, ListenerBuilder, RunningServer, ServeError};
pub use self::http::service::ApiService;
pub use auth::User;
pub use builder::{Builder, InstallError, Server};
pub use capsize_cel::Quantity;
// A program that uses the server needs the same versions of these.
pub use k8s_openapi;
pub use kube;
pub use server::StopGuard;
pub use state::{Admission, AdmissionRequest, ApiServer};
pub use store::backup::{Backup, RESTORED};
pub use write::webhook::{WebhookCall, WebhookTransport};
