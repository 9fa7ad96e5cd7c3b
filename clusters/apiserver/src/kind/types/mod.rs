//! The types of built-in kinds as their Go programs have them: what a body may hold, in JSON and in protobuf.

mod check;
mod own;
mod table;
mod wire;
#[cfg(test)]
mod wire_test;

pub(crate) use check::{Problem, check, check_changed};
pub(crate) use own::described;
pub(crate) use table::{Shape, Struct, Type, at as struct_at, find};
pub(crate) use wire::open;
