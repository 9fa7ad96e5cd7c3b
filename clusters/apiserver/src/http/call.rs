//! One request on a resource, as the endpoints get it.

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

/// The mark of a request whose watch does not end when the server is restored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Onlooker;

/// One request on a resource.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub server: &'a ApiServer,
    pub kind: Arc<Kind>,
    pub path: ResourcePath,
    pub query: Query,
    pub parts: &'a Parts,
    pub body: Bytes,
    /// The results of a write that are not its answer.
    pub aside: Mutex<Aside>,
}

/// The results of a write that are not its answer: the questions to webhooks, and the warnings to the client.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    pub consultation: Option<Consultation>,
    warnings: Vec<String>,
}

impl Call<'_> {
    /// The media type of the body, without its parameters.
    pub(crate) fn content_type(&self) -> &str {
        let value = self.parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        value.and_then(|value| value.split(';').next()).unwrap_or_default().trim()
    }
}

impl Call<'_> {
    /// Runs `action` with the server's state locked.
    pub(crate) fn writing<T>(&self, action: impl FnOnce(&mut Writer<'_>) -> T) -> T {
        let mut state = self.server.inner.state();
        let mut aside = self.aside();
        if aside.consultation.is_none() && !state.webhooks.is_empty() {
            let webhooks = state.webhooks.clone();
            aside.consultation = Some(Consultation::of(
                &self.query,
                self.parts.extensions.get(),
                self.server.inner.clock.now(),
                webhooks,
                &mut state.chance,
            ));
        }
        let chance = aside.consultation.as_ref().map(|consultation| consultation.chance.clone());
        let chance = chance.map(|chance| std::mem::replace(&mut state.chance, chance));
        let mut writer = Writer::new(&self.server.inner, &mut state);
        writer.user = self.parts.extensions.get();
        writer.consultation = aside.consultation.as_mut();
        let result = action(&mut writer);
        writer.finish();
        aside.warnings = writer.warnings;
        if let Some(chance) = chance {
            state.chance = chance;
        }
        result
    }

    pub(crate) fn aside(&self) -> MutexGuard<'_, Aside> {
        self.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Aside {
    pub(crate) fn warn(&self, answer: Response<ApiBody>) -> Response<ApiBody> {
        let answer = respond::with_warnings(answer, &self.warnings);
        let told = self.consultation.as_ref().map(|consultation| consultation.warnings.as_slice());
        respond::with_warnings(answer, told.unwrap_or_default())
    }
}
