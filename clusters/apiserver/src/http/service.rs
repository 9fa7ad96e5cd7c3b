//! The server as a tower service: checks access, finds the resource, dispatches, and calls webhooks.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, request::Parts};
use http_body::Body;
use http_body_util::{BodyExt, Limited};

use crate::auth;
use crate::endpoint::access_review;
use crate::endpoint::change;
use crate::endpoint::discovery;
use crate::endpoint::pods;
use crate::endpoint::read;
use crate::endpoint::watch;
use crate::http::call::{Call, RestoreObserver};
use crate::http::failure::Failure;
use crate::http::negotiate;
use crate::http::output_form;
use crate::http::request::{Query, Target, parse_path};
use crate::http::respond::{self, ApiBody};
use crate::state::ApiServer;
use crate::write::webhook::Consultation;

/// The size limit of a request body, in bytes.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// A server as a `tower::Service` of HTTP requests. It is always ready and never fails.
#[derive(Clone, Debug)]
pub struct ApiService {
    server: ApiServer,
    from_socket: bool,
    for_restore_observer: bool,
}

impl ApiService {
    pub(crate) fn new(server: ApiServer) -> Self {
        Self { server, from_socket: false, for_restore_observer: false }
    }

    /// The service for clients that also work while the server is stopped or restored.
    pub(crate) fn for_restore_observers(self) -> Self {
        Self { for_restore_observer: true, ..self }
    }

    /// Treats requests as coming from a socket.
    /// If the server requires credentials, requests without credentials are refused. Inside the process, a request
    /// without credentials is a request of the administrator.
    #[must_use]
    pub fn for_socket(self) -> Self {
        Self { from_socket: true, ..self }
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
        let (server, from_socket, for_restore_observer) =
            (self.server.clone(), self.from_socket, self.for_restore_observer);
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            if for_restore_observer {
                parts.extensions.insert(RestoreObserver);
            } else if server.inner.is_stopped() {
                return Ok(respond::failure(&Failure::stopped()));
            }
            if let Err(failure) = auth::check_access(&server, &mut parts, from_socket) {
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

async fn handle(server: &ApiServer, parts: &Parts, body: Bytes) -> Result<Response<ApiBody>, Failure> {
    let path = match parse_path(parts.uri.path()) {
        Target::Resource(path) => path,
        Target::Other(segments) => {
            let answer = auth::openid(server, &parts.method, &segments);
            return answer.unwrap_or_else(|| discovery::answer(server, parts, &segments));
        }
    };
    // A Binding is handled as a subresource of the pod that it names.
    let plural = if path.is_bindings_collection() { "pods" } else { &path.plural };
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
    let call = Call { server, kind, path, query, parts, body, side_results: Mutex::default() };
    let deprecation = match &call.kind.schema {
        Some(schema) => schema.deprecation.clone(),
        None => discovery::deprecation(&call.kind).map(str::to_owned),
    };
    let conversion = output_form::conversion(&call, form)?;
    let answer = loop {
        let answer = if reviewed.is_some() { access_review::answer(&call) } else { dispatch(&call).await };
        // A write that waits for webhooks has changed nothing. The write runs again after the webhooks have answered.
        let questions = call.side_results().consultation.as_mut().and_then(Consultation::questions);
        let Some(questions) = questions else { break answer };
        let answers = questions.ask(&server.inner.transports).await;
        if let Some(consultation) = &mut call.side_results().consultation {
            consultation.record(answers);
        }
    };
    let answer = answer.unwrap_or_else(|failure| respond::failure(&failure));
    let answer = call.side_results().add_warnings(answer);
    let answer = match conversion {
        Some(conversion) => conversion.apply(answer),
        None => answer,
    };
    let answer = respond::with_warnings(answer, deprecation.as_slice());
    Ok(respond::in_media(answer, form))
}

async fn dispatch(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let collection = call.path.name.is_empty();
    if call.path.is_bindings_collection() {
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
        Method::POST if collection && !call.lacks_namespace() => change::create(call),
        Method::PUT if !collection => change::update(call),
        Method::PATCH if !collection => change::patch(call),
        Method::DELETE if !collection => change::delete(call),
        // A real server cannot delete the collection of namespaces.
        Method::DELETE if !call.lacks_namespace() && !call.kind.is_core("namespaces") => {
            change::delete_collection(call)
        }
        _ => Err(Failure::method_not_allowed()),
    }
}
