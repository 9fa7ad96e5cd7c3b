//! A cluster of a kubeconfig: the connection to it, and the check that it is the one that is allowed.

use std::error::Error;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use capsize_clusters::{ProviderError, administrator};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};

use super::allowed::AllowedCluster;
use super::entry::Entry;

/// The namespace whose UID identifies a cluster.
const IDENTITY: &str = "kube-system";

/// A cluster that is checked to be the one that is allowed.
#[derive(Clone)]
pub struct Cluster {
    /// The permission by which it is used.
    pub allowed: AllowedCluster,
    /// The URL of its API server, with the address of the host in place of its name.
    pub server: String,
    pub(super) address: SocketAddr,
    /// The path of the server URL.
    pub(super) path: String,
    pub(super) authority: String,
    pub(super) token: String,
    /// A client that sends requests as the control plane does.
    /// The client uses the same address and path, with the same token. Therefore the cluster that answers is the one
    /// that workloads go to.
    pub(super) client: Client,
}

impl Cluster {
    /// Connects to a cluster of the kubeconfig `file`, and only reads from it.
    ///
    /// # Errors
    /// It cannot be reached, or is not the one that is allowed.
    pub async fn find(file: &Path, allowed: &AllowedCluster) -> Result<Self, ProviderError> {
        let wrong =
            |why: String| ProviderError(format!("{}, context {}: {why}", file.display(), allowed.context));
        let Entry { server, authority, token } = Entry::read(file, &allowed.context).map_err(&wrong)?;
        let address = server.address().await.map_err(&wrong)?;
        let path = server.path;
        let client = administrator((address, &path), &authority, &token).await;
        let client = client.map_err(|error| wrong(error.to_string()))?;
        let (allowed, server) = (allowed.clone(), format!("https://{address}{path}"));
        let cluster = Self { allowed, server, address, path, authority, token, client };
        cluster.confirm().await?;
        Ok(cluster)
    }

    /// Checks that it is still the one that is allowed.
    ///
    /// # Errors
    /// It is another one, or does not answer.
    pub async fn confirm(&self) -> Result<(), ProviderError> {
        let AllowedCluster { context, uid } = &self.allowed;
        let namespace = Api::<Namespace>::all(self.client.clone()).get_metadata(IDENTITY).await;
        let namespace = namespace.map_err(|error| {
            ProviderError(format!(
                "{context} ({}) does not report the UID of its namespace {IDENTITY}, so nothing is done to it: {}",
                self.server,
                chain(&error)
            ))
        })?;
        match namespace.metadata.uid {
            Some(actual) if actual == *uid => Ok(()),
            actual => {
                let actual = actual.unwrap_or_default();
                Err(ProviderError(format!(
                    "{context} is not allowed: at {}, the UID of the namespace {IDENTITY} is {actual}, and {uid} is \
                     allowed; nothing is done to it",
                    self.server
                )))
            }
        }
    }
}

/// The message of an error, with those of the errors that caused it.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            // Writing to a string does not fail.
            let _ = write!(text, ": {more}");
        }
        cause = error.source();
    }
    text
}
