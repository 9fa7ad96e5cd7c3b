//! The table of types, parsed once from two texts: `go.txt` and `newer.txt`.
//!
//! `scripts/go-types.py` prints `go.txt`.
//!
//! A line without indentation names a type: a struct whose fields follow, or `alias = type`. The line of a field has
//! its number in protobuf (0 if protobuf does not have the field), its name in JSON (`.` for an inlined struct), its
//! type in Go, and `?` if JSON omits an empty value.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The form of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Bool,
    Int32,
    Int64,
    Float,
    Text,
    Bytes,
    List(Box<Type>),
    /// A list with a type name. Protobuf writes it as a message with one field.
    Wrapped(Box<Type>),
    Map(Box<Type>),
    /// The index of a struct in the table.
    Struct(usize),
    /// A type with its own reader and writer.
    Own(Own),
}

/// The types with their own readers and writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    Quantity,
    Time,
    MicroTime,
    Duration,
    IntOrString,
    /// `FieldsV1`, `RawExtension` or `JSON`: any JSON value.
    Raw,
    SchemaOrArray,
    SchemaOrBool,
    SchemaOrStrings,
}

/// A type: its shape, and its name in Go.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Type {
    pub shape: Shape,
    /// The name as in the table, with the paths of packages.
    pub go: &'static str,
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub number: u32,
    /// Empty if the type is inlined in the struct.
    pub name: &'static str,
    pub of: Type,
    /// An absent value differs from an empty value.
    pub pointer: bool,
    pub omit_empty: bool,
}

/// A struct.
#[derive(Debug)]
pub(crate) struct Struct {
    /// The name with the path of its package.
    pub name: &'static str,
    pub fields: Vec<Field>,
    /// The fields by name, sorted: the struct that has the field, and the index in that struct.
    names: Vec<(&'static str, usize, usize)>,
    /// The index of each field by number, sorted.
    numbers: Vec<(u32, usize)>,
}

impl Struct {
    /// The field with the JSON name `name`, in this struct or in an inlined struct.
    pub(crate) fn named(&self, name: &str) -> Option<&'static Field> {
        let at = self.names.binary_search_by_key(&name, |(name, ..)| name).ok()?;
        let (_, owner, field) = self.names[at];
        Some(&TABLE.structs[owner].fields[field])
    }

    /// The index of the field with the protobuf number `number`.
    pub(crate) fn numbered(&self, number: u32) -> Option<usize> {
        let at = self.numbers.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(self.numbers[at].1)
    }

    /// The name without the path of the package, as in messages of Go.
    pub(crate) fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}

/// The name of a type in messages of Go, without the paths of packages.
pub(crate) fn in_messages(go: &str) -> String {
    let mut shown = String::with_capacity(go.len());
    for part in go.split_inclusive('/') {
        match part.strip_suffix('/') {
            Some(path) => shown.push_str(path.trim_end_matches(|c: char| c.is_ascii_alphanumeric())),
            None => shown.push_str(part),
        }
    }
    shown
}

/// The struct of a kind; `None` if the table does not have it.
pub(crate) fn find(group: &str, version: &str, kind: &str) -> Option<&'static Struct> {
    // The name of the package is the first part of the group.
    let package = match group.split('.').next().unwrap_or_default() {
        "" => "core",
        first => first,
    };
    let wanted = format!("{package}/{version}.{kind}");
    let at = TABLE.structs.binary_search_by_key(&wanted.as_str(), |found| found.name).ok()?;
    Some(&TABLE.structs[at])
}

/// The struct at the index in a [`Shape`].
pub(crate) fn at(index: usize) -> &'static Struct {
    &TABLE.structs[index]
}

/// The struct of the schemas in definitions.
pub(crate) fn schema() -> &'static Struct {
    at(TABLE.schema)
}

struct Table {
    /// Sorted by name.
    structs: Vec<Struct>,
    schema: usize,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut text = Text::default();
    text.read(include_str!("go.txt"));
    text.read(include_str!("newer.txt"));
    let names: Vec<&'static str> = text.structs.keys().copied().collect();
    let field = |line: &'static str| text.field(line, &names);
    let mut structs: Vec<Struct> = text
        .structs
        .iter()
        .map(|(name, lines)| {
            let fields: Vec<Field> = lines.iter().map(|line| field(line)).collect();
            let numbered = fields.iter().enumerate().filter(|(_, field)| field.number > 0);
            let mut numbers: Vec<_> = numbered.map(|(index, field)| (field.number, index)).collect();
            numbers.sort_unstable();
            Struct { name, fields, names: Vec::new(), numbers }
        })
        .collect();
    for index in 0..structs.len() {
        let mut found = Vec::new();
        collect_names(&structs, index, &mut found);
        found.sort_unstable();
        structs[index].names = found;
    }
    let schema = names.binary_search(&"apiextensions/v1.JSONSchemaProps").expect("it is in the table");
    Table { structs, schema }
});

/// Collects the names of the fields of a struct, including those of inlined structs.
fn collect_names(structs: &[Struct], owner: usize, found: &mut Vec<(&'static str, usize, usize)>) {
    for (index, field) in structs[owner].fields.iter().enumerate() {
        match (&field.of.shape, field.name) {
            (Shape::Struct(inlined), "") => collect_names(structs, *inlined, found),
            (_, name) => found.push((name, owner, index)),
        }
    }
}

/// The lines of the table, grouped by type.
#[derive(Default)]
struct Text {
    structs: BTreeMap<&'static str, Vec<&'static str>>,
    aliases: BTreeMap<&'static str, &'static str>,
}

impl Text {
    fn read(&mut self, text: &'static str) {
        let mut current = "";
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(field) = line.strip_prefix(' ') {
                self.structs.entry(current).or_default().push(field);
            } else if let Some((name, of)) = line.split_once(" = ") {
                self.aliases.insert(name, of);
            } else {
                current = line;
                self.structs.entry(current).or_default();
            }
        }
    }

    fn field(&self, line: &'static str, structs: &[&'static str]) -> Field {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (number, name, go) = (word(), word(), word());
        let pointee = go.strip_prefix('*');
        Field {
            number: number.parse().expect("a field begins with its number"),
            name: if name == "." { "" } else { name },
            of: self.read_type(pointee.unwrap_or(go), structs),
            pointer: pointee.is_some(),
            omit_empty: word() == "?",
        }
    }

    fn read_type(&self, go: &'static str, structs: &[&'static str]) -> Type {
        let below = |go| Box::new(self.read_type(go, structs));
        let shape = match go {
            "bool" => Shape::Bool,
            "int32" => Shape::Int32,
            "int64" => Shape::Int64,
            "float64" => Shape::Float,
            "string" | "types.UID" => Shape::Text,
            "[]uint8" => Shape::Bytes,
            "resource.Quantity" => Shape::Own(Own::Quantity),
            "meta/v1.Time" => Shape::Own(Own::Time),
            "meta/v1.MicroTime" => Shape::Own(Own::MicroTime),
            "meta/v1.Duration" => Shape::Own(Own::Duration),
            "intstr.IntOrString" => Shape::Own(Own::IntOrString),
            "meta/v1.FieldsV1" | "runtime.RawExtension" | "apiextensions/v1.JSON" => Shape::Own(Own::Raw),
            "apiextensions/v1.JSONSchemaPropsOrArray" => Shape::Own(Own::SchemaOrArray),
            "apiextensions/v1.JSONSchemaPropsOrBool" => Shape::Own(Own::SchemaOrBool),
            "apiextensions/v1.JSONSchemaPropsOrStringArray" => Shape::Own(Own::SchemaOrStrings),
            _ if go.starts_with("[]") => Shape::List(below(&go[2..])),
            _ if go.starts_with("map[") => {
                let (_, value) = go.split_once(']').expect("the key of a map ends");
                Shape::Map(below(value))
            }
            _ => match (self.aliases.get(go), structs.binary_search(&go)) {
                (Some(of), _) => match self.read_type(of, structs).shape {
                    Shape::List(items) => Shape::Wrapped(items),
                    shape => shape,
                },
                (None, Ok(index)) => Shape::Struct(index),
                (None, Err(_)) => unreachable!("the table has every type that it names: {go}"),
            },
        };
        Type { shape, go }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::BUILTIN;

    #[test]
    fn every_built_in_kind_has_a_type() {
        for kind in BUILTIN.iter() {
            assert!(find(&kind.group, &kind.version, &kind.kind).is_some(), "{}", kind.kind);
        }
        for (group, version, kind) in [("meta", "v1", "DeleteOptions"), ("policy", "v1beta1", "Eviction")] {
            assert!(find(group, version, kind).is_some(), "{kind}");
        }
        assert!(find("apps", "v1", "Pod").is_none());
    }

    #[test]
    fn no_struct_has_a_name_or_a_number_twice() {
        for found in &TABLE.structs {
            let twice = |sorted: &[(u32, usize)]| sorted.windows(2).any(|pair| pair[0].0 == pair[1].0);
            assert!(!twice(&found.numbers), "{}", found.name);
            assert!(!found.names.windows(2).any(|pair| pair[0].0 == pair[1].0), "{}", found.name);
        }
    }

    #[test]
    fn inlined_fields_are_found_by_name_and_not_by_number() {
        let volume = find("", "v1", "Volume").unwrap();
        assert_eq!(volume.named("emptyDir").unwrap().number, 2);
        assert_eq!(volume.fields[volume.numbered(2).unwrap()].name, "");
    }

    #[test]
    fn messages_name_types_without_their_packages_paths() {
        assert_eq!(in_messages("[]core/v1.Container"), "[]v1.Container");
        assert_eq!(
            in_messages("map[core/v1.ResourceName]resource.Quantity"),
            "map[v1.ResourceName]resource.Quantity"
        );
        assert_eq!(in_messages("int32"), "int32");
    }
}
