//! Records the user of a certificate signing request.

use serde_json::Value;

use super::user::User;
use crate::kind::kinds::Kind;
use crate::kind::object::child;
use crate::write::writer::Writer;

impl Writer<'_> {
    /// Sets the requesting user in a new certificate signing request, and overwrites the client's values.
    pub(crate) fn record_requester(&self, kind: &Kind, object: &mut Value) {
        if kind.plural != "certificatesigningrequests" || kind.group != "certificates.k8s.io" {
            return;
        }
        let Some(spec) = child(object, "spec").as_object_mut() else { return };
        spec.retain(|field, _| !matches!(field.as_str(), "username" | "uid" | "groups" | "extra"));
        let info = self.user.map_or_else(|| User::admin().info(), User::info);
        if let Value::Object(info) = info {
            spec.extend(info);
        }
    }
}
