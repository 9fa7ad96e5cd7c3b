//! The server as a tower service: reads the body, finds the resource, and dispatches by method.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, header, request::Parts};
use http_body::Body;
use http_body_util::{BodyExt, Limited};

use crate::auth;
use crate::endpoint::access_review;
use crate::endpoint::change;
use crate::endpoint::discovery;
use crate::endpoint::pods;
use crate::endpoint::read;
use crate::endpoint::watch;
use crate::http::failure::Failure;
use crate::http::negotiate;
use crate::http::output_form;
use crate::http::request::{Query, ResourcePath, Target, parse_path};
use crate::http::respond::{self, ApiBody};
use crate::kind::kinds::Kind;
use crate::server::ApiServer;
use crate::write::webhook::Consultation;
use crate::write::writer::Writer;

/// The largest body that is read, in bytes.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// A server as a `tower::Service` of HTTP requests. It is always ready and never fails.
#[derive(Clone, Debug)]
pub struct ApiService {
    server: ApiServer,
    outside: bool,
    onlooks: bool,
}

/// On a request whose watch does not end when the server is restored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Onlooker;

impl ApiService {
    pub(crate) fn new(server: ApiServer) -> Self {
        Self { server, outside: false, onlooks: false }
    }

    /// The service whose watches do not end when the server is restored.
    pub(crate) fn for_onlookers(self) -> Self {
        Self { onlooks: true, ..self }
    }

    /// The service as it is for those who come over a socket: where credentials are asked for, a request that brings
    /// none is not taken for the administrator's, as one from inside the process is.
    #[must_use]
    pub fn from_outside(self) -> Self {
        Self { outside: true, ..self }
    }
}

impl<B> tower::Service<Request<B>> for ApiService
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<ApiBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (server, outside, onlooks) = (self.server.clone(), self.outside, self.onlooks);
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            if onlooks {
                parts.extensions.insert(Onlooker);
            } else if server.inner.is_stopped() {
                return Ok(respond::failure(&Failure::stopped()));
            }
            if let Err(failure) = auth::let_in(&server, &mut parts, outside) {
                return Ok(auth::refusal(&failure));
            }
            let body = match Limited::new(body, BODY_LIMIT).collect().await {
                Ok(body) => body.to_bytes(),
                Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                    return Ok(respond::failure(&Failure::too_large(BODY_LIMIT)));
                }
                Err(error) => return Ok(respond::failure(&Failure::bad_request(error.to_string()))),
            };
            let answer = handle(&server, &parts, body).await;
            let answer = answer.unwrap_or_else(|failure| respond::failure(&failure));
            let watches = matches!(answer.body(), ApiBody::Watch(_));
            server.inner.metrics.answered(&parts.method, watches, answer.status());
            Ok(answer)
        })
    }
}

/// One request on a resource, as its handlers see it.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub server: &'a ApiServer,
    pub kind: Arc<Kind>,
    pub path: ResourcePath,
    pub query: Query,
    pub parts: &'a Parts,
    pub body: Bytes,
    /// What a write leaves beside its answer.
    pub aside: Mutex<Aside>,
}

/// What a write leaves beside its answer: what it has to ask webhooks, and what the client is warned of.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    consultation: Option<Consultation>,
    warnings: Vec<String>,
}

impl Call<'_> {
    /// The media type of the body, without its parameters.
    pub(crate) fn content_type(&self) -> &str {
        let value = self.parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        value.and_then(|value| value.split(';').next()).unwrap_or_default().trim()
    }
}

async fn handle(server: &ApiServer, parts: &Parts, body: Bytes) -> Result<Response<ApiBody>, Failure> {
    let path = match parse_path(parts.uri.path()) {
        Target::Resource(path) => path,
        Target::Other(segments) => {
            let answer = auth::openid(server, &parts.method, &segments);
            return answer.unwrap_or_else(|| discovery::answer(server, parts, &segments));
        }
    };
    // A Binding is no kind of its own: it is a part of the pod that it names.
    let plural = if path.is_binding() { "pods" } else { &path.plural };
    let found = server.inner.state().kind(&path.group, &path.version, plural).cloned();
    let reviewed = if found.is_none() { access_review::kind(&path) } else { None };
    let Some(kind) = found.as_ref().or(reviewed).cloned() else {
        return discovery::unknown(server, parts, &path);
    };
    let at_cluster = path.namespace.is_empty();
    let misplaced = !kind.traits.namespaced && !at_cluster;
    if misplaced && kind.is_custom() {
        return Ok(respond::page_not_found());
    }
    if misplaced || (kind.traits.namespaced && at_cluster && !path.name.is_empty()) {
        return Err(Failure::no_resource());
    }
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let form = negotiate::form(parts, &query, &kind, path.name.is_empty())?;
    let call = Call { server, kind, path, query, parts, body, aside: Mutex::default() };
    let deprecation = match &call.kind.schema {
        Some(schema) => schema.deprecation.clone(),
        None => discovery::deprecation(&call.kind).map(str::to_owned),
    };
    let shaping = output_form::shaping(&call, form)?;
    let answer = loop {
        let answer = if reviewed.is_some() { access_review::answer(&call) } else { dispatch(&call).await };
        // A write that waits for webhooks has changed nothing, and runs again once they have answered.
        let questions = call.aside().consultation.as_mut().and_then(Consultation::questions);
        let Some(questions) = questions else { break answer };
        let answers = questions.ask(&server.inner.transports).await;
        if let Some(consultation) = &mut call.aside().consultation {
            consultation.record(answers);
        }
    };
    let answer = answer.unwrap_or_else(|failure| respond::failure(&failure));
    let answer = call.aside().warn(answer);
    let answer = match shaping {
        Some(shaping) => shaping.apply(answer),
        None => answer,
    };
    let answer = respond::with_warnings(answer, deprecation.as_slice());
    Ok(respond::in_media(answer, form))
}

async fn dispatch(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let collection = call.path.name.is_empty();
    let homeless = call.kind.traits.namespaced && call.path.namespace.is_empty();
    if call.path.is_binding() {
        return pods::bind_by_name(call);
    }
    if !call.path.subresource.is_empty() {
        return change::subresource(call);
    }
    match call.parts.method {
        Method::GET if call.path.watch => watch::watch(call),
        Method::GET if collection && call.query.flag("watch") => watch::watch(call),
        Method::GET if collection => read::list(call).await,
        Method::GET => read::get(call).await,
        Method::POST if collection && !homeless => change::create(call),
        Method::PUT if !collection => change::update(call),
        Method::PATCH if !collection => change::patch(call),
        Method::DELETE if !collection => change::delete(call),
        // Namespaces go one by one.
        Method::DELETE if !homeless && !call.kind.is_core("namespaces") => change::delete_collection(call),
        _ => Err(Failure::method_not_allowed()),
    }
}

impl Call<'_> {
    /// Runs `action` with the server's state locked.
    pub(crate) fn writing<T>(&self, action: impl FnOnce(&mut Writer<'_>) -> T) -> T {
        let mut state = self.server.inner.state();
        let mut aside = self.aside();
        if aside.consultation.is_none() && !state.webhooks.is_empty() {
            let webhooks = state.webhooks.clone();
            aside.consultation = Some(Consultation::of(self, webhooks, &mut state.chance));
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

    fn aside(&self) -> MutexGuard<'_, Aside> {
        self.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Aside {
    fn warn(&self, answer: Response<ApiBody>) -> Response<ApiBody> {
        let answer = respond::with_warnings(answer, &self.warnings);
        let told = self.consultation.as_ref().map(|consultation| consultation.warnings.as_slice());
        respond::with_warnings(answer, told.unwrap_or_default())
    }
}
