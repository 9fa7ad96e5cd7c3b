//! Reads a YAML document.

use std::marker::PhantomData;

use serde::de::{DeserializeOwned, DeserializeSeed};
use serde_saphyr::{Error, Options};

use super::object::{SeedObject, SeedSlot};
use super::source::ForwardedSeed;

/// Reads one YAML document.
///
/// # Errors
///
/// If the text is no YAML, or has another shape than `T`.
pub fn read_yaml<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    read_yaml_with(text, Options::default())
}

/// Reads one YAML document with `options` of the parser.
///
/// # Errors
///
/// If the text is no YAML, has another shape than `T`, or exceeds a limit of the options.
pub fn read_yaml_with<T: DeserializeOwned>(text: &str, options: Options) -> Result<T, Error> {
    let mut slot = SeedSlot::new(PhantomData::<T>);
    read_seed(text, options, &mut slot)?;
    Ok(slot.into_value())
}

/// The parser, compiled once.
fn read_seed<'de>(text: &'de str, options: Options, seed: &mut dyn SeedObject<'de>) -> Result<(), Error> {
    serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        ForwardedSeed(seed).deserialize(deserializer)
    })
}
