//! The settings of authentication and authorization.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::token::Issuer;
use super::user::User;

/// The access control of a server.
#[derive(Debug)]
pub(crate) struct Access {
    /// True if requests need credentials.
    pub authenticates: bool,
    /// True if roles and bindings decide about requests; otherwise everything is allowed.
    pub rbac: bool,
    /// True if requests without credentials are accepted as anonymous.
    /// `None` stands for the default of real servers.
    pub anonymous: Option<bool>,
    pub tokens: Mutex<BTreeMap<String, User>>,
    pub issuer: Issuer,
    /// True if the objects of the service account controllers are created.
    pub service_accounts: bool,
    /// The certificate, as PEM, by which clients trust the server.
    pub certificate_authority: Mutex<String>,
}

/// The settings of access control before the server is built.
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
    /// Builds the access control, with keys from `chance`.
    pub(crate) fn finish(self, mut chance: capsize_clock::Stream) -> Access {
        // The keys use another stream of the same seed, so that the other random numbers do not depend on them.
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

/// Locks a mutex. The guard must not be held across an await.
pub(super) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
