//! Reads the entries of an audit log: which object a request wrote, and when.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::documents::ImportedEvent;
use super::times::audited_at;
use capsize_history::{EventType, LONGEST};

/// The objects that the audit log wrote so far, by their reference.
#[derive(Default)]
pub(super) struct Audit {
    latest: BTreeMap<String, Value>,
}

impl Audit {
    /// The write that an entry of an audit log is about, or why it is about none.
    pub(super) fn read(&mut self, entry: &Value) -> Result<ImportedEvent, &'static str> {
        if entry["stage"] != "ResponseComplete" {
            return Err("stages of requests before their end");
        }
        let code = entry.pointer("/responseStatus/code").and_then(Value::as_u64);
        if !code.is_none_or(|code| (200..300).contains(&code)) {
            return Err("requests that failed");
        }
        let reference = &entry["objectRef"];
        if !matches!(reference["subresource"].as_str(), None | Some("status")) {
            return Err("requests of subresources other than the status");
        }
        let verb = entry["verb"].as_str().unwrap_or_default();
        if !["create", "update", "patch", "delete"].contains(&verb) {
            return Err("requests that write no single object");
        }
        let (event, object) = self.written(verb, reference, entry)?;
        let (at, began) =
            (audited_at(entry, "stageTimestamp"), audited_at(entry, "requestReceivedTimestamp"));
        let latency = at.zip(began).map_or(LONGEST, |(at, began)| between(began, at));
        Ok(ImportedEvent { event, object, at, latency })
    }

    /// The event of a write, and the object after it.
    fn written(
        &mut self,
        verb: &str,
        reference: &Value,
        entry: &Value,
    ) -> Result<(EventType, Value), &'static str> {
        let name =
            |object: &Value| object.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
        let response = Some(&entry["responseObject"]).filter(|object| name(object).is_some());
        let of_request = Some(&entry["requestObject"]).filter(|_| ["create", "update"].contains(&verb));
        let known = response.or(of_request.filter(|object| name(object).is_some())).cloned();
        let key = |name: &str| {
            let field = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} {name}", field("apiGroup"), field("resource"), field("namespace"))
        };
        let named = reference["name"].as_str().map(str::to_owned);
        // A create may leave the name to the server.
        let named = named
            .or_else(|| known.as_ref().and_then(name))
            .ok_or("requests without the name of an object")?;
        let key = key(&named);
        if verb == "delete" && known.as_ref().is_none_or(|object| !lingers(object)) {
            let last = self.latest.remove(&key).or(known);
            let last = last.ok_or("deletions of objects that the log does not show before")?;
            return Ok((EventType::Deleted, last));
        }
        let object = known.ok_or("patches without a response (audit them at the level RequestResponse)")?;
        if verb != "create" && is_over(&object) {
            self.latest.remove(&key);
            return Ok((EventType::Deleted, object));
        }
        let is_new = self.latest.insert(key, object.clone()).is_none();
        let event = if verb == "create" || is_new { EventType::Added } else { EventType::Modified };
        Ok((event, object))
    }
}

/// Returns true if a deleted object is still there, because of its finalizers or its grace period.
fn lingers(object: &Value) -> bool {
    let metadata = &object["metadata"];
    metadata.get("deletionTimestamp").is_some() && !is_over(object)
}

/// Returns true if the deletion of an object is over with this version.
fn is_over(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let is_free = metadata["finalizers"].as_array().is_none_or(Vec::is_empty);
    let grace = metadata["deletionGracePeriodSeconds"].as_u64().unwrap_or_default();
    metadata.get("deletionTimestamp").is_some() && is_free && grace == 0
}

fn between(began: Timestamp, ended: Timestamp) -> Duration {
    Duration::try_from(ended.duration_since(began)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(verb: &str, response: Value) -> Value {
        json!({
            "stage": "ResponseComplete",
            "verb": verb,
            "requestReceivedTimestamp": "2026-01-01T00:00:05.100000Z",
            "stageTimestamp": "2026-01-01T00:00:05.350000Z",
            "responseStatus": {"code": 200},
            "objectRef": {"resource": "pods", "namespace": "d", "name": "p"},
            "responseObject": response,
        })
    }

    fn pod(version: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "d", "resourceVersion": version}})
    }

    #[test]
    fn a_write_happened_between_the_request_and_its_response() {
        let write = Audit::default().read(&entry("create", pod("1"))).unwrap();
        assert_eq!(write.latency, Duration::from_millis(250));
        assert_eq!(write.at, Some("2026-01-01T00:00:05.35Z".parse().unwrap()));
    }

    #[test]
    fn a_deletion_ends_with_the_last_finalizer() {
        let mut audit = Audit::default();
        let mut leaving = pod("2");
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:05Z");
        leaving["metadata"]["finalizers"] = json!(["a/b"]);
        let mut over = leaving.clone();
        over["metadata"]["finalizers"] = json!([]);
        let success = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
        let rows = [
            ("create", pod("1"), EventType::Added),
            ("delete", leaving, EventType::Modified),
            ("update", over, EventType::Deleted),
            ("create", pod("4"), EventType::Added),
            ("delete", success, EventType::Deleted),
        ];
        for (verb, response, expected) in rows {
            let write = audit.read(&entry(verb, response)).unwrap();
            assert_eq!((write.event, &write.object["kind"]), (expected, &json!("Pod")), "{verb}");
        }
    }

    #[test]
    fn requests_without_an_object_are_left_out_with_the_reason() {
        let mut audit = Audit::default();
        let mut failed = entry("create", pod("1"));
        failed["responseStatus"]["code"] = json!(409);
        let mut early = entry("create", pod("1"));
        early["stage"] = json!("RequestReceived");
        let mut scale = entry("update", pod("1"));
        scale["objectRef"]["subresource"] = json!("scale");
        for (entry, reason) in [
            (failed, "failed"),
            (early, "before their end"),
            (scale, "subresources"),
            (entry("list", pod("1")), "no single object"),
            (entry("patch", Value::Null), "RequestResponse"),
        ] {
            assert!(audit.read(&entry).unwrap_err().contains(reason), "{reason}");
        }
    }
}
