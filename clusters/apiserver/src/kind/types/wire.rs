//! Reads protobuf of built-in kinds into JSON.
//!
//! Go always writes a field that is not a pointer, and does not write empty lists and maps. Therefore an absent field
//! gets the empty value of its type. JSON then shows or omits the value as Go does.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::own;
use super::table::{self, Field, Own, Shape, Struct, Type};

/// The prefix of every body.
const PREFIX: &[u8] = b"k8s\0";
/// The maximum nesting depth of messages.
const DEEPEST: usize = 200;
/// The maximum number of values in a body.
/// A value has two bytes or more in protobuf, and a hundred or more in memory.
const MOST_VALUES: usize = 500_000;

/// The type that a body declares, and its message.
#[derive(Debug)]
pub(crate) struct Envelope<'a> {
    pub api_version: String,
    pub kind: String,
    message: &'a [u8],
}

/// Opens a body.
///
/// # Errors
/// The message of Go for a broken body.
pub(crate) fn open(body: &[u8]) -> Result<Envelope<'_>, String> {
    if body.is_empty() {
        return Err("empty data".into());
    }
    let rest = body.strip_prefix(PREFIX).ok_or_else(|| {
        format!("provided data does not appear to be a protobuf message, expected prefix {}", shown(PREFIX))
    })?;
    if rest.is_empty() {
        return Err("empty body".into());
    }
    let mut envelope = Envelope { api_version: String::new(), kind: String::new(), message: &[] };
    each(rest, |number, wire| {
        match (number, wire) {
            (1, Wire::Bytes(of_type)) => each(of_type, |number, wire| {
                match (number, wire) {
                    (1, Wire::Bytes(text)) => envelope.api_version = lossy(text),
                    (2, Wire::Bytes(text)) => envelope.kind = lossy(text),
                    _ => {}
                }
                Ok(())
            })?,
            (2, Wire::Bytes(message)) => envelope.message = message,
            _ => {}
        }
        Ok(())
    })?;
    Ok(envelope)
}

impl Envelope<'_> {
    /// Decodes the message to JSON, without the type fields.
    ///
    /// # Errors
    /// The message of Go for a broken message, or an error for a message that is too large.
    pub(crate) fn decode(&self, of: &'static Struct) -> Result<Value, String> {
        let mut reader = Reader { left: MOST_VALUES };
        reader.message(of, self.message, 0).map(Value::Object)
    }
}

/// Bytes in the format in which Go prints slices.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::from("[");
    for (index, byte) in bytes.iter().enumerate() {
        let _ = write!(text, "{}{byte}", if index == 0 { "" } else { " " });
    }
    text + "]"
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A value in protobuf.
#[derive(Clone, Copy)]
enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'a [u8]),
}

const CUT: &str = "unexpected EOF";

fn varint(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(CUT)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("proto: integer overflow".into())
}

fn split<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8], String> {
    let (taken, rest) = bytes.split_at_checked(length).ok_or(CUT)?;
    *bytes = rest;
    Ok(taken)
}

/// Calls `take` for each field of a message, in the order of the message.
fn each<'a>(
    mut bytes: &'a [u8],
    mut take: impl FnMut(u32, Wire<'a>) -> Result<(), String>,
) -> Result<(), String> {
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let number = u32::try_from(key >> 3).ok().filter(|number| *number > 0);
        let number =
            number.ok_or_else(|| format!("proto: illegal tag {} (wire type {})", key >> 3, key & 7))?;
        let wire = match key & 7 {
            0 => Wire::Varint(varint(&mut bytes)?),
            1 => {
                let taken = split(&mut bytes, 8)?;
                Wire::Fixed64(u64::from_le_bytes(taken.try_into().map_err(|_| CUT)?))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).map_err(|_| CUT)?;
                Wire::Bytes(split(&mut bytes, length)?)
            }
            5 => {
                split(&mut bytes, 4)?;
                Wire::Fixed32
            }
            other => return Err(format!("proto: illegal wireType {other}")),
        };
        take(number, wire)?;
    }
    Ok(())
}

fn wrong_wire(wire: Wire<'_>, name: &str) -> String {
    let number = match wire {
        Wire::Varint(_) => 0,
        Wire::Fixed64(_) => 1,
        Wire::Bytes(_) => 2,
        Wire::Fixed32 => 5,
    };
    format!("proto: wrong wireType = {number} for field {name}")
}

/// The value of a varint in a field of 32 bits.
fn int32(value: u64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "a field of 32 bits is written in as many as 64")]
    let low = value as u32;
    low.cast_signed()
}

struct Reader {
    /// The number of values that may still be created.
    left: usize,
}

impl Reader {
    fn made(&mut self) -> Result<(), String> {
        self.left = self.left.checked_sub(1).ok_or("the object has too many values")?;
        Ok(())
    }

    fn message(
        &mut self,
        of: &'static Struct,
        bytes: &[u8],
        depth: usize,
    ) -> Result<Map<String, Value>, String> {
        if depth > DEEPEST {
            return Err("exceeded max depth".into());
        }
        let mut set: Vec<Option<Value>> = Vec::new();
        set.resize_with(of.fields.len(), || None);
        each(bytes, |number, wire| {
            let Some(index) = of.numbered(number) else { return Ok(()) };
            let field = &of.fields[index];
            match &field.of.shape {
                Shape::List(items) => {
                    let list = set[index].get_or_insert_with(|| json!([])).as_array_mut();
                    list.map_or(Ok(()), |list| self.items(items, field, wire, depth, list))
                }
                Shape::Map(values) => {
                    let map = set[index].get_or_insert_with(|| json!({})).as_object_mut();
                    let (key, value) = self.entry(values, field, wire, depth)?;
                    map.map(|map| map.insert(key, value));
                    Ok(())
                }
                _ => {
                    set[index] = Some(self.value(&field.of, field, wire, depth)?);
                    Ok(())
                }
            }
        })?;
        let mut object = Map::new();
        for (field, value) in of.fields.iter().zip(set) {
            self.put(field, value, depth, &mut object)?;
        }
        Ok(object)
    }

    /// Puts a field into its object in the form that Go writes.
    fn put(
        &mut self,
        field: &'static Field,
        value: Option<Value>,
        depth: usize,
        object: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let value = match value {
            Some(value) => value,
            None if field.number == 0 || (field.pointer && field.omit_empty) => return Ok(()),
            None if field.pointer => Value::Null,
            None => self.empty(&field.of, depth)?,
        };
        match value {
            Value::Object(inlined) if field.name.is_empty() => object.extend(inlined),
            value if super::check::is_left_out(field, &value) => {}
            value => {
                self.made()?;
                object.insert(field.name.to_owned(), value);
            }
        }
        Ok(())
    }

    /// The value of a field that the message does not have.
    fn empty(&mut self, of: &Type, depth: usize) -> Result<Value, String> {
        Ok(match &of.shape {
            Shape::Bool => false.into(),
            Shape::Int32 | Shape::Int64 | Shape::Float => 0.into(),
            Shape::Text => "".into(),
            Shape::Bytes | Shape::List(_) | Shape::Wrapped(_) | Shape::Map(_) => Value::Null,
            Shape::Struct(index) => Value::Object(self.message(table::at(*index), &[], depth + 1)?),
            Shape::Own(own) => self.own(*own, &[], depth)?,
        })
    }

    /// Reads an item of a list, or several packed numbers.
    fn items(
        &mut self,
        of: &Type,
        field: &Field,
        wire: Wire<'_>,
        depth: usize,
        list: &mut Vec<Value>,
    ) -> Result<(), String> {
        if let (Shape::Int32 | Shape::Int64 | Shape::Bool, Wire::Bytes(mut packed)) = (&of.shape, wire) {
            while !packed.is_empty() {
                let one = Wire::Varint(varint(&mut packed)?);
                list.push(self.value(of, field, one, depth)?);
            }
            return Ok(());
        }
        list.push(self.value(of, field, wire, depth)?);
        Ok(())
    }

    fn entry(
        &mut self,
        of: &Type,
        field: &Field,
        wire: Wire<'_>,
        depth: usize,
    ) -> Result<(String, Value), String> {
        let Wire::Bytes(bytes) = wire else { return Err(wrong_wire(wire, field.name)) };
        let (mut key, mut value) = (String::new(), None);
        each(bytes, |number, wire| {
            match (number, wire) {
                (1, Wire::Bytes(text)) => key = lossy(text),
                (2, wire) => value = Some(self.value(of, field, wire, depth)?),
                _ => {}
            }
            Ok(())
        })?;
        let value = value.map_or_else(|| self.empty(of, depth), Ok)?;
        Ok((key, value))
    }

    fn value(&mut self, of: &Type, field: &Field, wire: Wire<'_>, depth: usize) -> Result<Value, String> {
        self.made()?;
        Ok(match (&of.shape, wire) {
            (Shape::Bool, Wire::Varint(set)) => (set != 0).into(),
            (Shape::Int32, Wire::Varint(number)) => int32(number).into(),
            (Shape::Int64, Wire::Varint(number)) => number.cast_signed().into(),
            (Shape::Float, Wire::Fixed64(bits)) => float(f64::from_bits(bits)),
            (Shape::Text, Wire::Bytes(text)) => lossy(text).into(),
            (Shape::Bytes, Wire::Bytes(bytes)) => STANDARD.encode(bytes).into(),
            (Shape::Struct(index), Wire::Bytes(bytes)) => {
                Value::Object(self.message(table::at(*index), bytes, depth + 1)?)
            }
            (Shape::Wrapped(items), Wire::Bytes(bytes)) => {
                let mut list = Vec::new();
                each(bytes, |number, wire| {
                    if number == 1 { self.items(items, field, wire, depth + 1, &mut list) } else { Ok(()) }
                })?;
                list.into()
            }
            (Shape::Own(own), Wire::Bytes(bytes)) => self.own(*own, bytes, depth + 1)?,
            (_, wire) => return Err(wrong_wire(wire, field.name)),
        })
    }

    /// Reads a value of a type with its own reader.
    fn own(&mut self, own: Own, bytes: &[u8], depth: usize) -> Result<Value, String> {
        let mut numbers = [0; 4];
        let mut texts: [Option<&[u8]>; 4] = [None; 4];
        let mut lists: Vec<&[u8]> = Vec::new();
        each(bytes, |number, wire| {
            match (number as usize, wire) {
                (at @ 1..4, Wire::Varint(value)) => numbers[at] = value,
                (at @ 1..4, Wire::Bytes(value)) => {
                    texts[at] = Some(value);
                    lists.extend((at == 2).then_some(value));
                }
                _ => {}
            }
            Ok(())
        })?;
        let [_, first, second, _] = numbers;
        Ok(match own {
            Own::Quantity => {
                let text = lossy(texts[1].unwrap_or(b"0"));
                let mut quantity = Value::from(if text.is_empty() { "0".to_owned() } else { text });
                own::canonicalize(own, &mut quantity)?;
                quantity
            }
            Own::Time | Own::MicroTime if bytes.is_empty() => Value::Null,
            // The protobuf form of a time has nanoseconds. Go keeps only the digits that its JSON shows.
            Own::Time => time(first.cast_signed(), 0, false)?,
            Own::MicroTime => time(first.cast_signed(), int32(second), true)?,
            Own::Duration => duration(first.cast_signed()).into(),
            Own::IntOrString if first == 0 => int32(second).into(),
            Own::IntOrString => lossy(texts[3].unwrap_or_default()).into(),
            Own::Raw => match texts[1].filter(|raw| !raw.is_empty()) {
                None => Value::Null,
                Some(raw) => serde_json::from_slice(raw).map_err(|error| format!("invalid JSON: {error}"))?,
            },
            Own::SchemaOrArray if !lists.is_empty() => {
                let schemas = lists.iter().map(|bytes| self.schema(bytes, depth));
                schemas.collect::<Result<Vec<_>, _>>()?.into()
            }
            Own::SchemaOrStrings if !lists.is_empty() => {
                lists.iter().map(|text| lossy(text)).collect::<Vec<_>>().into()
            }
            Own::SchemaOrBool => match texts[2] {
                Some(schema) => self.schema(schema, depth)?,
                None => (first != 0).into(),
            },
            Own::SchemaOrArray | Own::SchemaOrStrings => match texts[1] {
                Some(schema) => self.schema(schema, depth)?,
                None => Value::Null,
            },
        })
    }

    fn schema(&mut self, bytes: &[u8], depth: usize) -> Result<Value, String> {
        self.made()?;
        self.message(table::schema(), bytes, depth + 1).map(Value::Object)
    }
}

/// A float as in Go's JSON: without a fraction if it is a whole number.
fn float(value: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "only where nothing is cut off")]
    let whole = value as i64;
    #[expect(clippy::cast_precision_loss, reason = "the comparison shows whether any was lost")]
    let same = whole as f64 == value;
    if same { whole.into() } else { value.into() }
}

fn time(seconds: i64, nanos: i32, micro: bool) -> Result<Value, String> {
    let at = Timestamp::new(seconds, nanos / 1000 * 1000).map_err(|error| error.to_string())?;
    Ok(own::written(at, micro).into())
}

/// A duration in nanoseconds as Go writes it, for example `1h0m0.5s`.
fn duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let part = |unit: u64, name: &str| {
        let text = format!("{}.{:0width$}", nanos / unit, nanos % unit, width = unit.ilog10() as usize);
        format!("{sign}{}{name}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    match nanos {
        0 => "0s".into(),
        1..1_000 => format!("{sign}{nanos}ns"),
        1_000..1_000_000 => part(1_000, "µs"),
        1_000_000..1_000_000_000 => part(1_000_000, "ms"),
        _ => {
            let (minutes, rest) = (nanos / 60_000_000_000, nanos % 60_000_000_000);
            let text = format!("{}.{:09}", rest / 1_000_000_000, rest % 1_000_000_000);
            let seconds = text.trim_end_matches('0').trim_end_matches('.');
            match minutes {
                0 => format!("{sign}{seconds}s"),
                1..60 => format!("{sign}{minutes}m{seconds}s"),
                _ => format!("{sign}{}h{}m{seconds}s", minutes / 60, minutes % 60),
            }
        }
    }
}
