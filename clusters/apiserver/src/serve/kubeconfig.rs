//! What a client has to know of a server: a kubeconfig, and the credentials in it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::ListenError;
use super::authority::{Authority, Identity};

/// The administrator's credentials, and the authority behind them.
#[derive(Debug)]
pub(super) struct Access {
    pub authority: Authority,
    administrator: Identity,
}

impl Access {
    /// New credentials for the administrator of the server called `name`.
    pub(super) fn generate(name: &str) -> Result<Self, ListenError> {
        let authority = Authority::generate(name)?;
        let administrator = authority.client("system:admin", Some("system:masters"))?;
        Ok(Self { authority, administrator })
    }

    /// The administrator's bearer token: as hard to guess as the key that it is drawn from.
    pub(super) fn token(&self) -> String {
        let digest = Sha256::digest(self.administrator.key.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What a kubeconfig says of one server.
pub(super) struct Entry<'a> {
    /// Its name, which its cluster and its context have too.
    pub name: &'a str,
    /// Where it is reached.
    pub url: &'a str,
    /// `None` with plain HTTP.
    pub access: Option<&'a Access>,
}

/// The kubeconfig of an administrator of all these servers; the first is the one that is meant where none is named.
pub(super) fn of(servers: &[Entry<'_>]) -> Value {
    let each = |entry: fn(&Entry<'_>) -> Value| servers.iter().map(entry).collect::<Value>();
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": each(|server| json!({ "name": server.name, "cluster": cluster(server) })),
        "users": each(|server| json!({ "name": administrator(server), "user": user(server) })),
        "contexts": each(|server| {
            let context = json!({ "cluster": server.name, "user": administrator(server) });
            json!({ "name": server.name, "context": context })
        }),
        "current-context": servers.first().map(|server| server.name),
    })
}

/// A kubeconfig as YAML.
pub(super) fn yaml(kubeconfig: &Value) -> String {
    let on_one_line = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(kubeconfig, on_one_line).expect("plain strings can be written")
}

fn administrator(server: &Entry<'_>) -> String {
    format!("{}-admin", server.name)
}

fn cluster(server: &Entry<'_>) -> Value {
    let mut cluster = json!({ "server": server.url });
    if let Some(access) = server.access {
        cluster["certificate-authority-data"] = STANDARD.encode(access.authority.pem()).into();
    }
    cluster
}

fn user(server: &Entry<'_>) -> Value {
    let Some(access) = server.access else { return json!({}) };
    json!({
        "client-certificate-data": STANDARD.encode(&access.administrator.certificate),
        "client-key-data": STANDARD.encode(&access.administrator.key),
        "token": access.token(),
    })
}
