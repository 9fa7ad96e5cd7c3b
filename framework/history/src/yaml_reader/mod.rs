//! A reader of YAML whose parser is compiled once, and not again for each type that it reads.
//!
//! A deserializer of serde is a generic function of the type that it makes, and that of `serde-saphyr` is large: its copies for the types
//! of scenarios were an eighth of the program. Here the parser and the types know each other through trait objects only. The crate
//! `erased-serde` does the same for any format, but it turns each error into a text without a place.
//!
//! A type hands a seed or a visitor to the parser (`object`). The parser hands a deserializer, or the entries of a map, to the type
//! (`source`, `access`). An error of the parser stays where it occurred, as `failure` explains.

mod access;
mod failure;
mod object;
mod read;
mod source;
#[cfg(test)]
mod tests;

pub use read::{read_yaml, read_yaml_with};
