//! Splits the text of an object, and skips the parts that are the same as in an earlier version.
//!
//! The module accepts only text as programs usually write it. It rejects an object with a repeated name, or
//! with escapes in a name, and leaves the object to the JSON parser.

use std::ops::Range;
use std::sync::Arc;

use super::cursor::Cursor;
use super::object::{Object, Part, Place};

/// The object in `text`, which must be nothing else.
pub(super) fn split(text: &str) -> Option<Object> {
    let mut cursor = Cursor::new(text);
    let object = cursor.object(|_| [None; 2])?;
    cursor.is_at_end().then_some(object)
}

impl Cursor<'_> {
    /// The object here.
    /// `before` returns the two parts with a name that are probably similar; the first is the more likely one.
    pub(super) fn object<'p>(
        &mut self,
        before: impl Fn(&str) -> [Option<&'p Arc<Part>>; 2],
    ) -> Option<Object> {
        let mut parts: Vec<Arc<Part>> = Vec::with_capacity(5);
        self.fields(|cursor, name| {
            let name = cursor.named(name);
            let is_new = !parts.iter().any(|part| &*part.name == name);
            parts.push(cursor.part(name, before(name))?);
            is_new.then_some(())
        })?;
        Some(Object::new(parts))
    }

    fn part(&mut self, name: &str, likely: [Option<&Arc<Part>>; 2]) -> Option<Arc<Part>> {
        let before = likely[0].or(likely[1]);
        let called = || before.map_or_else(|| name.into(), |before| Arc::clone(&before.name));
        self.skip_space();
        let start = self.place();
        let same = before.map_or(0, |before| common(self.rest().as_bytes(), before.text.as_bytes()));
        if let Some(before) = before.filter(|before| same == before.text.len() && self.is_at(&before.text)) {
            self.jump(start + same);
            return Some(Arc::clone(before));
        }
        if !self.rest().starts_with('{') {
            let value = self.value()?;
            return Some(Arc::new(Part::new(called(), self.named(value), Vec::new())));
        }
        let known = before.map_or(&[][..], |before| &before.places[..]);
        // If a field and the text after it are the same, all fields before it are the same.
        let passed = known.partition_point(|place| place.value.end < same);
        let mut places = Vec::with_capacity(known.len() + 1);
        places.extend_from_slice(&known[..passed]);
        let behind = places.last().map(|last: &Place| start + last.value.end);
        let each = |cursor: &mut Self, name: Range<usize>| {
            let next = places.len();
            let same = likely.iter().flatten().find_map(|part| cursor.same_place(part, next, &name));
            let place = match same {
                Some(place) => place.moved(name.start - start),
                None => {
                    let value = cursor.value()?;
                    let within = |range: Range<usize>| range.start - start..range.end - start;
                    Place::new(cursor.named(start..value.end), within(name), within(value))
                }
            };
            cursor.jump(start + place.value.end);
            places.push(place);
            Some(())
        };
        match behind {
            Some(behind) => {
                self.jump(behind);
                self.more_fields(each)?;
            }
            None => self.fields(each)?,
        }
        let text = self.named(start..self.place());
        is_without_doubles(text, &places).then(|| Arc::new(Part::new(called(), text, places)))
    }

    /// The field of `part` with this name, if it is the same here. It is probably the field at `next`.
    fn same_place<'p>(&self, part: &'p Part, next: usize, name: &Range<usize>) -> Option<&'p Place> {
        let named = |place: &&Place| part.text[place.name.clone()] == *self.named(name.clone());
        let place = part.places.get(next).filter(named).or_else(|| part.places.iter().find(named))?;
        let here = self.at(name.start);
        here.is_at(&part.text[place.name.start..place.value.end]).then_some(place)
    }

    /// Whether `value`, or a field that ends in it, is here.
    fn is_at(&self, value: &str) -> bool {
        self.rest().strip_prefix(value).is_some_and(|rest| {
            // Only a number may continue.
            value.ends_with(['}', ']', '"'])
                || !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.')
        })
    }
}

/// The length of the common start of both.
fn common(one: &[u8], other: &[u8]) -> usize {
    const AT_ONCE: usize = 32;
    let pairs = one.as_chunks::<AT_ONCE>().0.iter().zip(other.as_chunks::<AT_ONCE>().0);
    let same = pairs.take_while(|(one, other)| one == other).count() * AT_ONCE;
    let rest = one[same..].iter().zip(&other[same..]);
    same + rest.take_while(|(one, other)| one == other).count()
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
