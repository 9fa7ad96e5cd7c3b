//! Records the user in a request for a certificate.

use serde_json::Value;

use super::user::User;
use crate::kind::kinds::Kind;
use crate::kind::object::child;
use crate::write::writer::Writer;

impl Writer<'_> {
    /// Notes in a new certificate signing request who it is from, whatever it says itself.
    pub(crate) fn note_requester(&self, kind: &Kind, object: &mut Value) {
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
