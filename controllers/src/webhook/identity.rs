//! The TLS identity of a server, such as the webhooks: a certificate and its private key.

use std::sync::Arc;

use rcgen::{CertificateParams, CertifiedKey, DistinguishedName, DnType, KeyPair};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// A certificate with its chain, and its private key, all in PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate, and the chain up to a certificate that clients trust.
    pub certificates: String,
    /// Its private key.
    pub key: String,
}

/// The error of making or using an identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// No certificate can be made.
    #[error("cannot make a certificate: {0}")]
    Made(#[from] rcgen::Error),
    /// The certificate or the key is not in PEM.
    #[error("cannot read the certificate or its key: {0}")]
    Read(#[from] pem::Error),
    /// The certificate or the key is not usable for TLS.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

impl Identity {
    /// Makes a new self-signed identity for a server with these `names` (host names and addresses).
    /// Clients trust its certificate, as the `caBundle` of a webhook configuration says.
    ///
    /// # Errors
    /// When a name is invalid, or the machine has no randomness for a key.
    pub fn generate(names: Vec<String>) -> Result<Self, IdentityError> {
        let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names)?;
        Ok(Self { certificates: cert.pem(), key: signing_key.serialize_pem() })
    }

    /// Makes a new self-signed identity for a client with this common name. No server trusts it.
    ///
    /// # Errors
    /// When the machine has no randomness for a key.
    pub fn of_client(common_name: &str) -> Result<Self, IdentityError> {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, common_name);
        let key = KeyPair::generate()?;
        let certificate = parameters.self_signed(&key)?;
        Ok(Self { certificates: certificate.pem(), key: key.serialize_pem() })
    }

    /// The TLS configuration of a server with this identity.
    ///
    /// # Errors
    /// When the identity is not usable for TLS.
    pub fn server(&self) -> Result<ServerConfig, IdentityError> {
        let certificates = CertificateDer::pem_slice_iter(self.certificates.as_bytes());
        let certificates = certificates.collect::<Result<Vec<_>, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes())?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(certificates, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}
