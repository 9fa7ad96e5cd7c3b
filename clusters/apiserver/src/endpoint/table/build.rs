//! Builds a table: the columns, and one row per object.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::column::Printer;
use super::custom::{self, CustomColumn};
use super::pod::row_conditions;
use super::printers::printer;
use super::workload::SCALES;
use crate::http::failure::Failure;
use crate::kind::kinds::Kind;
use crate::kind::object::metadata_only;

/// The part of an object that a row contains besides its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    /// Reads the query parameter.
    ///
    /// # Errors
    /// A bad request if the parameter has another value.
    pub(crate) fn read(value: &str) -> Result<Self, Failure> {
        match value {
            "None" => Ok(Self::Nothing),
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            other => Err(Failure::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', \
                 'Object', 'None', or empty"
            ))),
        }
    }
}

/// The way in which cells are made.
enum Cells {
    BuiltIn(&'static Printer),
    Custom(Vec<CustomColumn>),
}

/// Makes tables of the objects of one kind.
pub(crate) struct Tables {
    columns: Vec<Value>,
    cells: Cells,
    include: Include,
    /// The version of `meta.k8s.io` that the client reads.
    version: &'static str,
    is_pods: bool,
    kind: String,
    api_version: String,
}

impl Tables {
    /// Tables for objects of `kind`, or for their scales.
    /// The columns of a custom kind come from its definition.
    pub(crate) fn new(
        kind: &Kind,
        definition: Option<&Value>,
        of_scales: bool,
        version: &'static str,
        include: Include,
    ) -> Self {
        let (columns, cells) = if kind.is_custom() && !of_scales {
            let (columns, cells) = custom::columns(definition, &kind.version);
            (columns, Cells::Custom(cells))
        } else {
            let printer = if of_scales { &SCALES } else { printer(&kind.group, &kind.plural) };
            (printer.columns.iter().map(super::column::Column::definition).collect(), Cells::BuiltIn(printer))
        };
        let (kind_name, api_version) = match of_scales {
            true => ("Scale".to_owned(), "autoscaling/v1".to_owned()),
            false => (kind.kind.to_string(), kind.api_version()),
        };
        let is_pods = kind.is_core("pods");
        Self { columns, cells, include, version, is_pods, kind: kind_name, api_version }
    }

    /// The table of a list or of one object. Only the first event of a watch has columns.
    pub(crate) fn table(&self, shown: &Value, now: Timestamp, with_columns: bool) -> Value {
        let rows = match shown["items"].as_array() {
            Some(items) => items.iter().map(|item| self.row(item, now)).collect(),
            None => vec![self.row(shown, now)],
        };
        self.with_rows(&shown["metadata"], rows, with_columns)
    }

    /// A table that has only a resource version.
    pub(crate) fn bookmark(&self, metadata: &Value, with_columns: bool) -> Value {
        self.with_rows(metadata, Vec::new(), with_columns)
    }

    fn with_rows(&self, metadata: &Value, rows: Vec<Value>, with_columns: bool) -> Value {
        let mut kept = Map::new();
        for field in ["resourceVersion", "continue", "remainingItemCount"] {
            if let Some(value) = metadata.get(field) {
                kept.insert(field.to_owned(), value.clone());
            }
        }
        let columns = if with_columns { Value::Array(self.columns.clone()) } else { Value::Null };
        json!({"kind": "Table", "apiVersion": format!("meta.k8s.io/{}", self.version), "metadata": kept,
            "columnDefinitions": columns, "rows": rows})
    }

    fn row(&self, object: &Value, now: Timestamp) -> Value {
        let cells = match &self.cells {
            Cells::BuiltIn(printer) => (printer.cells)(object, now),
            Cells::Custom(columns) => custom::cells(columns, object, now),
        };
        let carried = match self.include {
            Include::Nothing => Value::Null,
            Include::Metadata => metadata_only(object, self.version),
            Include::Object => {
                let mut whole = object.clone();
                whole["kind"] = self.kind.as_str().into();
                whole["apiVersion"] = self.api_version.as_str().into();
                whole
            }
        };
        let mut row = json!({"cells": cells, "object": carried});
        if let Some(conditions) = row_conditions(object).filter(|_| self.is_pods) {
            row["conditions"] = conditions;
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::builtin::BUILTIN;

    #[test]
    fn every_built_in_kind_has_as_many_cells_as_columns() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        for kind in BUILTIN.iter() {
            let tables = Tables::new(kind, None, false, "v1", Include::Nothing);
            let table = tables.table(&json!({"metadata": {"name": "a"}}), now, true);
            let cells = table["rows"][0]["cells"].as_array().unwrap().len();
            assert_eq!(table["columnDefinitions"].as_array().unwrap().len(), cells, "{}", kind.plural);
        }
    }
}
