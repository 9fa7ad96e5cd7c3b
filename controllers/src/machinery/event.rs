//! Events: what a controller tells of an object, for people. Whether one is taken is of no matter to anybody.

use capsize_clock::Clock;
use k8s_openapi::api::core::v1::Event;
use kube::api::PostParams;
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

/// What is told.
pub(crate) struct Said<'a> {
    /// By whom.
    pub component: &'a str,
    /// Whether it is a warning.
    pub warns: bool,
    /// In a word.
    pub reason: &'a str,
    /// In full.
    pub message: String,
}

/// Tells of `object`. Events of what belongs to no namespace are in `default`.
pub(crate) async fn record<K>(client: &Client, clock: &Clock, object: &K, said: Said<'_>)
where
    K: Resource<DynamicType = ()>,
{
    let own = object.namespace();
    let namespace = own.as_deref().unwrap_or("default");
    let name = object.name_any();
    let now = clock.now_in_seconds();
    // As client-go calls them, by the time, which here may come again to the nanosecond where a clock is set; the reason tells
    // those of one moment apart.
    let called = format!("{name}.{:x}.{}", clock.steady().as_nanosecond(), said.reason.to_lowercase());
    let event = json!({
        "metadata": { "namespace": namespace, "name": called },
        "involvedObject": {
            "apiVersion": K::api_version(&()), "kind": K::kind(&()), "namespace": own, "name": name,
            "uid": object.uid(),
        },
        "type": if said.warns { "Warning" } else { "Normal" },
        "reason": said.reason,
        "message": said.message,
        "source": { "component": said.component },
        "reportingComponent": said.component,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    });
    let api = Api::<Event>::namespaced(client.clone(), namespace);
    let written = match serde_json::from_value(event) {
        Ok(event) => api.create(&PostParams::default(), &event).await.map(drop),
        Err(error) => Err(kube::Error::SerdeError(error)),
    };
    if let Err(error) = written {
        tracing::debug!(object = name, reason = said.reason, %error, "an event could not be told");
    }
}
