//! The documents of aggregated discovery, kept until the kinds change.

use std::collections::BTreeMap;
use std::sync::Mutex;

use bytes::Bytes;

/// The documents as they have been asked for: whether of the core group, and in which version.
pub(crate) type Documents = Mutex<BTreeMap<(bool, &'static str), Document>>;

/// A document, and by what tag it goes.
#[derive(Debug)]
pub(crate) struct Document {
    pub(super) text: Bytes,
    pub(super) tag: String,
}
