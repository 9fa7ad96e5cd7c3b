//! Chooses the transport to a webhook: HTTPS, or a function in the process.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::hook::Hook;
use super::https;

/// One request to a webhook: an `AdmissionReview` to be sent by POST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookCall {
    /// The URL of the webhook, with the time limit in the query as `timeout=10s`.
    pub url: String,
    /// The host name in the certificate of the webhook; empty if it is the host of the URL.
    pub server_name: String,
    /// The trusted certificates in PEM for the webhook's certificate.
    pub ca_bundle: Vec<u8>,
    /// The review as JSON.
    pub body: Bytes,
}

/// Sends a request to a webhook and returns the answer; the error is the reason of a failure.
pub type WebhookTransport =
    Arc<dyn Fn(WebhookCall) -> Pin<Box<dyn Future<Output = Result<Bytes, String>> + Send>> + Send + Sync>;

/// The transports of a server to its webhooks.
#[derive(Clone, Default)]
pub(crate) struct Transports {
    /// A function that replaces HTTPS.
    pub given: Option<WebhookTransport>,
    /// The URLs of services, by `namespace/name`.
    pub services: BTreeMap<String, String>,
}

impl std::fmt::Debug for Transports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transports").field("services", &self.services).finish_non_exhaustive()
    }
}

impl Transports {
    /// Calls a webhook with its time limit.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub(super) async fn call(&self, hook: &Hook, body: Bytes) -> Result<Bytes, String> {
        if hook.review_version.is_none() {
            let reason = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
            return Err(format!("could not create admission objects: {reason}"));
        }
        let call = self.locate(hook, body);
        let url = call.url.clone();
        let answer = match &self.given {
            Some(transport) => tokio::time::timeout(hook.timeout, transport(call)).await,
            None => tokio::time::timeout(hook.timeout, https::post(call)).await,
        };
        let answer = answer.unwrap_or_else(|_| Err("context deadline exceeded".into()));
        answer.map_err(|error| format!("failed to call webhook: Post {url:?}: {error}"))
    }

    fn locate(&self, hook: &Hook, body: Bytes) -> WebhookCall {
        let query = format!("?timeout={}", shown(hook.timeout));
        let ca_bundle = hook.ca_bundle.clone();
        let Some((service, port)) = &hook.service else {
            let url = format!("{}{query}", hook.url);
            return WebhookCall { url, server_name: String::new(), ca_bundle, body };
        };
        let (namespace, name) = service.split_once('/').unwrap_or_default();
        let server_name = format!("{name}.{namespace}.svc");
        let base = match self.services.get(service) {
            Some(base) => base.trim_end_matches('/').to_owned(),
            None => format!("https://{server_name}:{port}"),
        };
        let url = format!("{base}{}{query}", hook.path);
        WebhookCall { url, server_name, ca_bundle, body }
    }
}

/// A duration as Go prints whole seconds.
fn shown(time: Duration) -> String {
    format!("{}s", time.as_secs())
}
