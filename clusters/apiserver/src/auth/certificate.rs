//! The user of a client certificate: the common name, and the organisations as groups.

use sha2::{Digest, Sha256};
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::user::User;
use crate::http::client_certificate::ClientCertificate;

/// The attributes of a subject, by their object identifiers.
const COMMON_NAME: &str = "2.5.4.3";
const ORGANIZATION: &str = "2.5.4.10";

/// The user of a certificate; `None` if it has no common name or cannot be parsed.
pub(super) fn user(certificate: &ClientCertificate) -> Option<User> {
    let read = Certificate::from_der(&certificate.0).ok()?;
    let attributes = read.tbs_certificate.subject.0.iter().flat_map(|name| name.0.iter());
    let (mut name, mut groups) = (String::new(), Vec::new());
    for attribute in attributes {
        let Ok(value) = std::str::from_utf8(attribute.value.value()) else { continue };
        match attribute.oid.to_string().as_str() {
            COMMON_NAME => value.clone_into(&mut name),
            ORGANIZATION => groups.push(value.to_owned()),
            _ => {}
        }
    }
    if name.is_empty() {
        return None;
    }
    let fingerprint: String =
        Sha256::digest(&certificate.0).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut user = User::new(name, groups);
    let id = format!("X509SHA256={fingerprint}");
    user.extra.insert("authentication.kubernetes.io/credential-id".into(), vec![id]);
    Some(user)
}
