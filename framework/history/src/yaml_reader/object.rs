//! The side of the types that are read: seeds and visitors, without their types.
//!
//! A seed asks for one value, and a visitor makes the type of the shape that was found.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Error, Expected, Unexpected, Visitor};

use super::access::{Content, Elements, Entries, PointedAccess, PointedEnum};
use super::failure::Failure;
use super::source::{PointedSource, Source};

const ONCE: &str = "a value is read once";

/// The shape of a value that the parser found.
pub(super) enum Shape<'a, 'de> {
    Bool(bool),
    I64(i64),
    U64(u64),
    I128(i128),
    U128(u128),
    F64(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
    Unit,
    None,
    Some(&'a mut dyn Source<'de>),
    Newtype(&'a mut dyn Source<'de>),
    Seq(&'a mut dyn Elements<'de>),
    Map(&'a mut dyn Entries<'de>),
    Enum(&'a mut dyn Content<'de>),
}

impl Shape<'_, '_> {
    fn unexpected(&self, expected: &dyn Expected) -> Failure {
        let unexpected = match self {
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::I64(value) => Unexpected::Signed(*value),
            Self::U64(value) => Unexpected::Unsigned(*value),
            Self::I128(_) | Self::U128(_) => Unexpected::Other("integer"),
            Self::F64(value) => Unexpected::Float(*value),
            Self::Text(text) => Unexpected::Str(text),
            Self::Bytes(bytes) => Unexpected::Bytes(bytes),
            Self::Unit => Unexpected::Unit,
            Self::None | Self::Some(_) => Unexpected::Option,
            Self::Newtype(_) => Unexpected::NewtypeStruct,
            Self::Seq(_) => Unexpected::Seq,
            Self::Map(_) => Unexpected::Map,
            Self::Enum(_) => Unexpected::Enum,
        };
        Failure::invalid_type(unexpected, expected)
    }
}

/// A seed whose type the parser does not know.
pub(super) trait SeedObject<'de> {
    fn read(&mut self, source: &mut dyn Source<'de>) -> Result<(), Failure>;
}

/// A visitor whose type the parser does not know.
pub(super) trait VisitorObject<'de> {
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    fn visit(&mut self, shape: Shape<'_, 'de>) -> Result<(), Failure>;
}

/// A seed, and the value that was read with it.
pub(super) struct SeedSlot<'de, S: DeserializeSeed<'de>> {
    seed: Option<S>,
    value: Option<S::Value>,
}

impl<'de, S: DeserializeSeed<'de>> SeedSlot<'de, S> {
    pub(super) fn new(seed: S) -> Self {
        Self { seed: Some(seed), value: None }
    }

    /// The value, if there was one.
    pub(super) fn value(self) -> Option<S::Value> {
        self.value
    }

    /// The value that the parser has read.
    pub(super) fn into_value(self) -> S::Value {
        self.value.expect(ONCE)
    }
}

impl<'de, S: DeserializeSeed<'de>> SeedObject<'de> for SeedSlot<'de, S> {
    fn read(&mut self, source: &mut dyn Source<'de>) -> Result<(), Failure> {
        self.value = Some(self.seed.take().expect(ONCE).deserialize(PointedSource(source))?);
        Ok(())
    }
}

/// A visitor, and the value that it made. `K` names the shapes that the parser may find.
///
/// A visitor is compiled for these shapes only. For any other shape, the visitors of types that are derived refuse it with the same error.
pub(super) struct VisitorSlot<'de, V: Visitor<'de>, K> {
    visitor: Option<V>,
    value: Option<V::Value>,
    shapes: PhantomData<K>,
}

impl<'de, V: Visitor<'de>, K> VisitorSlot<'de, V, K> {
    pub(super) fn new(visitor: V) -> Self {
        Self { visitor: Some(visitor), value: None, shapes: PhantomData }
    }

    pub(super) fn into_value(self) -> V::Value {
        self.value.expect(ONCE)
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.visitor {
            Some(visitor) => visitor.expecting(f),
            None => f.write_str("a value"),
        }
    }
}

impl<'de, V: Visitor<'de>, K> Expected for VisitorSlot<'de, V, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f)
    }
}

/// Implements the visitor for the shapes that a request can find.
macro_rules! shapes {
    ($($(#[$doc:meta])* $kind:ident { $($shape:pat => $method:ident($($argument:expr)?)),+ $(,)? } $(or $other:ident)?;)+) => {$(
        $(#[$doc])*
        pub(super) struct $kind;

        impl<'de, V: Visitor<'de>> VisitorObject<'de> for VisitorSlot<'de, V, $kind> {
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.describe(f)
            }

            fn visit(&mut self, shape: Shape<'_, 'de>) -> Result<(), Failure> {
                let value = match shape {
                    $($shape => self.visitor.take().expect(ONCE).$method($($argument)?)?,)+
                    $($other => return Err($other.unexpected(self)),)?
                };
                self.value = Some(value);
                Ok(())
            }
        }
    )+};
}

shapes! {
    /// A text: the shape of strings and of names of fields.
    Text { Shape::Text(text) => visit_str(text) } or other;
    /// A list: the shape of sequences and tuples.
    Seq { Shape::Seq(elements) => visit_seq(PointedAccess(elements)) } or other;
    /// A map: the shape of structs, too.
    Map { Shape::Map(entries) => visit_map(PointedAccess(entries)) } or other;
    /// A variant of an enum.
    Enum { Shape::Enum(content) => visit_enum(PointedEnum(content)) } or other;
    /// A struct around one value.
    Newtype { Shape::Newtype(source) => visit_newtype_struct(PointedSource(source)) } or other;
    /// A value that can be absent.
    Optional {
        Shape::None => visit_none(),
        Shape::Unit => visit_unit(),
        Shape::Some(source) => visit_some(PointedSource(source)),
    } or other;
    /// Each shape.
    Any {
        Shape::Bool(value) => visit_bool(value),
        Shape::I64(value) => visit_i64(value),
        Shape::U64(value) => visit_u64(value),
        Shape::I128(value) => visit_i128(value),
        Shape::U128(value) => visit_u128(value),
        Shape::F64(value) => visit_f64(value),
        Shape::Text(text) => visit_str(text),
        Shape::Bytes(bytes) => visit_bytes(bytes),
        Shape::Unit => visit_unit(),
        Shape::None => visit_none(),
        Shape::Some(source) => visit_some(PointedSource(source)),
        Shape::Newtype(source) => visit_newtype_struct(PointedSource(source)),
        Shape::Seq(elements) => visit_seq(PointedAccess(elements)),
        Shape::Map(entries) => visit_map(PointedAccess(entries)),
        Shape::Enum(content) => visit_enum(PointedEnum(content)),
    };
}
