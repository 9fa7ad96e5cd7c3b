//! What implements, exercises and breaks each guarantee: a file that a test makes.

use capsize_report::Traces;

/// Made by `UPDATE_DOCS=1 cargo test -p capsize --test traces`.
const TRACES: &str = include_str!("../traces.json");

/// What belongs to each guarantee, by its id.
///
/// # Panics
/// Never: a test reads the file.
#[must_use]
pub fn traces() -> Traces {
    serde_json::from_str(TRACES).expect("a test reads this file")
}
