//! The counters of the server in the text format of Prometheus: requests, and stored objects.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use http::{Method, StatusCode};

use crate::store::Store;

/// The counters of one server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// The number of requests by verb and status code.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
}

/// The verb by which a request is counted.
fn verb(method: &Method, watches: bool) -> &'static str {
    match method.as_str() {
        "GET" if watches => "WATCH",
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        _ => "other",
    }
}

impl Metrics {
    /// Counts an answered request.
    pub(crate) fn answered(&self, method: &Method, watches: bool, code: StatusCode) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((verb(method, watches), code.as_u16())).or_default() += 1;
    }

    /// All counters as text.
    pub(crate) fn text(&self, store: &Store) -> String {
        let mut text = "# HELP apiserver_request_total Requests that were answered, by verb and code.\n\
                        # TYPE apiserver_request_total counter\n"
            .to_owned();
        for ((verb, code), count) in &*self.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(text, "apiserver_request_total{{code=\"{code}\",verb=\"{verb}\"}} {count}");
        }
        text += "# HELP apiserver_storage_objects Objects that are kept, by resource.\n\
                 # TYPE apiserver_storage_objects gauge\n";
        for (resource, table) in store.tables() {
            let _ = writeln!(
                text,
                "apiserver_storage_objects{{resource=\"{resource}\"}} {}",
                table.range("").count()
            );
        }
        text
    }
}
