//! The continue tokens of lists in pages.

use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, NO_PAD};
use base64::{DecodeError, Engine as _};
use serde::{Deserialize, Serialize};

use crate::http::failure::Failure;

/// Base64 as Go decodes it: surplus bits after the last byte are ignored.
const BASE64: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, CONFIG);
const CONFIG: GeneralPurposeConfig = NO_PAD.with_decode_allow_trailing_bits(true);

/// The content of a token, in the form of a real server.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

/// The position at which a list continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Continuation {
    /// The revision that the list shows.
    /// The revision is `None` if it is gone and the list continues with the present state.
    pub revision: Option<u64>,
    /// The key at which the list continues, without the common prefix of the listed keys.
    pub start: String,
}

impl Continuation {
    /// The continuation after the key `last`, which is given without the common prefix of the listed keys.
    pub(crate) fn behind(last: &str, revision: u64) -> Self {
        Self { revision: Some(revision), start: format!("{last}\0") }
    }

    /// The text of the token for the client.
    pub(crate) fn token(&self) -> String {
        let rv = self.revision.map_or(-1, |revision| i64::try_from(revision).unwrap_or(i64::MAX));
        let token = Token { v: "meta.k8s.io/v1".into(), rv, start: self.start.clone() };
        BASE64.encode(serde_json::to_vec(&token).expect("it has string keys"))
    }

    /// Reads a token.
    ///
    /// # Errors
    /// A bad request if the token was not made by an API server.
    pub(crate) fn parse(token: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            Failure::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = BASE64.decode(token).map_err(|error| {
            let at = match error {
                DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => at,
                DecodeError::InvalidLength(length) => length.saturating_sub(1),
                DecodeError::InvalidPadding => token.len(),
            };
            wrong(&format!("illegal base64 data at input byte {at}"))
        })?;
        let token: Token = serde_json::from_slice(&bytes).map_err(|error| wrong(&error.to_string()))?;
        match (token.v.as_str(), token.rv) {
            ("meta.k8s.io/v1", 0) => {
                return Err(wrong("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
            }
            ("meta.k8s.io/v1", _) if token.start.is_empty() => {
                return Err(wrong("encoded start key empty (version meta.k8s.io/v1)"));
            }
            ("meta.k8s.io/v1", _) => {}
            (other, _) => {
                return Err(wrong(&format!("server does not recognize this encoded version {other}")));
            }
        }
        // A token must not lead out of the collection for which it is used.
        let start = token.start.strip_prefix('/').unwrap_or(&token.start);
        if start.split('/').any(|step| matches!(step, "" | "." | "..")) {
            return Err(wrong(&token.start));
        }
        Ok(Self { revision: u64::try_from(token.rv).ok(), start: start.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_the_form_of_the_real_server() {
        let token = Continuation::behind("a", 7).token();
        let text = String::from_utf8(BASE64.decode(&token).unwrap()).unwrap();
        assert_eq!(text, r#"{"v":"meta.k8s.io/v1","rv":7,"start":"a\u0000"}"#);
        assert_eq!(Continuation::parse(&token).unwrap(), Continuation::behind("a", 7));
        let inconsistent = Continuation { revision: None, start: "n/a\0".into() };
        assert_eq!(Continuation::parse(&inconsistent.token()).unwrap(), inconsistent);
    }

    #[test]
    fn a_token_from_another_source_is_a_bad_request() {
        let error_of = |token: &str| {
            let message = Continuation::parse(token).unwrap_err().message;
            message.strip_prefix("invalid continue token: continue key is not valid: ").unwrap().to_owned()
        };
        let encoded = |text: &str| error_of(&BASE64.encode(text));
        assert_eq!(error_of("a!b"), "illegal base64 data at input byte 1");
        assert_eq!(error_of("abcde"), "illegal base64 data at input byte 4");
        assert_eq!(encoded(r#"{"v":"v2"}"#), "server does not recognize this encoded version v2");
        let version = "incorrect encoded start resourceVersion (version meta.k8s.io/v1)";
        assert_eq!(encoded(r#"{"v":"meta.k8s.io/v1","start":"a"}"#), version);
        let start = "encoded start key empty (version meta.k8s.io/v1)";
        assert_eq!(encoded(r#"{"v":"meta.k8s.io/v1","rv":3}"#), start);
        assert_eq!(encoded(r#"{"v":"meta.k8s.io/v1","rv":3,"start":"../b"}"#), "../b");
    }
}
