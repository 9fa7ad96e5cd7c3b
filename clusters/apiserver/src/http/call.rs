//! One request on a resource, and the write that the request causes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::request::Parts;
use http::{Response, header};

use crate::http::request::{Query, ResourcePath};
use crate::http::respond::{self, ApiBody};
use crate::kind::kinds::Kind;
use crate::state::ApiServer;
use crate::write::webhook::Consultation;
use crate::write::writer::Writer;

/// The extension of a request whose watch goes on when the server is restored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RestoreObserver;

/// One request on a resource.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub server: &'a ApiServer,
    pub kind: Arc<Kind>,
    pub path: ResourcePath,
    pub query: Query,
    pub parts: &'a Parts,
    pub body: Bytes,
    /// The results of a write besides the object.
    pub side_results: Mutex<SideResults>,
}

/// The results of a write besides the object.
/// They are the calls of admission webhooks, and the warnings, which become `Warning` headers of the response.
#[derive(Debug, Default)]
pub(crate) struct SideResults {
    pub consultation: Option<Consultation>,
    warnings: Vec<String>,
}

impl Call<'_> {
    /// Whether the request names no namespace although objects of its kind are in namespaces.
    pub(crate) fn lacks_namespace(&self) -> bool {
        self.kind.traits.namespaced && self.path.namespace.is_empty()
    }

    /// The media type of the body, without its parameters.
    pub(crate) fn content_type(&self) -> &str {
        let value = self.parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        value.and_then(|value| value.split(';').next()).unwrap_or_default().trim()
    }
}

impl Call<'_> {
    /// Runs `action` as one write with the state locked, and then does its follow-up writes.
    pub(crate) fn writing<T>(&self, action: impl FnOnce(&mut Writer<'_>) -> T) -> T {
        let mut state = self.server.inner.state();
        let mut side_results = self.side_results();
        if side_results.consultation.is_none() && !state.webhooks.is_empty() {
            let webhooks = state.webhooks.clone();
            side_results.consultation = Some(Consultation::of(
                &self.query,
                self.parts.extensions.get(),
                self.server.inner.clock.now(),
                webhooks,
                &mut state.chance,
            ));
        }
        let chance = side_results.consultation.as_ref().map(|consultation| consultation.chance.clone());
        let chance = chance.map(|chance| std::mem::replace(&mut state.chance, chance));
        let mut writer = Writer::new(&self.server.inner, &mut state);
        writer.user = self.parts.extensions.get();
        writer.consultation = side_results.consultation.as_mut();
        let result = action(&mut writer);
        writer.finish();
        side_results.warnings = writer.warnings;
        if let Some(chance) = chance {
            state.chance = chance;
        }
        result
    }

    pub(crate) fn side_results(&self) -> MutexGuard<'_, SideResults> {
        self.side_results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SideResults {
    /// Adds all recorded warnings to the response.
    pub(crate) fn add_warnings(&self, answer: Response<ApiBody>) -> Response<ApiBody> {
        let answer = respond::with_warnings(answer, &self.warnings);
        let warnings = self.consultation.as_ref().map(|consultation| consultation.warnings.as_slice());
        respond::with_warnings(answer, warnings.unwrap_or_default())
    }
}
