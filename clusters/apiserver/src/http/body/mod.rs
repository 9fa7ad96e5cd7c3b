//! The bodies of requests: read as JSON, YAML or protobuf, and made sure to be of the type that the endpoint takes.

mod duplicates;
mod go_json;
mod object;
mod part;
mod read;

pub(crate) use go_json::message as go_message;
pub(crate) use object::{decode, unconvertible};
pub(crate) use part::{delete_options, part};
pub(crate) use read::yaml;
