//! One connection: the TLS handshake, the protocol, and the shutdown.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use super::listener::ListenerState;
use super::open_requests::OpenRequests;
use crate::http::client_certificate::ClientCertificate;

/// The response of a Go server to a client that sends HTTP to an HTTPS port.
const NOT_TLS: &[u8] = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// Serves a connection until it ends. When the server stops, open requests get their responses first.
pub(super) async fn run(stream: TcpStream, shared: Arc<ListenerState>) {
    // Without this option responses are later, but correct.
    let _ = stream.set_nodelay(true);
    let Some(acceptor) = &shared.tls else {
        return serve(Either::Left(timed(stream, &shared)), None, &shared).await;
    };
    let handshake = timeout(shared.limits.handshake, handshake(acceptor, stream, &shared));
    let stream = tokio::select! {
        biased;
        () = shared.stop.cancelled() => return,
        stream = handshake => stream,
    };
    let Ok(Some(stream)) = stream else { return };
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let peer = certificates.first().map(|der| ClientCertificate(Bytes::copy_from_slice(der)));
    serve(Either::Right(stream), peer, &shared).await;
}

/// A socket whose writes fail when they make no progress.
type TimeoutSocket = Pin<Box<TimeoutStream<TcpStream>>>;

/// A connection without or with TLS. The HTTP server is compiled once for both.
type Connection = Either<TimeoutSocket, TlsStream<TimeoutSocket>>;

fn timed(stream: TcpStream, shared: &ListenerState) -> TimeoutSocket {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(shared.limits.stalled));
    Box::pin(stream)
}

/// Starts TLS on `stream`; `None` if the client does not speak TLS correctly.
async fn handshake(
    acceptor: &TlsAcceptor,
    mut stream: TcpStream,
    shared: &ListenerState,
) -> Option<TlsStream<TimeoutSocket>> {
    let mut first = [0];
    if stream.peek(&mut first).await.ok()? == 1 && first[0].is_ascii_uppercase() {
        stream.write_all(NOT_TLS).await.ok()?;
        return None;
    }
    acceptor.accept(timed(stream, shared)).await.ok()
}

async fn serve(stream: Connection, peer: Option<ClientCertificate>, shared: &Arc<ListenerState>) {
    let limits = shared.limits;
    let open = Arc::new(OpenRequests::default());
    let counted = Arc::clone(&open);
    let service = service_fn(|mut request: Request<Incoming>| {
        let shared = Arc::clone(shared);
        let under_way = counted.request();
        if let Some(peer) = &peer {
            request.extensions_mut().insert(peer.clone());
        }
        async move { Ok::<_, Infallible>(super::answer::answer(&shared, request, under_way).await) }
    });
    let mut protocols = auto::Builder::new(TokioExecutor::new());
    protocols
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_buf_size(limits.head_bytes);
    protocols
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.stalled)
        .keep_alive_timeout(limits.stalled)
        .max_header_list_size(u32::try_from(limits.head_bytes).unwrap_or(u32::MAX));
    let mut connection = pin!(protocols.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        biased;
        // An error of the connection is caused by the client, and cannot be reported to anybody.
        _ = connection.as_mut() => return,
        () = shared.stop.cancelled() => {}
        () = open.idle_for(limits.idle) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
