//! Reads the text of a body from JSON or YAML.

use std::cell::Cell;

use bytes::Bytes;
use serde_json::Value;

use super::go_json;
use super::strict_json;
use crate::http::failure::Failure;

/// The format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Yaml,
    Protobuf,
}

/// The text media types of bodies. Custom kinds do not accept protobuf.
const MEDIA: &str = "application/json, application/yaml";

impl Format {
    /// The format of a media type.
    ///
    /// # Errors
    /// Unsupported media type.
    pub(super) fn of(media: &str, custom: bool) -> Result<Self, Failure> {
        match media {
            "" | "application/json" => Ok(Self::Json),
            "application/yaml" => Ok(Self::Yaml),
            "application/vnd.kubernetes.protobuf" if !custom => Ok(Self::Protobuf),
            _ if custom => Err(Failure::unsupported_media_type(MEDIA)),
            _ => {
                Err(Failure::unsupported_media_type(&format!("{MEDIA}, application/vnd.kubernetes.protobuf")))
            }
        }
    }
}

/// A body that has been read.
pub(super) struct TextBody {
    pub value: Value,
    /// True for JSON in which an object has a field more than once.
    pub has_duplicates: bool,
    /// The first duplicate key in YAML, as a message; empty if there is none.
    pub problems: Vec<String>,
}

/// Reads JSON or YAML as JSON.
///
/// # Errors
/// The message of Go for broken JSON, or the message of the YAML parser.
pub(super) fn text(format: Format, body: &Bytes) -> Result<TextBody, String> {
    if format == Format::Yaml {
        let value = yaml(body)?;
        return Ok(TextBody { value, has_duplicates: false, problems: yaml_duplicates(body) });
    }
    let twice = Cell::new(false);
    let value = strict_json::read(body, &twice).or_else(|error| {
        // Go replaces bytes that are not UTF-8 by a replacement character.
        let go_error = |error| {
            format!("couldn't get version/kind; json parse error: {}", go_json::message(&error, body))
        };
        if std::str::from_utf8(body).is_ok() {
            return Err(go_error(error));
        }
        strict_json::read(String::from_utf8_lossy(body).as_bytes(), &twice).map_err(go_error)
    })?;
    Ok(TextBody { value, has_duplicates: twice.get(), problems: Vec::new() })
}

/// Reads YAML as JSON.
///
/// # Errors
/// The error of the YAML parser.
pub(crate) fn yaml(body: &Bytes) -> Result<Value, String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    let options = serde_saphyr::options! { duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error = error.to_string();
        let line = error.lines().next().unwrap_or_default();
        format!("error converting YAML to JSON: yaml: {line}")
    })
}

/// The problem of the first duplicate key in YAML, as a strict reader reports it.
fn yaml_duplicates(body: &Bytes) -> Vec<String> {
    let read = std::str::from_utf8(body).map(serde_saphyr::from_str::<serde::de::IgnoredAny>);
    let Ok(Err(error)) = read else { return Vec::new() };
    match error.without_snippet() {
        serde_saphyr::Error::DuplicateMappingKey { key, location } => {
            vec![format!(
                "line {}: key {:?} already set in map",
                location.line(),
                key.as_deref().unwrap_or_default()
            )]
        }
        _ => Vec::new(),
    }
}
