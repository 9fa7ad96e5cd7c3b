//! The files that a kube-apiserver reads at its start: certificate, keys and tokens.

use std::fs;
use std::path::{Path, PathBuf};

use capsize_clusters::ProviderError;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use sha2::{Digest, Sha256};

/// The names that its certificate is valid for. The proxies on links listen on the loopback, too.
const NAMES: [&str; 5] =
    ["localhost", "127.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];

/// The files of one kube-apiserver, in a folder that only this user may read.
pub(super) struct Files {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    /// The private key that signs the tokens of service accounts.
    pub(super) signing: PathBuf,
    /// The public key that verifies these tokens.
    pub(super) recognising: PathBuf,
    /// The bearer tokens, with their users.
    pub(super) tokens: PathBuf,
    /// The certificate (PEM) of the authority that issued the server's certificate. It is in no file.
    pub(super) authority: String,
    /// The administrator's token.
    pub(super) token: String,
}

impl Files {
    /// Writes new ones into `folder`, for the member called `name`.
    pub(super) fn write(folder: &Path, name: &str) -> Result<Self, ProviderError> {
        let failed = |error: &dyn std::error::Error| {
            ProviderError(format!("the keys of {name} cannot be made in {}: {error}", folder.display()))
        };
        let secrets = Secrets::make(name).map_err(|error| failed(&error))?;
        let write = |file: &str, text: &str| {
            let path = folder.join(file);
            fs::write(&path, text).map_err(|error| failed(&error)).map(|()| path)
        };
        let line = format!("{},capsize,capsize,\"system:masters\"\n", secrets.token);
        Ok(Self {
            certificate: write("apiserver.crt", &secrets.certificate)?,
            key: write("apiserver.key", &secrets.key.serialize_pem())?,
            signing: write("sa-signer.key", &secrets.accounts.serialize_pem())?,
            recognising: write("sa-signer.pub", &secrets.accounts.public_key_pem())?,
            tokens: write("tokens.csv", &line)?,
            authority: secrets.authority,
            token: secrets.token,
        })
    }
}

/// The contents of the files.
struct Secrets {
    authority: String,
    certificate: String,
    key: KeyPair,
    accounts: KeyPair,
    token: String,
}

impl Secrets {
    fn make(name: &str) -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name.push(DnType::CommonName, format!("{name}-ca"));
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let mut params = CertificateParams::new(NAMES.map(str::to_owned))?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &authority)?.pem();
        // The token is derived from a new key, so it is as hard to guess.
        let digest = Sha256::digest(KeyPair::generate()?.serialize_pem().as_bytes());
        let token = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { authority: authority.pem(), certificate, key, accounts: KeyPair::generate()?, token })
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn keys_are_in_the_forms_that_kube_apiserver_reads_and_the_administrator_is_a_master() {
        let folder = TempDir::new().unwrap();
        let files = Files::write(folder.path(), "m1").unwrap();
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert!(read(&files.certificate).starts_with("-----BEGIN CERTIFICATE-----"));
        assert!(read(&files.key).starts_with("-----BEGIN PRIVATE KEY-----"));
        assert!(read(&files.signing).starts_with("-----BEGIN PRIVATE KEY-----"));
        assert!(read(&files.recognising).starts_with("-----BEGIN PUBLIC KEY-----"));
        assert_eq!(read(&files.tokens), format!("{},capsize,capsize,\"system:masters\"\n", files.token));
        assert_ne!(files.token, Files::write(folder.path(), "m1").unwrap().token);
    }
}
