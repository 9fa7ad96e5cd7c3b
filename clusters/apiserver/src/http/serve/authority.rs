//! The certificate authority of a server that listens, its certificates, and the settings of TLS.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};

use super::listener::ServeError;

/// A certificate authority with its key. It signs the certificates of the server and of clients.
#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key, both in PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl Authority {
    /// Creates an authority for a server called `name`.
    ///
    /// # Errors
    /// If the machine has no randomness for a key.
    pub fn new(name: &str) -> Result<Self, ServeError> {
        Self::of(name, KeyPair::generate()?)
    }

    /// The authority called `name` with this key.
    /// Clients that trust an authority also trust another one with the same name and key.
    ///
    /// # Errors
    /// If the certificate of the authority cannot be signed with the key.
    pub(super) fn of(name: &str, key: KeyPair) -> Result<Self, ServeError> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name = common_name(&format!("{name}-ca"));
        Ok(Self(CertifiedIssuer::self_signed(params, key)?))
    }

    /// The private key in PEM, which is a secret.
    pub(super) fn key(&self) -> String {
        self.0.key().serialize_pem()
    }

    /// The authority's certificate in PEM, which clients trust.
    #[must_use]
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// The authority's certificate in DER.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        self.0.der()
    }

    /// A certificate for a client that is `user`, and a member of `group` if there is a group.
    ///
    /// # Errors
    /// If the machine has no randomness for a key.
    pub fn client(&self, user: &str, group: Option<&str>) -> Result<Identity, ServeError> {
        self.client_with(user, group, &KeyPair::generate()?)
    }

    /// As [`Self::client`], for a client that already has a key.
    ///
    /// # Errors
    /// If the certificate cannot be signed.
    pub(super) fn client_with(
        &self,
        user: &str,
        group: Option<&str>,
        key: &KeyPair,
    ) -> Result<Identity, ServeError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = common_name(user);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(key, &self.0)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }

    /// The TLS configuration of a server with `names` (host names and addresses), for HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    /// If one of the names is invalid, or the machine has no randomness for a key.
    pub fn server(&self, names: Vec<String>) -> Result<ServerConfig, ServeError> {
        self.server_with(&self.server_identity(names)?, &[])
    }

    /// A certificate for a server with `names`.
    ///
    /// # Errors
    /// If one of the names is invalid, or the machine has no randomness for a key.
    pub(super) fn server_identity(&self, names: Vec<String>) -> Result<Identity, ServeError> {
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = common_name("kube-apiserver");
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }

    /// The TLS configuration of a server with the certificate `identity`.
    /// Clients may have certificates of this authority, and of the authorities `others`, in PEM.
    ///
    /// # Errors
    /// If `identity` or one of `others` is malformed, or TLS cannot use the certificate with the key.
    pub(super) fn server_with(
        &self,
        identity: &Identity,
        others: &[String],
    ) -> Result<ServerConfig, ServeError> {
        let none = |error: pem::Error| rustls::Error::General(error.to_string());
        let certificates = CertificateDer::pem_slice_iter(identity.certificate.as_bytes());
        let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(none)?;
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(none)?;
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone())?;
        for certificate in others.iter().flat_map(|pem| CertificateDer::pem_slice_iter(pem.as_bytes())) {
            roots.add(certificate.map_err(none)?)?;
        }
        let provider = Arc::new(ring::default_provider());
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()
            .expect("there is a root");
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(clients)
            .with_single_cert(certificates, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn common_name(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}
