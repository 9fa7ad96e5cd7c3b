//! The format of histories, and the neutral facts that dialects read from recorded objects.
//!
//! A history is every version of every observed object, in the order of observation, with marks for faults
//! and steps. A [`dialect`] folds the entries into [`facts`], which no longer depend on the API of one
//! implementation.

pub mod dialect;
pub mod facts;
mod file_value;
mod format;
mod plain_words;
mod yaml_error;
mod yaml_reader;

pub use file_value::FileValue;
pub use format::*;
pub use yaml_error::YamlError;
pub use yaml_reader::{read_yaml, read_yaml_with};
