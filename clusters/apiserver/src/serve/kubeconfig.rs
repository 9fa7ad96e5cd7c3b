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

/// The kubeconfig of the administrator of the server called `name` at `url`.
pub(super) fn of(name: &str, url: &str, access: Option<&Access>) -> Value {
    let mut cluster = json!({ "server": url });
    let mut user = json!({});
    if let Some(access) = access {
        cluster["certificate-authority-data"] = STANDARD.encode(access.authority.pem()).into();
        user["client-certificate-data"] = STANDARD.encode(&access.administrator.certificate).into();
        user["client-key-data"] = STANDARD.encode(&access.administrator.key).into();
        user["token"] = access.token().into();
    }
    let admin = format!("{name}-admin");
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": name, "cluster": cluster }],
        "users": [{ "name": admin, "user": user }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": admin } }],
        "current-context": name,
    })
}
