//! Serves the page of a running fleet: the time line, changes as they happen, and buttons for faults.
//!
//! Only this machine can reach it, and only pages of this address can send orders.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use capsize_runner::run::{FORMS, FaultTarget, Order, View};
use futures::stream::{self, StreamExt};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::control::{pause, send};
use crate::exit::{CommandError, environment_error};

/// The header that a page of another address cannot send without permission.
const OWN_HEADER: &str = "x-capsize";

/// The largest order.
const LARGEST_ORDER: usize = 4096;

/// The pause between two looks at the fleet, in real time.
const LOOK_EVERY: Duration = Duration::from_millis(500);

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// A page that is served.
pub(super) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    view: View,
    orders: mpsc::Sender<Order>,
}

impl Server {
    /// Listens at `address`.
    ///
    /// # Errors
    /// The address is in use.
    pub(super) async fn open(
        address: SocketAddr,
        view: View,
        orders: mpsc::Sender<Order>,
    ) -> Result<Self, CommandError> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) =
            listener.map_err(|error| environment_error!("--serve {address}: {error}"))?;
        Ok(Self { listener, address, view, orders })
    }

    /// The URL of the page.
    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Answers all requests, for ever.
    pub(super) async fn serve(&self) -> Infallible {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else { continue };
            let (address, view, orders) = (self.address, self.view.clone(), self.orders.clone());
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    let (view, orders) = (view.clone(), orders.clone());
                    async move { Ok::<_, Infallible>(answer(request, address, &view, &orders).await) }
                });
                let connection = hyper::server::conn::http1::Builder::new();
                // A browser that goes away is no error.
                connection.serve_connection(TokioIo::new(stream), service).await.ok()
            });
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    address: SocketAddr,
    view: &View,
    orders: &mpsc::Sender<Order>,
) -> Answer {
    if !is_own_host(&request, address) {
        return text(StatusCode::FORBIDDEN, "text/plain", "this page is for this machine only\n");
    }
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => {
            text(StatusCode::OK, "text/html; charset=utf-8", capsize_report::live_html(&forms()))
        }
        (&Method::GET, "/data") => match view.timeline() {
            Some(timeline) => text(StatusCode::OK, "text/plain", timeline.packed()),
            None => text(StatusCode::NOT_FOUND, "text/plain", "there is no time line\n"),
        },
        (&Method::GET, "/events") => events(view.clone()),
        (&Method::POST, "/order") if request.headers().contains_key(OWN_HEADER) => {
            let body = Limited::new(request.into_body(), LARGEST_ORDER).collect().await;
            let Ok(body) = body else {
                return text(StatusCode::PAYLOAD_TOO_LARGE, "text/plain", "too long\n");
            };
            match send(orders, &String::from_utf8_lossy(&body.to_bytes())).await {
                Ok(done) => text(StatusCode::OK, "text/plain", done),
                Err(why) => text(StatusCode::BAD_REQUEST, "text/plain", why),
            }
        }
        (&Method::POST, "/order") => {
            text(StatusCode::FORBIDDEN, "text/plain", "the header X-Capsize is missing\n")
        }
        _ => text(StatusCode::NOT_FOUND, "text/plain", "there is no such page\n"),
    }
}

/// Returns true if the request names this address.
/// A page of another site whose name leads here names that site.
fn is_own_host(request: &Request<Incoming>, address: SocketAddr) -> bool {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = address.port();
    [address.to_string(), format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")]
        .iter()
        .any(|own| own == host)
}

fn text(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()).boxed_unsync());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
    answer.headers_mut().insert(CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
    answer
}

/// The state of the fleet now and after each change, as server-sent events.
fn events(view: View) -> Answer {
    let states = stream::unfold((view, None), |(view, last)| async move {
        if last.is_some() {
            pause(&view, LOOK_EVERY).await;
        }
        let changes = view.changes();
        let event = json!({"changes": changes, "state": view.snapshot()});
        let frame = Frame::data(Bytes::from(format!("data: {event}\n\n")));
        Some((Ok::<_, Infallible>(frame), (view, Some(changes))))
    });
    let body = StreamBody::new(states.boxed()).boxed_unsync();
    let mut answer = Response::new(body);
    answer.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("text/event-stream"));
    answer.headers_mut().insert(CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
    answer
}

/// The faults that the page offers: name, whether it hits a member, and its parameters as an example.
fn forms() -> Vec<(&'static str, bool, String)> {
    let form = |form: &capsize_runner::run::FaultForm| {
        let needed = form.parameters.iter().filter(|parameter| parameter.is_required);
        let needed = needed.map(|parameter| format!("{}={}", parameter.name, parameter.example));
        (form.name, form.hits == FaultTarget::Member, needed.collect::<Vec<_>>().join(" "))
    };
    FORMS.iter().map(form).collect()
}
