//! Serves `/healthz`, `/readyz` and `/metrics` over HTTP or HTTPS, as the real managers do.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

/// Answers a path; `None` for an unknown path.
pub type Answers = Arc<dyn Fn(&str) -> Option<(StatusCode, String)> + Send + Sync>;

/// How long a client may take for its TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves `answers` on `listener` for ever.
pub async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, answers: Answers) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            accepted = listener.accept() => {
                // An error of one connection concerns only its client.
                let Ok((stream, _)) = accepted else { continue };
                let (answers, tls) = (Arc::clone(&answers), tls.clone());
                connections.spawn(async move {
                    let Some(tls) = tls else { return serve_connection(Either::Left(stream), answers).await };
                    if let Ok(Ok(stream)) = timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await {
                        serve_connection(Either::Right(stream), answers).await;
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// A connection without or with TLS. The HTTP server is compiled once for both.
type Connection = Either<TcpStream, TlsStream<TcpStream>>;

async fn serve_connection(stream: Connection, answers: Answers) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer(&answers, request.uri().path());
        async move { Ok::<_, Infallible>(answer) }
    });
    let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
}

fn answer(answers: &Answers, path: &str) -> Response<Full<Bytes>> {
    let (code, text) =
        answers(path).unwrap_or_else(|| (StatusCode::NOT_FOUND, "404 page not found\n".to_owned()));
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = code;
    let plain = header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
