//! A cluster of a kubeconfig: how it is reached, and whether it is the one that is allowed.

use std::error::Error;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use capsize_clusters::{ProviderError, administrator};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};

use super::allowed::Allowed;
use super::entry::Entry;

/// The namespace whose UID tells clusters apart.
const IDENTITY: &str = "kube-system";

/// A cluster that is the one that is allowed.
#[derive(Clone)]
pub struct Cluster {
    /// By which leave it is used.
    pub allowed: Allowed,
    /// The URL of its API server, with the address of the host in place of its name.
    pub server: String,
    pub(super) address: SocketAddr,
    /// The path of the server URL.
    pub(super) path: String,
    pub(super) authority: String,
    pub(super) token: String,
    /// It sends its requests as the control plane does: to the same address and path, with the same token. So whatever
    /// answers them is the cluster that workloads go to.
    pub(super) client: Client,
}

impl Cluster {
    /// Finds the cluster in the kubeconfig `file`. It is only read from.
    ///
    /// # Errors
    /// When it cannot be reached, or is another than the one that is allowed.
    pub async fn find(file: &Path, allowed: &Allowed) -> Result<Self, ProviderError> {
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

    /// Makes sure that it is still the one that is allowed.
    ///
    /// # Errors
    /// When it is another, or does not answer.
    pub async fn confirm(&self) -> Result<(), ProviderError> {
        let Allowed { context, uid } = &self.allowed;
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

/// An error with the errors that led to it.
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
