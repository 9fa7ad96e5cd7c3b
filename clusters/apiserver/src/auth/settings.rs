//! The settings of authentication and authorization.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::token::Issuer;
use super::user::User;

/// What a server asks of those who send requests.
#[derive(Debug)]
pub(crate) struct Access {
    /// Whether requests have to say who they are from.
    pub authenticates: bool,
    /// Whether roles and bindings decide, rather than everybody being let in.
    pub rbac: bool,
    /// Whether requests without credentials are let in as nobody in particular; as real servers do where not said.
    pub anonymous: Option<bool>,
    pub tokens: Mutex<BTreeMap<String, User>>,
    pub issuer: Issuer,
    /// Whether what controllers do for service accounts is done.
    pub service_accounts: bool,
    /// The certificate that clients trust the server by, as PEM.
    pub certificate_authority: Mutex<String>,
}

/// How access is set up before the server is built.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(super) authenticates: bool,
    pub(super) rbac: bool,
    pub(super) anonymous: Option<bool>,
    pub(super) tokens: BTreeMap<String, User>,
    pub(super) issuer: Option<String>,
    pub(super) service_accounts: bool,
    pub(super) certificate_authority: String,
}

impl Settings {
    /// The settings, with keys that are made from `chance`.
    pub(crate) fn finish(self, mut chance: capsize_clock::Stream) -> Access {
        // Another stream of the same seed: who never signs anything draws what they always drew.
        chance.set_stream(1);
        let issuer = self.issuer.unwrap_or_else(|| "https://127.0.0.1".into());
        Access {
            authenticates: self.authenticates,
            rbac: self.rbac,
            anonymous: self.anonymous,
            tokens: Mutex::new(self.tokens),
            issuer: Issuer::new(issuer, chance),
            service_accounts: self.service_accounts,
            certificate_authority: Mutex::new(self.certificate_authority),
        }
    }
}

/// What is behind a lock, which nobody holds while they wait.
pub(super) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
