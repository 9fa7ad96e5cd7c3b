//! The objects that controllers create for service accounts in a real cluster.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::account::stored;
use super::settings::locked;
use super::token::LEGACY_ISSUER;
use super::user::account_name;
use crate::kind::builtin::builtin;
use crate::kind::kinds::Kind;
use crate::kind::object::{is_terminating, meta, set_meta};
use crate::state::ApiServer;
use crate::store;
use crate::write::delete::DeleteOptions;
use crate::write::writer::{Manager, NewObject, Writer};

const CERTIFICATES: &str = "kube-root-ca.crt";
const TOKEN: &str = "kubernetes.io/service-account-token";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

fn core(plural: &str) -> &'static Arc<Kind> {
    builtin("", "v1", plural)
}

impl ApiServer {
    /// Updates the CA certificate in existing config maps and token secrets.
    pub(super) fn distribute_authority(&self) {
        if !self.inner.access.service_accounts {
            return;
        }
        let authority = locked(&self.inner.access.certificate_authority).clone();
        let mut state = self.inner.state();
        let mut writer = Writer::new(&self.inner, &mut state);
        let maps = writer.all("configmaps", "", |map| meta(map, "name") == CERTIFICATES);
        for mut map in maps {
            map["data"] = json!({"ca.crt": authority});
            writer.put(core("configmaps"), map);
        }
        for mut secret in writer.all("secrets", "", |secret| secret["type"] == TOKEN) {
            if let Some(known) = secret["data"].get_mut("ca.crt") {
                *known = BASE64.encode(&authority).into();
                writer.put(core("secrets"), secret);
            }
        }
        writer.finish();
    }
}

impl Writer<'_> {
    /// Returns true if a write of this kind can require changes for service accounts or roles.
    pub(crate) fn provisions(&self, kind: &Kind) -> bool {
        let access = &self.server.access;
        match &*kind.group {
            "" if access.service_accounts => {
                matches!(&*kind.plural, "namespaces" | "serviceaccounts" | "secrets" | "configmaps")
            }
            super::grants::GROUP if access.rbac => kind.plural == "clusterroles",
            _ => false,
        }
    }

    /// Drops the cached permissions if the kind is a role or a binding.
    pub(crate) fn forget_grants(&mut self, kind: &Kind) {
        if kind.group == super::grants::GROUP {
            self.state.grants = None;
        }
    }

    /// Makes the changes for service accounts and roles that follow from a write.
    pub(crate) fn provision(&mut self, kind: &Kind, object: &Value, removed: bool) {
        if !self.provisions(kind) {
            return;
        }
        let (namespace, name) = (meta(object, "namespace"), meta(object, "name"));
        match (&*kind.plural, removed) {
            ("clusterroles", _) => self.aggregate_roles(),
            ("namespaces", false) => self.provision_namespace(name),
            ("serviceaccounts", false) => {
                for secret in self.token_secrets(namespace, name) {
                    self.fill_token(&secret);
                }
            }
            ("serviceaccounts", true) => {
                for secret in self.token_secrets(namespace, name) {
                    let name = meta(&secret, "name");
                    drop(self.delete(core("secrets"), namespace, name, &DeleteOptions::default()));
                }
                self.provision_namespace(namespace);
            }
            ("secrets", false) => self.fill_token(object),
            ("configmaps", true) => self.provision_namespace(namespace),
            _ => {}
        }
    }

    /// Creates the missing objects of a namespace.
    fn provision_namespace(&mut self, namespace: &str) {
        let found = stored(self.state, "namespaces", "", namespace);
        if found.is_none_or(|found| is_terminating(&found)) {
            return;
        }
        let certificates = json!({"ca.crt": *locked(&self.server.access.certificate_authority)});
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CERTIFICATES},
            "data": certificates});
        for (plural, object) in [("serviceaccounts", account), ("configmaps", map)] {
            if stored(self.state, plural, namespace, meta(&object, "name")).is_some() {
                continue;
            }
            let manager = Manager { name: "kube-controller-manager", tracked: false };
            let kind = core(plural);
            // Admission may refuse the object, as it may refuse a write of the real controllers.
            drop(self.create(NewObject { kind, namespace, name: "", object, dry_run: false, manager }));
        }
    }

    /// The secrets for tokens of a service account.
    fn token_secrets(&self, namespace: &str, account: &str) -> Vec<Value> {
        self.all("secrets", &store::key(namespace, ""), |secret| {
            secret["type"] == TOKEN && secret["metadata"]["annotations"][ACCOUNT_NAME] == account
        })
    }

    /// The objects of a core kind whose keys begin with `prefix` and that fulfill `wanted`.
    fn all(&self, plural: &str, prefix: &str, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let table = self.state.store.table(&core(plural).storage);
        let objects = table.into_iter().flat_map(|table| table.range(prefix));
        objects
            .map(|(_, version)| version.object())
            .filter(|object| wanted(object))
            .map(|object| Value::clone(&object))
            .collect()
    }

    /// Puts a token into a secret that should have a token and has none.
    fn fill_token(&mut self, secret: &Value) {
        if secret["type"] != TOKEN || is_terminating(secret) {
            return;
        }
        let (namespace, secret_name) = (meta(secret, "namespace"), meta(secret, "name"));
        let Some(secret) = stored(self.state, "secrets", namespace, secret_name) else { return };
        let name = secret["metadata"]["annotations"][ACCOUNT_NAME].as_str().unwrap_or_default();
        let Some(account) = stored(self.state, "serviceaccounts", namespace, name) else { return };
        let uid = meta(&account, "uid").to_owned();
        let access = &self.server.access;
        let claim = |name: &str| format!("{LEGACY_ISSUER}/{name}");
        let token = || {
            access.issuer.sign(&json!({"iss": LEGACY_ISSUER, "sub": account_name(namespace, name),
                (claim("namespace")): namespace, (claim("secret.name")): secret_name,
                (claim("service-account.name")): name, (claim("service-account.uid")): uid}))
        };
        let mut filled = Value::clone(&secret);
        let mut data = filled["data"].as_object().cloned().unwrap_or_default();
        let mut fill = |field: &str, value: &dyn Fn() -> String| {
            data.entry(field).or_insert_with(|| BASE64.encode(value()).into());
        };
        fill("ca.crt", &|| locked(&access.certificate_authority).clone());
        fill("namespace", &|| namespace.to_owned());
        fill("token", &token);
        filled["data"] = Value::Object(data);
        let mut annotations = secret["metadata"]["annotations"].clone();
        annotations[ACCOUNT_UID] = uid.as_str().into();
        set_meta(&mut filled, "annotations", Some(annotations));
        if filled != *secret {
            self.put(core("secrets"), filled);
        }
    }
}
