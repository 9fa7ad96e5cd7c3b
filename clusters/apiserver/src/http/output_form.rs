//! Converts a response into a table, or into the metadata of the objects.
//!
//! The conversion works on finished responses, so that responses with whole objects have no extra cost.

use bytes::{BufMut, Bytes, BytesMut};
use futures::StreamExt as _;
use http::Response;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::endpoint::table::{Include, Tables};
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::negotiate::{Form, Shape};
use crate::http::respond::{self, ApiBody};
use crate::kind::custom::definition_of;
use crate::kind::kinds::Kind;
use crate::kind::object::metadata_only;
use crate::state::ApiServer;
use crate::store::encoded::encode;

/// The conversion of one response into a table or into metadata.
pub(crate) struct Conversion {
    server: ApiServer,
    into: TargetForm,
    /// The name of the kind's Go type, which messages contain.
    go_type: String,
}

enum TargetForm {
    Table(Tables),
    Metadata { version: &'static str, list: bool },
}

/// Returns the conversion that the response to `call` needs; `None` if the response stays as it is.
///
/// # Errors
/// A bad request if the parameter `includeObject` is wrong.
pub(crate) fn conversion(call: &Call<'_>, form: Form) -> Result<Option<Conversion>, Failure> {
    let into = match form.shape {
        Shape::Whole => return Ok(None),
        Shape::Metadata { version, list } => TargetForm::Metadata { version, list },
        Shape::Table(version) => {
            let include = Include::read(call.query.get("includeObject"))?;
            let of_scales = call.path.subresource == "scale";
            let definition = definition(call.server, &call.kind);
            TargetForm::Table(Tables::new(&call.kind, definition.as_ref(), of_scales, version, include))
        }
    };
    Ok(Some(Conversion { server: call.server.clone(), into, go_type: go_type(&call.kind) }))
}

fn go_type(kind: &Kind) -> String {
    let package = match kind.group.split('.').next().unwrap_or_default() {
        _ if kind.is_custom() => return "*unstructured.Unstructured".to_owned(),
        "" | "events" => "core",
        package => package,
    };
    format!("*{package}.{}", kind.kind)
}

/// The stored definition of a custom kind.
fn definition(server: &ApiServer, kind: &Kind) -> Option<Value> {
    let state = server.inner.state();
    kind.is_custom().then(|| definition_of(&state, kind).map(|version| Value::clone(&version.object())))?
}

impl Conversion {
    /// Converts a response. Failures and other statuses stay as they are.
    pub(crate) fn apply(self, response: Response<ApiBody>) -> Response<ApiBody> {
        if !response.status().is_success() {
            return response;
        }
        let (parts, body) = response.into_parts();
        let body = match body.gathered() {
            ApiBody::Whole(Some(bytes)) => match self.whole(&bytes) {
                Ok(bytes) => ApiBody::Whole(Some(bytes)),
                Err(failure) => return respond::failure(&failure),
            },
            ApiBody::Watch(events) => {
                if let TargetForm::Metadata { list: true, .. } = self.into {
                    return respond::failure(&self.not_a_list());
                }
                let mut headed = false;
                ApiBody::Watch(Box::pin(events.map(move |lines| self.events(&lines, &mut headed))))
            }
            body => body,
        };
        Response::from_parts(parts, body)
    }

    fn now(&self) -> Timestamp {
        self.server.inner.clock.now()
    }

    fn not_a_list(&self) -> Failure {
        let found = &self.go_type;
        Failure::not_convertible(format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list ({found})"
        ))
    }

    fn whole(&self, bytes: &Bytes) -> Result<Bytes, Failure> {
        let shown: Value = serde_json::from_slice(bytes).unwrap_or_default();
        if shown["kind"] == "Status" {
            return Ok(bytes.clone());
        }
        let items = shown["items"].as_array();
        let shaped = match (&self.into, items) {
            (TargetForm::Table(tables), _) => tables.table(&shown, self.now(), true),
            (TargetForm::Metadata { version, list: false }, None) => metadata_only(&shown, version),
            (TargetForm::Metadata { version, list: true }, Some(items)) => {
                let items: Vec<_> = items.iter().map(|item| metadata_only(item, version)).collect();
                json!({"kind": "PartialObjectMetadataList", "apiVersion": format!("meta.k8s.io/{version}"),
                    "metadata": shown["metadata"], "items": items})
            }
            (TargetForm::Metadata { list: true, .. }, None) => return Err(self.not_a_list()),
            (TargetForm::Metadata { list: false, .. }, Some(_)) => {
                let found = &self.go_type;
                return Err(Failure::not_convertible(format!(
                    "you requested PartialObjectMetadata, but the requested object is a list ({found}List)"
                )));
            }
        };
        Ok(encode(&shaped).bytes)
    }

    /// Converts whole lines of a watch. `headed` is true once the columns have been sent.
    fn events(&self, lines: &Bytes, headed: &mut bool) -> Bytes {
        let mut text = BytesMut::with_capacity(lines.len());
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Value>(line) {
                Ok(event) => text.put_slice(&self.event(&event, headed)),
                Err(_) => text.put_slice(line),
            }
            text.put_u8(b'\n');
        }
        text.freeze()
    }

    fn event(&self, event: &Value, headed: &mut bool) -> Vec<u8> {
        let (event_type, object) = (event["type"].as_str().unwrap_or_default(), &event["object"]);
        let shaped = match (&self.into, event_type) {
            (_, "ERROR") => object.clone(),
            (TargetForm::Metadata { version, .. }, _) => metadata_only(object, version),
            (TargetForm::Table(tables), _) => {
                let with_columns = !std::mem::replace(headed, true);
                match event_type {
                    "BOOKMARK" => tables.bookmark(&object["metadata"], with_columns),
                    _ => tables.table(object, self.now(), with_columns),
                }
            }
        };
        let mut text = format!(r#"{{"type":"{event_type}","object":"#).into_bytes();
        text.extend_from_slice(&encode(&shaped).bytes);
        text.push(b'}');
        text
    }
}
