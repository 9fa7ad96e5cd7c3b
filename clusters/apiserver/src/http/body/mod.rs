//! The bodies of requests: read from JSON, YAML or protobuf, and checked for the type of the endpoint.

mod duplicates;
mod go_json;
mod object;
mod part;
mod read;

pub(crate) use go_json::message as go_message;
pub(crate) use object::{decode, unconvertible};
pub(crate) use part::{delete_options, part};
pub(crate) use read::yaml;
