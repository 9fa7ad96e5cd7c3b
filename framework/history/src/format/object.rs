//! One version of one object, split into its parts (`metadata`, `spec`, `status`) and their fields.
//!
//! Versions of one object differ in few fields. Each field therefore has a digest: a reader parses the field
//! again only if the digest has changed. The module [`split`](super::split) splits the text.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::digest::{OFFSET, digest};
use super::split::split;
use super::tree::Tree;

/// An object of the Kubernetes API, cheap to clone.
/// Successive versions share the parts that are the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object(Arc<[Arc<Part>]>);

/// The value of an object under one of its top-level names.
#[derive(Debug, PartialEq)]
pub(super) struct Part {
    pub(super) name: Arc<str>,
    pub(super) text: Box<str>,
    /// The fields of the part; empty if the part has none.
    pub(super) places: Vec<Place>,
    digest: u64,
}

/// The position of a field in the text of a part.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
    digest: u64,
}

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    text: &'a str,
    digest: u64,
}

/// The field that API servers maintain themselves, and that histories leave out.
const MANAGED_FIELDS: &str = "managedFields";

impl From<Value> for Object {
    fn from(value: Value) -> Self {
        split(&value.to_string()).unwrap_or_default()
    }
}

impl Object {
    pub(super) fn new(parts: Vec<Arc<Part>>) -> Self {
        Self(parts.into())
    }

    pub(super) fn part(&self, name: &str) -> Option<&Arc<Part>> {
        self.0.iter().find(|part| &*part.name == name)
    }

    /// A part as a whole: `spec`, `kind`.
    #[must_use]
    pub fn whole(&self, part: &str) -> Option<Field<'_>> {
        self.part(part).map(|part| Field { text: &part.text, digest: part.digest })
    }

    /// A field of a part: `name` of `metadata`.
    #[must_use]
    pub fn field(&self, part: &str, name: &str) -> Option<Field<'_>> {
        let part = self.part(part)?;
        let is_named = |place: &&Place| part.text.as_bytes()[place.name.clone()] == *name.as_bytes();
        part.places.iter().find(is_named).map(|place| part.at(place))
    }

    /// The fields of a part, with their names.
    pub fn fields(&self, part: &str) -> impl Iterator<Item = (&str, Field<'_>)> {
        self.part(part).into_iter().flat_map(|part| part.fields())
    }

    /// The parts, with their names.
    pub fn parts(&self) -> impl Iterator<Item = (&str, Field<'_>)> {
        self.0.iter().map(|part| (&*part.name, Field { text: &part.text, digest: part.digest }))
    }

    /// The kind of the object.
    #[must_use]
    pub fn kind(&self) -> Cow<'_, str> {
        self.whole("kind").and_then(Field::text).unwrap_or_default()
    }

    /// The text of a field; empty if the field is absent.
    #[must_use]
    pub fn text(&self, part: &str, name: &str) -> Cow<'_, str> {
        self.field(part, name).and_then(Field::text).unwrap_or_default()
    }

    /// The whole object as a JSON value.
    #[must_use]
    pub fn value(&self) -> Value {
        let mut text = Vec::new();
        let written = self.write(&mut text).is_ok();
        serde_json::from_slice(&text).ok().filter(|_| written).unwrap_or_default()
    }

    /// Writes the object as JSON, without its managed fields.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"{")?;
        for (count, part) in self.0.iter().enumerate() {
            let comma = if count == 0 { "" } else { "," };
            write!(out, "{comma}\"{}\":", part.name)?;
            part.write(out)?;
        }
        out.write_all(b"}")
    }
}

impl Part {
    pub(super) fn new(name: Arc<str>, text: &str, places: Vec<Place>) -> Self {
        let sum = |state: u64, place: &Place| digest(state, &place.digest.to_le_bytes());
        let digest = match &places[..] {
            [] => digest(OFFSET, text.as_bytes()),
            places => places.iter().fold(OFFSET, sum),
        };
        Self { name, text: text.into(), places, digest }
    }

    fn fields(&self) -> impl Iterator<Item = (&str, Field<'_>)> {
        self.places.iter().map(|place| (&self.text[place.name.clone()], self.at(place)))
    }

    fn at(&self, place: &Place) -> Field<'_> {
        Field { text: &self.text[place.value.clone()], digest: place.digest }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let is_managed = |place: &&Place| &self.text[place.name.clone()] == MANAGED_FIELDS;
        if &*self.name != "metadata" || !self.places.iter().any(|place| is_managed(&place)) {
            return out.write_all(self.text.as_bytes());
        }
        let kept = self.places.iter().filter(|place| !is_managed(place));
        let kept: Vec<_> = kept.map(|place| &self.text[place.name.start - 1..place.value.end]).collect();
        write!(out, "{{{}}}", kept.join(","))
    }
}

impl Place {
    /// The field with the name and the value at these positions of `text`.
    pub(super) fn new(text: &str, name: Range<usize>, value: Range<usize>) -> Self {
        let digest = digest(OFFSET, &text.as_bytes()[name.start..value.end]);
        Self { name, value, digest }
    }

    /// The same field, starting at another position.
    pub(super) fn moved(&self, start: usize) -> Self {
        let moved = |at: usize| at - self.name.start + start;
        let (name, value) = (&self.name, &self.value);
        Self {
            name: start..moved(name.end),
            value: moved(value.start)..moved(value.end),
            digest: self.digest,
        }
    }
}

impl<'a> Field<'a> {
    /// A digest of the field. Equal fields have equal digests.
    #[must_use]
    pub fn digest(self) -> u64 {
        self.digest
    }

    /// The value, as a JSON value of its own.
    pub fn value(self) -> Value {
        serde_json::from_str(self.text).unwrap_or_default()
    }

    /// The value.
    pub fn tree(self) -> Tree<'a> {
        Tree::read(self.text)
    }

    /// The value as it is written.
    pub fn json(self) -> &'a str {
        self.text
    }

    /// The value, if it is text.
    #[must_use]
    pub fn text(self) -> Option<Cow<'a, str>> {
        let plain = self.text.strip_prefix('"')?.strip_suffix('"')?;
        if memchr::memchr(b'\\', plain.as_bytes()).is_some() {
            return serde_json::from_str(self.text).ok().map(Cow::Owned);
        }
        Some(Cow::Borrowed(plain))
    }

    /// The value, if it is a whole number.
    #[must_use]
    pub fn number(self) -> Option<u64> {
        self.text.parse().ok()
    }

    /// Whether the value is `true`.
    #[must_use]
    pub fn is_true(self) -> bool {
        self.text == "true"
    }
}
