//! The side of the parser: deserializers, without their types.
//!
//! A deserializer answers the request of a type with the shape of a value.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};

use super::access::{HeldAccess, HeldEnum};
use super::failure::Failure;
use super::object::{self, SeedObject, Shape, VisitorObject, VisitorSlot};

/// The kind of value for which a type asks.
pub(super) enum Request {
    Any,
    Bool,
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    U128,
    F32,
    F64,
    Char,
    Str,
    String,
    Bytes,
    ByteBuf,
    Option,
    Unit,
    UnitStruct(&'static str),
    NewtypeStruct(&'static str),
    Seq,
    Tuple(usize),
    TupleStruct(&'static str, usize),
    Map,
    Struct(&'static str, &'static [&'static str]),
    Enum(&'static str, &'static [&'static str]),
    Identifier,
    IgnoredAny,
}

/// A deserializer whose type the types that are read do not know.
pub(super) trait Source<'de> {
    fn read(&mut self, request: Request, visitor: &mut dyn VisitorObject<'de>) -> Result<(), Failure>;
}

/// A deserializer of the parser, until it is used, and its error.
struct HeldSource<D, E> {
    deserializer: Option<D>,
    error: Option<E>,
}

impl<'de, D: Deserializer<'de>> Source<'de> for HeldSource<D, D::Error> {
    fn read(&mut self, request: Request, visitor: &mut dyn VisitorObject<'de>) -> Result<(), Failure> {
        let visitor = ForwardedVisitor(visitor);
        let source = self.deserializer.take().expect("a value is read once");
        let result = match request {
            Request::Any => source.deserialize_any(visitor),
            Request::Bool => source.deserialize_bool(visitor),
            Request::I8 => source.deserialize_i8(visitor),
            Request::I16 => source.deserialize_i16(visitor),
            Request::I32 => source.deserialize_i32(visitor),
            Request::I64 => source.deserialize_i64(visitor),
            Request::I128 => source.deserialize_i128(visitor),
            Request::U8 => source.deserialize_u8(visitor),
            Request::U16 => source.deserialize_u16(visitor),
            Request::U32 => source.deserialize_u32(visitor),
            Request::U64 => source.deserialize_u64(visitor),
            Request::U128 => source.deserialize_u128(visitor),
            Request::F32 => source.deserialize_f32(visitor),
            Request::F64 => source.deserialize_f64(visitor),
            Request::Char => source.deserialize_char(visitor),
            Request::Str => source.deserialize_str(visitor),
            Request::String => source.deserialize_string(visitor),
            Request::Bytes => source.deserialize_bytes(visitor),
            Request::ByteBuf => source.deserialize_byte_buf(visitor),
            Request::Option => source.deserialize_option(visitor),
            Request::Unit => source.deserialize_unit(visitor),
            Request::UnitStruct(name) => source.deserialize_unit_struct(name, visitor),
            Request::NewtypeStruct(name) => source.deserialize_newtype_struct(name, visitor),
            Request::Seq => source.deserialize_seq(visitor),
            Request::Tuple(length) => source.deserialize_tuple(length, visitor),
            Request::TupleStruct(name, length) => source.deserialize_tuple_struct(name, length, visitor),
            Request::Map => source.deserialize_map(visitor),
            Request::Struct(name, fields) => source.deserialize_struct(name, fields, visitor),
            Request::Enum(name, variants) => source.deserialize_enum(name, variants, visitor),
            Request::Identifier => source.deserialize_identifier(visitor),
            Request::IgnoredAny => source.deserialize_ignored_any(visitor),
        };
        Failure::keep(result, &mut self.error)
    }
}

/// A seed of a type, for the parser.
pub(super) struct ForwardedSeed<'a, 'de>(pub(super) &'a mut dyn SeedObject<'de>);

impl<'de> DeserializeSeed<'de> for ForwardedSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        with_source(deserializer, |source| self.0.read(source))
    }
}

/// Lends a deserializer to a type.
fn with_source<'de, D: Deserializer<'de>>(
    deserializer: D,
    read: impl FnOnce(&mut dyn Source<'de>) -> Result<(), Failure>,
) -> Result<(), D::Error> {
    let mut held = HeldSource { deserializer: Some(deserializer), error: None };
    read(&mut held).map_err(|failure| failure.into_error(held.error))
}

/// A visitor of a type, for the parser.
pub(super) struct ForwardedVisitor<'a, 'de>(pub(super) &'a mut dyn VisitorObject<'de>);

impl<'de> ForwardedVisitor<'_, 'de> {
    fn visit<E: Error>(self, shape: Shape<'_, 'de>) -> Result<(), E> {
        self.0.visit(shape).map_err(|failure| failure.into_error(None))
    }
}

impl<'de> Visitor<'de> for ForwardedVisitor<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.visit(Shape::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.visit(Shape::I64(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.visit(Shape::U64(value))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<(), E> {
        self.visit(Shape::I128(value))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<(), E> {
        self.visit(Shape::U128(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.visit(Shape::F64(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.visit(Shape::Text(text))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<(), E> {
        self.visit(Shape::Bytes(bytes))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.visit(Shape::Unit)
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.visit(Shape::None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        with_source(deserializer, |source| self.0.visit(Shape::Some(source)))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        with_source(deserializer, |source| self.0.visit(Shape::Newtype(source)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        let mut held = HeldAccess { access, error: None };
        self.0.visit(Shape::Seq(&mut held)).map_err(|failure| failure.into_error(held.error))
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        let mut held = HeldAccess { access, error: None };
        self.0.visit(Shape::Map(&mut held)).map_err(|failure| failure.into_error(held.error))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        let mut held = HeldEnum { access: Some(access), content: None, error: None };
        self.0.visit(Shape::Enum(&mut held)).map_err(|failure| failure.into_error(held.error))
    }
}

/// A deserializer of the parser, for a type.
pub(super) struct PointedSource<'a, 'de>(pub(super) &'a mut dyn Source<'de>);

impl<'de> PointedSource<'_, 'de> {
    fn read<K, V: Visitor<'de>>(self, request: Request, visitor: V) -> Result<V::Value, Failure>
    where
        VisitorSlot<'de, V, K>: VisitorObject<'de>,
    {
        let mut slot = VisitorSlot::new(visitor);
        self.0.read(request, &mut slot)?;
        Ok(slot.into_value())
    }
}

/// Implements the methods of a deserializer: the request, and the shapes that answer the request.
macro_rules! requests {
    ($($method:ident($($argument:ident: $type:ty),*) => $request:expr, $kind:ident;)+) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, Failure> {
            self.read::<object::$kind, V>($request, visitor)
        }
    )+};
}

impl<'de> Deserializer<'de> for PointedSource<'_, 'de> {
    type Error = Failure;

    requests! {
        deserialize_any() => Request::Any, Any;
        deserialize_bool() => Request::Bool, Any;
        deserialize_i8() => Request::I8, Any;
        deserialize_i16() => Request::I16, Any;
        deserialize_i32() => Request::I32, Any;
        deserialize_i64() => Request::I64, Any;
        deserialize_i128() => Request::I128, Any;
        deserialize_u8() => Request::U8, Any;
        deserialize_u16() => Request::U16, Any;
        deserialize_u32() => Request::U32, Any;
        deserialize_u64() => Request::U64, Any;
        deserialize_u128() => Request::U128, Any;
        deserialize_f32() => Request::F32, Any;
        deserialize_f64() => Request::F64, Any;
        deserialize_char() => Request::Char, Any;
        deserialize_str() => Request::Str, Text;
        deserialize_string() => Request::String, Text;
        deserialize_bytes() => Request::Bytes, Any;
        deserialize_byte_buf() => Request::ByteBuf, Any;
        deserialize_option() => Request::Option, Optional;
        deserialize_unit() => Request::Unit, Any;
        deserialize_unit_struct(name: &'static str) => Request::UnitStruct(name), Any;
        deserialize_newtype_struct(name: &'static str) => Request::NewtypeStruct(name), Newtype;
        deserialize_seq() => Request::Seq, Seq;
        deserialize_tuple(length: usize) => Request::Tuple(length), Seq;
        deserialize_tuple_struct(name: &'static str, length: usize) => Request::TupleStruct(name, length), Seq;
        deserialize_map() => Request::Map, Map;
        deserialize_struct(name: &'static str, fields: &'static [&'static str]) => Request::Struct(name, fields), Map;
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) => Request::Enum(name, variants), Enum;
        deserialize_identifier() => Request::Identifier, Text;
        deserialize_ignored_any() => Request::IgnoredAny, Any;
    }
}
