//! The kubeconfig of a server, and the credentials in it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::KeyPair;
use serde::{Deserialize, Serialize};
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

/// The keys of a server, in PEM: what it has to keep to be known again after it was started anew. They are secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// That of its authority.
    pub authority: String,
    /// That of its administrator.
    pub administrator: String,
}

impl Keys {
    /// New ones.
    ///
    /// # Errors
    /// When the machine has no randomness for them.
    pub fn generate() -> Result<Self, ListenError> {
        Ok(Self {
            authority: KeyPair::generate()?.serialize_pem(),
            administrator: KeyPair::generate()?.serialize_pem(),
        })
    }

    /// By what a server called `name` that has these keys is known, the certificate (PEM) of its authority, and its
    /// administrator, a bearer token.
    ///
    /// # Errors
    /// When they are no keys.
    pub fn credentials(&self, name: &str) -> Result<(String, String), ListenError> {
        let access = Access::of(name, Some(self))?;
        Ok((access.authority.pem(), access.token()))
    }
}

impl Access {
    /// The credentials for the administrator of the server called `name`: new ones, or those of `keys`.
    pub(super) fn of(name: &str, keys: Option<&Keys>) -> Result<Self, ListenError> {
        let key = |of: fn(&Keys) -> &str| match keys {
            Some(keys) => KeyPair::from_pem(of(keys)),
            None => KeyPair::generate(),
        };
        let authority = Authority::of(name, key(|keys| &keys.authority)?)?;
        let key = key(|keys| &keys.administrator)?;
        let administrator = authority.client_with("system:admin", Some("system:masters"), &key)?;
        Ok(Self { authority, administrator })
    }

    /// The keys behind them.
    pub(super) fn keys(&self) -> Keys {
        Keys { authority: self.authority.key(), administrator: self.administrator.key.clone() }
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
