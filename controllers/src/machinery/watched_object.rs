//! Watches objects of any kind as text.
//! The code of a watch is therefore compiled once and not once for each kind.

use std::borrow::Cow;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ApiResource;
use kube::core::DynamicResourceScope;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Resource};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::member_client::must_relist;
use crate::api::resource_of_any_kind;

/// An object as a watch delivers it. Of its metadata, only the version is read.
#[derive(Clone, Debug)]
pub(super) struct WatchedObject {
    metadata: ObjectMeta,
    text: Box<RawValue>,
}

impl WatchedObject {
    /// Reads the object; `None` if it does not have the form of its kind.
    pub(super) fn decode<K: DeserializeOwned>(&self) -> Option<K> {
        let object = serde_json::from_str(self.text.get());
        object.inspect_err(|error| tracing::warn!(%error, "an object cannot be read and is left out")).ok()
    }
}

impl<'de> Deserialize<'de> for WatchedObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            metadata: Metadata,
        }

        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Metadata {
            resource_version: Option<String>,
        }

        let text: Box<RawValue> = Box::deserialize(deserializer)?;
        let Head { metadata } = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        let metadata = ObjectMeta { resource_version: metadata.resource_version, ..ObjectMeta::default() };
        Ok(Self { metadata, text })
    }
}

resource_of_any_kind!(WatchedObject);

/// Watches the objects of `api` as text, for ever.
/// After an error, the watch begins again with a growing delay.
pub(super) fn watch_as_text<K: Resource>(
    api: Api<K>,
    kind: &ApiResource,
    config: watcher::Config,
) -> BoxStream<'static, Result<Event<WatchedObject>, watcher::Error>> {
    let namespace = api.namespace().map(str::to_owned);
    let client = api.into_client();
    let api = match namespace {
        Some(namespace) => Api::namespaced_with(client, &namespace, kind),
        None => Api::all_with(client, kind),
    };
    events(api, config).boxed()
}

fn events(
    api: Api<WatchedObject>,
    config: watcher::Config,
) -> impl Stream<Item = Result<Event<WatchedObject>, watcher::Error>> + Send {
    let events = watch(api, config).filter(|event| {
        let must_relist = matches!(event, Err(error) if must_relist(error));
        std::future::ready(!must_relist)
    });
    events.default_backoff()
}
