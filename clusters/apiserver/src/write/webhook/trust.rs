//! Verifies certificates of webhooks as Go does. Go accepts more certificates than rustls.
//!
//! rustls refuses a server whose certificate is an authority, although some tools create one certificate for both
//! purposes. Go accepts such a certificate if its chain ends in the bundle. Go also accepts every certificate that is
//! in the bundle itself.

use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::crypto::{self, WebPkiSupportedAlgorithms};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode, Header, Reader, SliceReader};
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage};

/// The maximum length of a chain of certificates.
const LONGEST_CHAIN: usize = 8;

/// The key purposes of a server certificate: `serverAuth`, and any purpose.
const SERVER_PURPOSES: [&str; 2] = ["1.3.6.1.5.5.7.3.1", "2.5.29.37.0"];

/// The TLS configuration of a client that trusts the bundle of certificates in PEM.
///
/// # Errors
/// If the bundle cannot be read.
pub(super) fn client(bundle: &[u8]) -> Result<ClientConfig, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("unable to load root certificates: {error}");
    let provider = Arc::new(crypto::ring::default_provider());
    let (mut roots, mut trusted) = (RootCertStore::empty(), Vec::new());
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate.clone()).map_err(|error| unreadable(&error))?;
        trusted.push(certificate);
    }
    let strict = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let strict = strict.build().map_err(|error| unreadable(&error))?;
    let verifier = Verifier { strict, trusted, algorithms: provider.signature_verification_algorithms };
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?.dangerous();
    Ok(config.with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

#[derive(Debug)]
struct Verifier {
    strict: Arc<WebPkiServerVerifier>,
    trusted: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let strictly =
            self.strict.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        if strictly.is_ok() {
            return strictly;
        }
        let Ok(certificate) = Certificate::from_der(end_entity) else { return strictly };
        if !self.is_trusted(end_entity) && !is_authority(&certificate) {
            return strictly;
        }
        if !self.leads_to_the_bundle(end_entity, &certificate, intermediates, now, LONGEST_CHAIN) {
            return Err(Error::InvalidCertificate(CertificateError::UnknownIssuer));
        }
        if !serves(&certificate) {
            return Err(Error::InvalidCertificate(CertificateError::InvalidPurpose));
        }
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl Verifier {
    fn is_trusted(&self, certificate: &CertificateDer<'_>) -> bool {
        self.trusted.iter().any(|trusted| trusted.as_ref() == certificate.as_ref())
    }

    /// Returns true if the bundle contains the certificate or an authority in its chain.
    fn leads_to_the_bundle(
        &self,
        der: &CertificateDer<'_>,
        certificate: &Certificate,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
        longest: usize,
    ) -> bool {
        if longest == 0 || !is_valid_at(certificate, now) {
            return false;
        }
        if self.is_trusted(der) {
            return true;
        }
        self.trusted.iter().chain(intermediates).any(|issuer_der| {
            let Ok(issuer) = Certificate::from_der(issuer_der) else { return false };
            issuer.tbs_certificate.subject == certificate.tbs_certificate.issuer
                && is_authority(&issuer)
                && self.is_signed_by(der, certificate, &issuer)
                && self.leads_to_the_bundle(issuer_der, &issuer, intermediates, now, longest - 1)
        })
    }

    fn is_signed_by(
        &self,
        der: &CertificateDer<'_>,
        certificate: &Certificate,
        issuer: &Certificate,
    ) -> bool {
        let key = &issuer.tbs_certificate.subject_public_key_info;
        let (Some(signed), Ok(key_algorithm), Ok(algorithm)) =
            (signed_part(der), key.algorithm.to_der(), certificate.signature_algorithm.to_der())
        else {
            return false;
        };
        // rustls stores algorithms without the first two bytes of the sequence.
        let fits = |known: &[u8], der: &[u8]| der.get(2..).is_some_and(|der| der == known);
        self.algorithms.all.iter().any(|known| {
            fits(&known.public_key_alg_id(), &key_algorithm)
                && fits(&known.signature_alg_id(), &algorithm)
                && known
                    .verify_signature(
                        key.subject_public_key.raw_bytes(),
                        signed,
                        certificate.signature.raw_bytes(),
                    )
                    .is_ok()
        })
    }
}

/// The part of a certificate that the issuer signs.
fn signed_part(der: &[u8]) -> Option<&[u8]> {
    let mut reader = SliceReader::new(der).ok()?;
    Header::decode(&mut reader).ok()?;
    reader.tlv_bytes().ok()
}

fn is_valid_at(certificate: &Certificate, now: UnixTime) -> bool {
    let validity = &certificate.tbs_certificate.validity;
    let (from, until) = (validity.not_before.to_unix_duration(), validity.not_after.to_unix_duration());
    (from.as_secs()..=until.as_secs()).contains(&now.as_secs())
}

/// Returns true for the certificate of an authority.
fn is_authority(certificate: &Certificate) -> bool {
    let constraints = certificate.tbs_certificate.get::<BasicConstraints>();
    matches!(constraints, Ok(Some((_, BasicConstraints { ca: true, .. }))))
}

/// Returns true if the certificate may be used by a server: it names no purposes, or a server purpose.
fn serves(certificate: &Certificate) -> bool {
    match certificate.tbs_certificate.get::<ExtendedKeyUsage>() {
        Ok(None) => true,
        Ok(Some((_, purposes))) => {
            purposes.0.iter().any(|purpose| SERVER_PURPOSES.contains(&purpose.to_string().as_str()))
        }
        Err(_) => false,
    }
}
