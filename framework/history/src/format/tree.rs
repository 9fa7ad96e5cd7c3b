//! A JSON value as a tree that borrows from its text, because much is read and little is kept.

use std::borrow::Cow;
use std::fmt;
use std::ops::Index;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// A JSON value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Tree<'a> {
    /// Null, also for absent values.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<Tree<'a>>),
    /// An object: its fields in the order of the text, each name once.
    Fields(Vec<(Cow<'a, str>, Tree<'a>)>),
}

impl<'a> Tree<'a> {
    /// The value in `text`; null if the text is not JSON.
    pub fn read(text: &'a str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// The field with this name, if it exists.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.fields().iter().find(|(each, _)| each == name).map(|(_, value)| value)
    }

    /// All fields; empty if the value is no object.
    pub fn fields(&self) -> &[(Cow<'a, str>, Self)] {
        if let Self::Fields(fields) = self { fields } else { &[] }
    }

    /// All items; empty if the value is no list.
    pub fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    /// The text, if the value is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The text; empty if the value is none.
    pub fn text(&self) -> &str {
        self.as_str().unwrap_or_default()
    }

    /// The number, if the value is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// The number, if the value is a whole number and not negative.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The number, if the value is a whole number.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The boolean, if the value is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(is) = self { Some(*is) } else { None }
    }

    /// Whether the value is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether the value is a list.
    pub fn is_list(&self) -> bool {
        matches!(self, Self::List(_))
    }
}

impl<'a> Index<&str> for Tree<'a> {
    type Output = Tree<'a>;

    fn index(&self, name: &str) -> &Self {
        self.get(name).unwrap_or(&Tree::Null)
    }
}

impl PartialEq<&str> for Tree<'_> {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == Some(text)
    }
}

impl PartialEq<bool> for Tree<'_> {
    fn eq(&self, is: &bool) -> bool {
        self.as_bool() == Some(*is)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Tree<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

/// A visitor that accepts any value.
struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Tree<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, is: bool) -> Result<Self::Value, E> {
        Ok(Tree::Bool(is))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Tree::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Tree::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(number).map_or(Tree::Null, Tree::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Borrowed(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut fields: Vec<(Cow<'de, str>, Tree<'de>)> = Vec::new();
        let mut is_sorted = true;
        while let Some((name, value)) = access.next_entry::<Tree<'de>, Tree<'de>>()? {
            let Tree::Text(name) = name else { continue };
            is_sorted = is_sorted && fields.last().is_none_or(|(last, _)| *last < name);
            // The last of two fields with the same name counts.
            match fields.iter_mut().find(|(each, _)| !is_sorted && *each == name) {
                Some((_, known)) => *known = value,
                None => fields.push((name, value)),
            }
        }
        Ok(Tree::Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_says_what_its_text_says() {
        let tree = Tree::read(r#"{"b":[1,-2,2.5,true,null],"a":"x","c\n":"d\n"}"#);
        assert_eq!(tree["a"], "x");
        assert_eq!(tree["c\n"], "d\n");
        let [one, two, more, yes, nothing] = tree["b"].items() else { panic!("{tree:?}") };
        assert_eq!(
            (one.as_u64(), two.as_u64(), two.as_i64(), more.as_i64()),
            (Some(1), None, Some(-2), None)
        );
        assert!(*yes == true && nothing.is_null() && tree["b"].is_list());
        assert!(tree["d"]["e"].is_null() && tree.get("d").is_none());
        assert!(Tree::read("{").is_null());
    }

    #[test]
    fn of_a_field_that_is_there_twice_the_last_counts() {
        let tree = Tree::read(r#"{"a":1,"b":2,"a":3,"b":4,"c":5}"#);
        assert_eq!(tree.fields().len(), 3);
        assert_eq!(["a", "b", "c"].map(|name| tree[name].as_u64()), [3, 4, 5].map(Some));
    }
}
