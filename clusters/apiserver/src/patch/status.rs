//! A merge patch of the status of a custom object: the most frequent of all writes. Of the object only the status is read and
//! written; the rest of its text stays as it is.
//!
//! It comes to the same as any patch, and leaves to `update` whatever is not as simple as that.

use std::sync::Arc;

use http::{Response, StatusCode};
use serde_json::Value;

use super::read::Patch;
use crate::crd::{self, Node};
use crate::failure::Failure;
use crate::field_validation::{self, Mode};
use crate::request::parse_revision;
use crate::respond::{self, ApiBody};
use crate::service::Call;
use crate::store::{self, Version};
use crate::update::Change;
use crate::writer::{Writer, Written};

/// A patch of a status.
struct Status<'a> {
    /// What is to be merged into it.
    patch: &'a Value,
    /// The version that is patched; empty where it may be any.
    version: &'a str,
    /// What it is held to.
    schema: &'a Node,
}

/// Answers the patch; `None` where it has to be looked at as a whole.
///
/// # Errors
/// As those of any patch.
pub(crate) fn status(
    call: &Call<'_>,
    change: &Change<'_>,
    patch: &Patch,
) -> Result<Option<Response<ApiBody>>, Failure> {
    let mode = Mode::read(call.query.get("fieldValidation"), "PatchOptions")?;
    let Some(status) = Status::of(change, patch).filter(|_| mode != Mode::Strict) else { return Ok(None) };
    let written = call.writing(|writer| {
        let stored = status.stored(writer, change)?;
        Some(status.write(writer, change, &stored))
    });
    let Some((written, unknown)) = written.transpose()? else { return Ok(None) };
    let warnings = if mode == Mode::Ignore { Vec::new() } else { field_validation::told(&unknown) };
    Ok(Some(respond::with_warnings(written.answer(StatusCode::OK, change.kind), &warnings)))
}

impl<'a> Status<'a> {
    /// The patch, if it is of the status of a custom object and of nothing else.
    fn of(change: &Change<'a>, patch: &'a Patch) -> Option<Self> {
        let kind = change.kind;
        let Patch::Merge(Value::Object(fields)) = patch else { return None };
        if change.subresource != "status"
            || change.dry_run
            || kind.scale.is_some()
            || !kind.is_stored_version()
        {
            return None;
        }
        let version = match fields.get("metadata") {
            None => "",
            Some(Value::Object(metadata)) if metadata.len() == 1 => {
                metadata.get("resourceVersion")?.as_str()?
            }
            Some(_) => return None,
        };
        let others = fields.keys().any(|field| !["metadata", "status"].contains(&field.as_str()));
        let patch = fields.get("status").filter(|status| status.is_object() && !others)?;
        Some(Self { patch, version, schema: kind.schema.as_ref()?.status_apart()? })
    }

    /// The stored version, if nobody but the schema has a say in its status, and nothing follows from it.
    fn stored(&self, writer: &Writer<'_>, change: &Change<'_>) -> Option<Arc<Version>> {
        let Change { kind, namespace, name, .. } = *change;
        let stored = writer.state.store.get(&kind.storage, &store::key(namespace, name))?;
        let since = kind.schema.as_ref()?.since;
        let plain = stored.encoded().status().starts_with(b"{") && !stored.has_bare_finalizers();
        let simple = writer.consultation.is_none() && plain && stored.revision > since;
        let known = ["deletionTimestamp", "managedFields"].iter().any(|field| stored.may_have(field));
        (simple && !known).then(|| stored.clone())
    }

    /// Writes what comes of it; the paths of the fields that the schema does not know come back.
    fn write(
        &self,
        writer: &mut Writer<'_>,
        change: &Change<'_>,
        stored: &Arc<Version>,
    ) -> Result<(Written, Vec<String>), Failure> {
        let Change { kind, namespace, name, .. } = *change;
        let old = || serde_json::from_slice::<Value>(stored.encoded().status()).expect("the server wrote it");
        let (mut status, mut unknown) = (old(), Vec::new());
        json_patch::merge(&mut status, self.patch);
        self.schema.prune(&mut status, &mut crd::STATUS.to_owned(), &mut unknown);
        let wanted = if self.version.is_empty() { Ok(0) } else { parse_revision(self.version) };
        let wanted = wanted.map_err(Failure::internal)?;
        if wanted != 0 && wanted != stored.revision {
            return Err(Failure::modified(kind, name));
        }
        self.schema.set_defaults(&mut status);
        // What was wrong before is looked at only where something is.
        let mut causes = crd::check_status(self.schema, &status, None);
        if !causes.is_empty() {
            causes = crd::check_status(self.schema, &status, Some(&old()));
        }
        if !causes.is_empty() {
            return Err(Failure::invalid(kind, name, &causes));
        }
        let text = serde_json::to_vec(&status).expect("JSON values have string keys");
        if text == stored.encoded().status() {
            return Ok((Written::Stored(stored.clone()), unknown));
        }
        let key = store::key(namespace, name);
        let version = writer.state.store.put_status(&kind.storage, &key, stored, &text);
        Ok((Written::Stored(version), unknown))
    }
}
