//! The kubeconfig of a server, and its credentials.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::KeyPair;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::ServeError;
use super::authority::{Authority, Identity};

/// The administrator's credentials, and the authority that signed them.
#[derive(Debug)]
pub(super) struct AdminCredentials {
    pub authority: Authority,
    administrator: Identity,
}

/// The private keys of the server's authority and of its administrator, in PEM, which are secrets.
/// A restarted server with the same keys keeps its identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// The key of the authority.
    pub authority: String,
    /// The key of the administrator.
    pub administrator: String,
}

impl Keys {
    /// Generates new keys.
    ///
    /// # Errors
    /// If the machine has no randomness for keys.
    pub fn generate() -> Result<Self, ServeError> {
        Ok(Self {
            authority: KeyPair::generate()?.serialize_pem(),
            administrator: KeyPair::generate()?.serialize_pem(),
        })
    }

    /// Returns the credentials of a server called `name` with these keys.
    /// The credentials are the certificate of the server's authority (PEM), and the administrator's bearer token.
    ///
    /// # Errors
    /// If the text is not a private key.
    pub fn credentials(&self, name: &str) -> Result<(String, String), ServeError> {
        let access = AdminCredentials::of(name, Some(self))?;
        Ok((access.authority.pem(), access.token()))
    }
}

impl AdminCredentials {
    /// The administrator's credentials for the server called `name`: new ones, or those of `keys`.
    ///
    /// # Errors
    /// If one of `keys` is not a private key, or the machine has no randomness for new keys.
    pub(super) fn of(name: &str, keys: Option<&Keys>) -> Result<Self, ServeError> {
        let key = |of: fn(&Keys) -> &str| match keys {
            Some(keys) => KeyPair::from_pem(of(keys)),
            None => KeyPair::generate(),
        };
        let authority = Authority::of(name, key(|keys| &keys.authority)?)?;
        let key = key(|keys| &keys.administrator)?;
        let administrator = authority.client_with("system:admin", Some("system:masters"), &key)?;
        Ok(Self { authority, administrator })
    }

    /// The private keys of the authority and of the administrator.
    pub(super) fn keys(&self) -> Keys {
        Keys { authority: self.authority.key(), administrator: self.administrator.key.clone() }
    }

    /// The administrator's bearer token.
    /// It is derived from the administrator's private key, and as hard to guess.
    pub(super) fn token(&self) -> String {
        let digest = Sha256::digest(self.administrator.key.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The data of one server in a kubeconfig.
pub(super) struct Entry<'a> {
    /// The name of the server, of its cluster and of its context.
    pub name: &'a str,
    /// The URL of the server.
    pub url: &'a str,
    /// `None` with plain HTTP.
    pub access: Option<&'a AdminCredentials>,
}

/// The kubeconfig of an administrator of all `servers`.
/// The context of the first server is the current context.
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
