//! The code, scenarios, mutants and recordings of each guarantee, from a file that a test generates.

use capsize_report::Traces;

/// Made by `UPDATE_DOCS=1 cargo test -p capsize --test reports`.
const TRACES: &str = include_str!("../traces.json");

/// The traces of each guarantee, by its id.
///
/// # Panics
/// Never: a test reads the file.
#[must_use]
pub fn traces() -> Traces {
    serde_json::from_str(TRACES).expect("a test reads this file")
}
