//! The bodies of requests: read from JSON, YAML or protobuf, and checked for the type of the endpoint.

mod go_json;
mod object;
mod read;
mod strict_json;
mod typed_body;

pub(crate) use go_json::message as go_message;
pub(crate) use object::{decode, unconvertible};
pub(crate) use read::yaml;
pub(crate) use typed_body::{delete_options, typed_body};
