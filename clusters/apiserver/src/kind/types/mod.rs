//! The Go types of built-in kinds: the valid contents of a body in JSON and in protobuf.

mod check;
mod own;
mod table;
mod wire;
#[cfg(test)]
mod wire_test;

pub(crate) use check::{Problem, check, check_changed};
pub(crate) use own::json_type_name;
pub(crate) use table::{Shape, Struct, Type, at as struct_at, find};
pub(crate) use wire::open;
