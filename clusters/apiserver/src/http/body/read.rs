//! Reads the text of a body as JSON, from JSON, YAML or protobuf.

use std::cell::Cell;

use bytes::Bytes;
use serde_json::Value;

use super::duplicates;
use super::go_json;
use crate::http::failure::Failure;

/// What bodies are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Yaml,
    Protobuf,
}

/// The media types of bodies; protobuf is not one for custom kinds.
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
            _ if custom => Err(Failure::media_type(MEDIA)),
            _ => Err(Failure::media_type(&format!("{MEDIA}, application/vnd.kubernetes.protobuf"))),
        }
    }
}

/// A body that has been read.
pub(super) struct Read {
    pub value: Value,
    /// JSON in which an object has a field more than once.
    pub twice: bool,
    /// What a strict reader tells of YAML.
    pub told: Vec<String>,
}

/// JSON or YAML as JSON.
///
/// # Errors
/// What Go says of text that is neither.
pub(super) fn text(format: Format, body: &Bytes) -> Result<Read, String> {
    if format == Format::Yaml {
        let value = yaml(body)?;
        return Ok(Read { value, twice: false, told: yaml_duplicates(body) });
    }
    let twice = Cell::new(false);
    let value = duplicates::read(body, &twice).or_else(|error| {
        // Go puts a mark in the place of what is not UTF-8.
        let told = |error| {
            format!("couldn't get version/kind; json parse error: {}", go_json::message(&error, body))
        };
        if std::str::from_utf8(body).is_ok() {
            return Err(told(error));
        }
        duplicates::read(String::from_utf8_lossy(body).as_bytes(), &twice).map_err(told)
    })?;
    Ok(Read { value, twice: twice.get(), told: Vec::new() })
}

/// YAML as JSON.
///
/// # Errors
/// What is wrong with the text.
pub(crate) fn yaml(body: &Bytes) -> Result<Value, String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    let options = serde_saphyr::options! { duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error = error.to_string();
        let line = error.lines().next().unwrap_or_default();
        format!("error converting YAML to JSON: yaml: {line}")
    })
}

/// The first key that YAML gives twice, as a strict reader tells it.
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
