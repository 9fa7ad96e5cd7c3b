//! Reads bodies that have one of several types (subresources, reviews), and delete options.

use bytes::Bytes;
use serde_json::{Value, json};

use super::object::unrecognized;
use super::read::{self, Format};
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::kind::types;

/// The type that a body declares: its group, version and kind.
pub(crate) type TypeName<'a> = (&'a str, &'a str, &'a str);

/// Reads a body of one of `types`, or of the first type if the body declares none.
/// `media` is the media type of the body.
///
/// # Errors
/// Unsupported media type, or a bad request with the message of a real server.
pub(crate) fn typed_body(media: &str, body: &Bytes, types: &[TypeName<'_>]) -> Result<Value, Failure> {
    let format = Format::of(media, false)?;
    let kind = types.first().map_or("", |of| of.2);
    let wrong = |why: &str| unrecognized(kind, why, body);
    let (mut object, envelope) = if format == Format::Protobuf {
        let envelope = types::open(body).map_err(|why| wrong(&why))?;
        (json!({"apiVersion": envelope.api_version, "kind": envelope.kind}), Some(envelope))
    } else {
        (read::text(format, body).map_err(|why| wrong(&why))?.value, None)
    };
    if object.is_null() {
        object = json!({});
    }
    let (group, version, kind) = chosen(&object, types)?;
    let refused = |why: &str| {
        Failure::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
    };
    let of = types::find(group, version, kind).ok_or_else(|| refused("it has no type"))?;
    match envelope {
        Some(envelope) => object = envelope.decode(of).map_err(|why| refused(&why))?,
        None => drop(types::check(of, &mut object).map_err(|problem| refused(&problem.decoding))?),
    }
    object["apiVersion"] = crate::kind::kinds::api_version(group, version).into();
    object["kind"] = kind.into();
    Ok(object)
}

/// The type that an object declares, which must be one of `types`.
fn chosen<'a>(object: &Value, types: &[TypeName<'a>]) -> Result<TypeName<'a>, Failure> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let fits = |of: &&TypeName<'_>| {
        (api_version.is_empty() || api_version == crate::kind::kinds::api_version(of.0, of.1))
            && (kind.is_empty() || kind == of.2)
    };
    types.iter().find(fits).copied().ok_or_else(|| {
        let expected = types.first().map_or("", |of| of.2);
        let version = api_version.rsplit('/').next().unwrap_or_default();
        Failure::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {expected}: no kind {kind:?} is registered for version \
             {api_version:?} in scheme \"pkg/api/legacyscheme/scheme.go:30\""
        ))
    })
}

/// The delete options in the body of a delete, if there is a body.
/// `DeleteOptions` exists in every group and version, so the type fields are not checked.
///
/// # Errors
/// Unsupported media type, or an internal error without a reason if the body cannot be read.
pub(crate) fn delete_options(call: &Call<'_>) -> Result<Value, Failure> {
    if call.body.is_empty() {
        return Ok(json!({}));
    }
    let format = Format::of(call.content_type(), false)?;
    let of = types::find("meta", "v1", "DeleteOptions").ok_or_else(Failure::no_resource)?;
    let read = || -> Result<Value, String> {
        if format == Format::Protobuf {
            return types::open(&call.body)?.decode(of);
        }
        let mut options = read::text(format, &call.body)?.value;
        if options.is_null() {
            options = json!({});
        }
        types::check(of, &mut options).map_err(|problem| problem.decoding)?;
        Ok(options)
    };
    let options = read().map_err(Failure::internal)?;
    Ok(options)
}
