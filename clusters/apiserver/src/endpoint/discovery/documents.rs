//! The documents of aggregated discovery, cached until the kinds change.

use std::collections::BTreeMap;
use std::sync::Mutex;

use bytes::Bytes;

/// The requested documents, by whether they are of the core group, and by version.
pub(crate) type Documents = Mutex<BTreeMap<(bool, &'static str), Document>>;

/// A document and its entity tag.
#[derive(Debug)]
pub(crate) struct Document {
    pub(super) text: Bytes,
    pub(super) tag: String,
}
