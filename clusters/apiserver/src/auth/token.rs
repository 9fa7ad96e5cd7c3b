//! Tokens of service accounts: JSON web tokens that the server signs and verifies.
//!
//! `account.rs` checks whether the objects to which a token is bound still exist.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use capsize_clock::Stream;
use p256::PublicKey;
use p256::ecdsa::signature::{Signer, Verifier};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use p256::pkcs8::EncodePublicKey;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The issuer of tokens in secrets.
pub(super) const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";

/// The issuer of the tokens of a server. Its URL is also the default audience.
#[derive(Debug)]
pub(crate) struct Issuer {
    pub url: String,
    chance: Stream,
    /// Created at the first use, because most servers never sign a token.
    key: OnceLock<Key>,
}

/// A key, and its id in the head of a token.
#[derive(Debug)]
struct Key {
    signing: SigningKey,
    id: String,
}

impl Key {
    fn draw(mut chance: Stream) -> Self {
        let signing = loop {
            // All 32-byte numbers except about one in 2³² are valid keys.
            if let Ok(key) = SigningKey::from_slice(&chance.random::<[u8; 32]>()) {
                break key;
            }
        };
        let public = PublicKey::from(signing.verifying_key()).to_public_key_der();
        let public = public.expect("a key of this curve has a form");
        Self { id: BASE64.encode(Sha256::digest(public.as_bytes())), signing }
    }
}

impl Issuer {
    /// An issuer whose key depends only on `chance`.
    pub(crate) fn new(url: String, chance: Stream) -> Self {
        Self { url, chance, key: OnceLock::new() }
    }

    /// Derives the key from a secret instead of the random stream, unless there is a key already.
    pub(super) fn key_from(&self, secret: &str) {
        let seed = Sha256::new().chain_update("service accounts ").chain_update(secret).finalize();
        self.key.get_or_init(|| Key::draw(Stream::from_seed(seed.into())));
    }

    fn key(&self) -> &Key {
        self.key.get_or_init(|| Key::draw(self.chance.clone()))
    }

    /// A token with these claims.
    pub(super) fn sign(&self, claims: &Value) -> String {
        let key = self.key();
        let head = json!({"alg": "ES256", "kid": key.id}).to_string();
        let signed = format!("{}.{}", BASE64.encode(head), BASE64.encode(claims.to_string()));
        let signature: Signature = key.signing.sign(signed.as_bytes());
        format!("{signed}.{}", BASE64.encode(signature.to_bytes()))
    }

    /// The claims of a token of this server; `None` for other tokens.
    ///
    /// # Errors
    /// The problem of a token that names this server as its issuer and is invalid.
    pub(super) fn verify(&self, token: &str) -> Result<Option<Value>, String> {
        let parts: Vec<&str> = token.split('.').collect();
        let [head, body, signature] = parts.as_slice() else { return Ok(None) };
        let decoded = |part: &str| BASE64.decode(part).ok();
        let read = |part: &str| decoded(part).and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let (Some(claims), Some(named)) = (read(body), read(head)) else { return Ok(None) };
        let issuer = claims["iss"].as_str().unwrap_or_default();
        if issuer != self.url && issuer != LEGACY_ISSUER {
            return Ok(None);
        }
        let Some(signature) = decoded(signature) else { return Ok(None) };
        if named["kid"].as_str().is_some_and(|id| id != self.key().id) {
            return Err("invalid signature, no keys found".into());
        }
        let broken = || "go-jose/go-jose: error in cryptographic primitive".to_owned();
        let signature = Signature::from_slice(&signature).map_err(|_| broken())?;
        let signed = &token.as_bytes()[..head.len() + 1 + body.len()];
        let key = VerifyingKey::from(&self.key().signing);
        key.verify(signed, &signature).map_err(|_| broken())?;
        Ok(Some(claims))
    }

    /// Returns the configuration of the issuer in the form of `OpenID` Connect.
    /// Programs that verify tokens themselves need the configuration.
    pub(super) fn configuration(&self) -> Value {
        json!({"issuer": self.url, "jwks_uri": format!("{}/openid/v1/jwks", self.url),
            "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"]})
    }

    /// The public key as a key set.
    pub(super) fn key_set(&self) -> Value {
        let key = self.key();
        let point = key.signing.verifying_key().to_encoded_point(false);
        let part = |part: Option<&p256::FieldBytes>| part.map(|bytes| BASE64.encode(bytes));
        json!({"keys": [{"use": "sig", "kty": "EC", "kid": key.id, "crv": "P-256", "alg": "ES256",
            "x": part(point.x()), "y": part(point.y())}]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capsize_clock::Seed;

    fn issuer(seed: u64) -> Issuer {
        Issuer::new("https://a".into(), Seed(seed).stream("keys"))
    }

    #[test]
    fn the_same_claims_make_the_same_token_of_the_same_seed() {
        let claims = json!({"iss": "https://a", "sub": "x"});
        assert_eq!(issuer(1).sign(&claims), issuer(1).sign(&claims));
        assert_ne!(issuer(1).sign(&claims), issuer(2).sign(&claims));
    }

    #[test]
    fn only_the_issuer_accepts_a_token_and_only_unchanged() {
        let claims = json!({"iss": "https://a", "sub": "x"});
        let token = issuer(1).sign(&claims);
        assert_eq!(issuer(1).verify(&token), Ok(Some(claims)));
        assert!(issuer(2).verify(&token).is_err());
        let other = BASE64.encode(r#"{"iss":"https://a","sub":"y"}"#);
        let parts: Vec<_> = token.split('.').collect();
        assert!(issuer(1).verify(&format!("{}.{other}.{}", parts[0], parts[2])).is_err());
        let foreign = issuer(1).sign(&json!({"iss": "https://b"}));
        for none in [foreign.as_str(), "", "a.b", "a.b.c", "...", "é.é.é"] {
            assert_eq!(issuer(1).verify(none), Ok(None), "{none}");
        }
    }
}
