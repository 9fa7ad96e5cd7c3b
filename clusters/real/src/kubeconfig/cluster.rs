//! A cluster of a kubeconfig: how it is reached, and whether it is the one that is meant.

use std::net::SocketAddr;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use capsize_clusters::ProviderError;
use k8s_openapi::api::core::v1::Namespace;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::Value;
use tokio::net::lookup_host;

use super::allowed::Allowed;

/// The namespace whose UID tells clusters apart.
const IDENTITY: &str = "kube-system";

/// A cluster that is the one that is allowed.
#[derive(Clone)]
pub struct Cluster {
    /// By which leave it is used.
    pub allowed: Allowed,
    /// Where its API server is.
    pub server: String,
    pub(super) address: SocketAddr,
    pub(super) authority: String,
    pub(super) token: String,
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
        // What the reader says may quote the file, in which there are keys.
        let kubeconfig = Kubeconfig::read_from(file).map_err(|_| wrong("this is not a kubeconfig".into()))?;
        let entry = Entry::of(&kubeconfig, &allowed.context).map_err(&wrong)?;
        let options =
            KubeConfigOptions { context: Some(allowed.context.clone()), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let config = config.map_err(|error| wrong(error.to_string()))?;
        let address = address(&config.cluster_url).await.map_err(&wrong)?;
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| wrong(error.to_string()))?;
        let Entry { authority, token } = entry;
        let cluster = Self { allowed: allowed.clone(), server, address, authority, token, client };
        cluster.confirm().await?;
        Ok(cluster)
    }

    /// Makes sure that it is still the one that is allowed.
    ///
    /// # Errors
    /// When it is another, or does not say.
    pub async fn confirm(&self) -> Result<(), ProviderError> {
        let Allowed { context, uid } = &self.allowed;
        let namespace = Api::<Namespace>::all(self.client.clone()).get(IDENTITY).await;
        let namespace = namespace.map_err(|error| {
            ProviderError(format!(
                "{context} does not tell the UID of {IDENTITY}, so that nothing is done to it: {error}"
            ))
        })?;
        match namespace.metadata.uid {
            Some(actual) if actual == *uid => Ok(()),
            actual => {
                let actual = actual.unwrap_or_default();
                Err(ProviderError(format!(
                    "{context} is not allowed: the UID of its {IDENTITY} is {actual}, and {uid} is; nothing is done to it"
                )))
            }
        }
    }
}

/// What a control plane has to know of a cluster.
struct Entry {
    authority: String,
    token: String,
}

impl Entry {
    fn of(kubeconfig: &Kubeconfig, context: &str) -> Result<Self, String> {
        Ok(Self { authority: authority(kubeconfig, context)?, token: token(kubeconfig, context)? })
    }
}

/// The bearer token of a context's user.
pub(crate) fn token(kubeconfig: &Kubeconfig, context: &str) -> Result<String, String> {
    let user = parts(kubeconfig, context)?.1;
    match (text(&user, "token"), text(&user, "tokenFile")) {
        (Some(token), _) => Ok(token),
        (None, Some(path)) => Ok(read(path)?.trim().to_owned()),
        (None, None) => {
            let make = "`kubectl create token` makes one";
            Err(format!(
                "its user has no bearer token, by which control planes reach members; a certificate does not do in its \
                 place: {make}"
            ))
        }
    }
}

/// The certificate (PEM) of the authority of a context's cluster.
pub(crate) fn authority(kubeconfig: &Kubeconfig, context: &str) -> Result<String, String> {
    let cluster = parts(kubeconfig, context)?.0;
    match (text(&cluster, "certificate-authority-data"), text(&cluster, "certificate-authority")) {
        (Some(data), _) => {
            let pem = STANDARD.decode(data).ok().and_then(|pem| String::from_utf8(pem).ok());
            pem.ok_or_else(|| "its certificate-authority-data is no PEM in base64".to_owned())
        }
        (None, Some(path)) => read(path),
        (None, None) => Err("it names no certificate-authority".into()),
    }
}

/// The cluster of a context, and its user.
fn parts(kubeconfig: &Kubeconfig, context: &str) -> Result<(Value, Value), String> {
    let tree = serde_json::to_value(kubeconfig).unwrap_or_default();
    let named = |list: &str, name: &str, field: &str| -> Option<Value> {
        let entry = tree[list].as_array()?.iter().find(|entry| entry["name"] == name)?;
        Some(entry[field].clone())
    };
    let context = named("contexts", context, "context").ok_or("there is no such context")?;
    let name = |field: &str| context[field].as_str().unwrap_or_default().to_owned();
    let cluster = named("clusters", &name("cluster"), "cluster").ok_or("its cluster is not there")?;
    let user = named("users", &name("user"), "user").ok_or("its user is not there")?;
    Ok((cluster, user))
}

fn text(value: &Value, field: &str) -> Option<String> {
    value[field].as_str().map(str::to_owned)
}

fn read(path: String) -> Result<String, String> {
    std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))
}

async fn address(url: &http::Uri) -> Result<SocketAddr, String> {
    let host = url.host().ok_or("its server has no address")?.trim_matches(['[', ']']);
    let port = url.port_u16().unwrap_or(443);
    let mut addresses = lookup_host((host, port)).await.map_err(|error| format!("{host}: {error}"))?;
    addresses.next().ok_or_else(|| format!("{host} has no address"))
}
