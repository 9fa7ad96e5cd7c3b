//! The definition of a column, and of the printer of a kind.

use jiff::Timestamp;
use serde_json::{Value, json};

/// The name of a column and the type of its cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub name: &'static str,
    /// A type of OpenAPI, or `date`.
    pub kind: &'static str,
    pub format: &'static str,
    pub description: &'static str,
    /// 0 means that the column is always shown; higher numbers are shown in wide tables only.
    pub priority: u8,
}

impl Column {
    /// The definition of the column in a table.
    pub(super) fn definition(&self) -> Value {
        json!({"name": self.name, "type": self.kind, "format": self.format,
            "description": self.description, "priority": self.priority})
    }
}

pub(super) const fn text(name: &'static str, description: &'static str) -> Column {
    Column { name, kind: "string", format: "", description, priority: 0 }
}

pub(super) const fn integer(name: &'static str, description: &'static str) -> Column {
    Column { kind: "integer", ..text(name, description) }
}

pub(super) const fn boolean(name: &'static str, description: &'static str) -> Column {
    Column { kind: "boolean", ..text(name, description) }
}

/// A column that is shown in wide tables only.
pub(super) const fn wide(column: Column) -> Column {
    Column { priority: 1, ..column }
}

/// The name of the object.
pub(super) const NAME: Column =
    Column { format: "name", ..text("Name", "The name, unique within a namespace.") };
/// The time since the object was created.
pub(super) const AGE: Column = text("Age", "The time since the object was created.");
pub(super) const CONTAINERS: Column = wide(text("Containers", "The names of the containers."));
pub(super) const IMAGES: Column = wide(text("Images", "The images of the containers."));
pub(super) const SELECTOR: Column = wide(text("Selector", "The labels of the pods that the object selects."));

/// The columns of a kind, and the function for its cells.
pub(super) struct Printer {
    pub columns: &'static [Column],
    /// The cells of an object at that time, one per column.
    pub cells: fn(&Value, Timestamp) -> Vec<Value>,
}

/// The printer of kinds without columns of their own.
pub(super) static DEFAULT: Printer = Printer {
    columns: &[
        NAME,
        Column { kind: "date", ..text("Created At", "The time at which the object was created.") },
    ],
    cells: |object, _| {
        vec![object["metadata"]["name"].clone(), object["metadata"]["creationTimestamp"].clone()]
    },
};
