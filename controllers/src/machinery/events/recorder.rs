//! The recorder of events: queues events without waiting, and writes them one after another.
//!
//! client-go `tools/record/event.go`. An event that the API server refuses is lost; an event that does not reach it is
//! retried.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use capsize_clock::Clock;
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use k8s_openapi::api::core::v1::Event as EventObject;
use kube::api::Patch;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::InvolvedObject;
use super::correlator::{Correlator, Decision, Occurrence};
use crate::machinery::{create, send};
use crate::rules::Event;

/// How often the write of an event that does not reach the API server is tried (`maxTriesPerEvent`).
const TRIES: u32 = 12;

/// The pause between two tries (`defaultSleepDuration`).
const PAUSE: Duration = Duration::from_secs(10);

/// Publishes events. Clones share one queue; unwritten events are lost when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct EventRecorder {
    sender: UnboundedSender<Occurrence>,
    _writer: Arc<JoinSet<()>>,
}

impl EventRecorder {
    /// Starts the task that writes the published events.
    pub(crate) fn start(client: Client, clock: Clock) -> Self {
        let (sender, receiver) = unbounded();
        let mut tasks = JoinSet::new();
        tasks.spawn(write_all(client, clock, receiver));
        Self { sender, _writer: Arc::new(tasks) }
    }

    /// Publishes an event about an object, as `component`.
    pub(crate) fn publish(
        &self,
        component: impl Into<Cow<'static, str>>,
        involved: InvolvedObject,
        event: Event,
    ) {
        // Sending fails only while the controllers are being stopped.
        let occurrence = Occurrence { component: component.into(), involved, event };
        drop(self.sender.unbounded_send(occurrence));
    }
}

async fn write_all(client: Client, clock: Clock, mut occurrences: UnboundedReceiver<Occurrence>) {
    let mut correlator = Correlator::default();
    while let Some(occurrence) = occurrences.next().await {
        let decision = correlator.correlate(&occurrence, clock.steady());
        if decision == Decision::Dropped {
            continue;
        }
        for _ in 0..TRIES {
            match write(&client, &clock, &occurrence, &decision).await {
                Ok(()) => break,
                Err(kube::Error::Api(status)) => {
                    tracing::debug!(reason = occurrence.event.reason, %status, "an event was refused");
                    break;
                }
                Err(error) => {
                    tracing::debug!(reason = occurrence.event.reason, %error, "an event is tried again");
                    clock.sleep(PAUSE).await;
                }
            }
        }
    }
}

async fn write(
    client: &Client,
    clock: &Clock,
    occurrence: &Occurrence,
    decision: &Decision,
) -> Result<(), kube::Error> {
    // Events of cluster-scoped objects are in the namespace `default`.
    let namespace = match occurrence.involved.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    };
    let api = Api::<EventObject>::namespaced(client.clone(), namespace);
    let now = clock.now_in_seconds();
    let event = |name: &str, message: &str, count: u32, first: Value| {
        object(occurrence, (namespace, name), message, (count, first, json!(now)))
    };
    match decision {
        Decision::Dropped => Ok(()),
        Decision::Created { name, message } => create(&api, event(name, message, 1, json!(now))).await,
        Decision::Counted { name, message, count, first } => {
            let change = json!({ "count": count, "lastTimestamp": now, "message": message });
            match send(&api, name, None, &Patch::Strategic(&change)).await {
                // The event has expired.
                Err(kube::Error::Api(status)) if status.is_not_found() => {
                    let first = json!(clock.shown_at(*first));
                    create(&api, event(name, message, *count, first)).await
                }
                outcome => outcome,
            }
        }
    }
}

fn object(
    occurrence: &Occurrence,
    (namespace, name): (&str, &str),
    message: &str,
    (count, first, last): (u32, Value, Value),
) -> Value {
    let Occurrence { component, involved, event } = occurrence;
    let own = (!involved.namespace.is_empty()).then_some(&involved.namespace);
    json!({
        "metadata": { "namespace": namespace, "name": name },
        "involvedObject": {
            "apiVersion": involved.api_version, "kind": involved.kind, "namespace": own,
            "name": involved.name, "uid": involved.uid,
        },
        "type": if event.warns { "Warning" } else { "Normal" },
        "reason": event.reason,
        "message": message,
        "source": { "component": component },
        "reportingComponent": component,
        "firstTimestamp": first,
        "lastTimestamp": last,
        "count": count,
    })
}
