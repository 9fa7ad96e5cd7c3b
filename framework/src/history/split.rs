//! Takes the text of an object apart, and does not look at what is the same as in an earlier version.
//!
//! Only text as programs usually write it: of an object that has a name twice, or a name in other letters than it needs,
//! it makes nothing, and leaves it to whoever reads trees.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::object::{Object, Part, Place};

/// The object that is all of `text`.
pub(super) fn split(text: &str) -> Option<Object> {
    let mut cursor = Cursor::new(text);
    let object = cursor.object(|_| None)?;
    cursor.is_at_end().then_some(object)
}

/// A place in a JSON text, which moves on. Every step answers with `None` where the text is not the usual.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the start of `text`.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Whether there is nothing more.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    /// All that is still to come.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The name that is there.
    pub(super) fn named(&self, name: Range<usize>) -> &'a str {
        &self.text[name]
    }

    /// The object here. What `before` says of a part by name is likely to be the same here, or nearly so.
    pub(super) fn object<'p>(&mut self, before: impl Fn(&str) -> Option<&'p Arc<Part>>) -> Option<Object> {
        let mut parts: Vec<Arc<Part>> = Vec::with_capacity(5);
        self.fields(|cursor, name| {
            let name = cursor.named(name);
            let is_new = !parts.iter().any(|part| &*part.name == name);
            parts.push(cursor.part(name, before(name))?);
            is_new.then_some(())
        })?;
        Some(Object::new(parts))
    }

    fn part(&mut self, name: &str, before: Option<&Arc<Part>>) -> Option<Arc<Part>> {
        self.skip_space();
        if let Some(same) = before.filter(|before| self.is_at(&before.text)) {
            self.at += same.text.len();
            return Some(Arc::clone(same));
        }
        let (start, mut places) = (self.at, Vec::new());
        if !self.rest().starts_with('{') {
            self.value()?;
            return Some(Arc::new(Part::new(name, &self.text[start..self.at], places)));
        }
        self.fields(|cursor, name| {
            let place = match before.and_then(|part| cursor.same_place(part, places.len(), &name)) {
                Some(place) => place.moved(name.start - start),
                None => {
                    let value = cursor.value()?;
                    let within = |range: Range<usize>| range.start - start..range.end - start;
                    Place::new(&cursor.text[start..cursor.at], within(name), within(value))
                }
            };
            cursor.at = start + place.value.end;
            places.push(place);
            Some(())
        })?;
        let text = &self.text[start..self.at];
        is_without_doubles(text, &places).then(|| Arc::new(Part::new(name, text, places)))
    }

    /// The field of `part` that has this name, if it is the same. It is likely to be the `next`.
    fn same_place<'p>(&self, part: &'p Part, next: usize, name: &Range<usize>) -> Option<&'p Place> {
        let named = |place: &&Place| part.text[place.name.clone()] == self.text[name.clone()];
        let place = part.places.get(next).filter(named).or_else(|| part.places.iter().find(named))?;
        let here = Self { text: self.text, at: name.start };
        here.is_at(&part.text[place.name.start..place.value.end]).then_some(place)
    }

    /// Walks through the fields of the object here; `each` is given where a name is, and moves on behind the value.
    pub(super) fn fields(
        &mut self,
        mut each: impl FnMut(&mut Self, Range<usize>) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        if self.take(b'}').is_some() {
            return Some(());
        }
        loop {
            let name = self.name()?;
            self.take(b':')?;
            each(self, name)?;
            if self.take(b',').is_none() {
                return self.take(b'}');
            }
        }
    }

    /// The text here, if it is plain: without anything that would be written otherwise in JSON.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        let length = self.rest().bytes().position(|byte| matches!(byte, b'"' | b'\\' | ..b' '))?;
        let word = &self.rest()[..length];
        self.at += length;
        self.take(b'"').map(|()| word)
    }

    /// The name here, without its quotes.
    fn name(&mut self) -> Option<Range<usize>> {
        self.take(b'"')?;
        let start = self.at;
        let length = self.rest().bytes().position(|byte| matches!(byte, b'"' | b'\\' | ..b' '))?;
        self.at += length;
        if self.rest().starts_with('"') {
            self.at += 1;
            return Some(start..self.at - 1);
        }
        self.at = start - 1;
        let quoted = &self.text[self.value()?];
        let name: String = serde_json::from_str(quoted).ok()?;
        (serde_json::to_string(&name).ok()? == quoted).then_some(start..self.at - 1)
    }

    /// Where the value here is.
    pub(super) fn value(&mut self) -> Option<Range<usize>> {
        self.skip_space();
        let start = self.at;
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<Checked>();
        values.next()?.ok()?;
        self.at += values.byte_offset();
        Some(start..self.at)
    }

    /// The value here.
    pub(super) fn read<T: Deserialize<'a>>(&mut self) -> Option<T> {
        let value = self.value()?;
        serde_json::from_str(&self.text[value]).ok()
    }

    /// Whether `value`, or a field that ends in it, is here.
    fn is_at(&self, value: &str) -> bool {
        self.rest().strip_prefix(value).is_some_and(|rest| {
            // Only a number may go on.
            value.ends_with(['}', ']', '"'])
                || !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.')
        })
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        (self.text.as_bytes().get(self.at) == Some(&byte)).then(|| self.at += 1)
    }

    fn skip_space(&mut self) {
        let rest = self.text[self.at..].bytes();
        self.at += rest.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }
}

fn is_without_doubles(text: &str, places: &[Place]) -> bool {
    let name = |place: &Place| &text[place.name.clone()];
    let is_sorted = places.windows(2).all(|pair| name(&pair[0]) < name(&pair[1]));
    is_sorted
        || places
            .iter()
            .enumerate()
            .all(|(count, one)| !places[..count].iter().any(|other| name(one) == name(other)))
}

/// Any value that a tree could hold, and nothing of it kept.
struct Checked;

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Checked {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self, A::Error> {
        while fields.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}
