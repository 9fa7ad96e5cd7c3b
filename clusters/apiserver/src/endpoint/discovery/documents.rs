//! The documents of aggregated discovery, cached until the kinds change.

use std::collections::BTreeMap;
use std::sync::Mutex;

use bytes::Bytes;

/// The cached documents. The key is whether the document is for the core group, and its version.
pub(crate) type Documents = Mutex<BTreeMap<(bool, &'static str), Document>>;

/// A document and its entity tag.
#[derive(Debug)]
pub(crate) struct Document {
    pub(super) text: Bytes,
    pub(super) tag: String,
}
