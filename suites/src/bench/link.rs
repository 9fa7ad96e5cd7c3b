//! Latency and throughput of the proxy on a link, and the latency of the proxy that injects API faults.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use capsize_apiserver::{Authority, Server};
use capsize_clock::{Seed, live};
use capsize_clusters::{ApiFaultProxy, ApiFaults, Link, TcpLinkProxy, administrator, disable_pacing};
use kube::Client;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::command::{Row, now, row};
use crate::exit::{CommandError, environment_error};

/// The rows.
pub(crate) const ROWS: [Row; 3] = [
    row("a link proxy, added to a request (p50)", "at most 0.2 ms", added),
    row("a link proxy, bytes through it", "at least 2 GB/s", passed),
    row("a reader of requests, added to one (p50)", "at most 0.2 ms", read),
];

/// A request, and its answer, are so long.
const MESSAGE: usize = 512;

const REQUESTS: usize = 4_000;

/// So much is sent at once, and in all.
const CHUNK: usize = 64 * 1024;
const ALL: usize = 2 << 30;

/// How often it is measured; the best counts, as machines are noisy.
const ROUNDS: usize = 3;

fn added() -> Result<String, CommandError> {
    measured(|server, proxy| async move {
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let (direct, through) = (median_at(server).await?, median_at(proxy).await?);
            best = best.min(through.saturating_sub(direct));
        }
        Ok(in_ms(best))
    })
}

fn passed() -> Result<String, CommandError> {
    measured(|_, proxy| async move {
        let mut best = 0.0_f64;
        for _ in 0..ROUNDS {
            best = best.max(rate(proxy).await?);
        }
        Ok(format!("{:.2} GB/s", best / 1e9))
    })
}

/// Measures the time that a reader on the way adds to a request over HTTPS.
/// Such a reader is needed because the API server of a member may be in trouble.
fn read() -> Result<String, CommandError> {
    let measured = live(Seed(1), 1.0, |run| async move {
        let server = Server::builder().build().listen((Ipv4Addr::LOCALHOST, 0)).await?;
        let authority = server.authority().map(Authority::pem).unwrap_or_default();
        let token = server.token().unwrap_or_default();
        let proxy =
            ApiFaultProxy::open(ApiFaults::new(run.clock), (server.address(), ""), &authority).await?;
        let direct = administrator((server.address(), ""), &authority, &token).await?;
        let through = administrator((proxy.address(), ""), proxy.authority(), &token).await?;
        let ask = |client: &Client| {
            let client = client.clone();
            async move || client.apiserver_version().await.map(drop)
        };
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let (direct, through) = (median(ask(&direct)).await?, median(ask(&through)).await?);
            best = best.min(through.saturating_sub(direct));
        }
        server.stop().await;
        Ok::<_, Box<dyn Error>>(in_ms(best))
    });
    let wrong = |error: &dyn Display| environment_error!("cannot measure over HTTPS: {error}");
    measured.map_err(|error| wrong(&error))?.map_err(|error| wrong(&error))
}

fn in_ms(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1000.0)
}

/// Measures with a server that is reached directly and through a link proxy.
fn measured<F>(measure: impl FnOnce(SocketAddr, SocketAddr) -> F) -> Result<String, CommandError>
where
    F: Future<Output = io::Result<String>>,
{
    let measured = live(Seed(1), 1.0, |run| async move {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let server = listener.local_addr()?;
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        let proxy = TcpLinkProxy::open(Link::new(run.clock, run.seed.stream("link")), server).await?;
        measure(server, proxy.address()).await
    });
    measured.flatten().map_err(|error| environment_error!("cannot measure a link proxy: {error}"))
}

/// Answers a message with as long a one, and a longer text with one byte at its end.
async fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; CHUNK];
    let mut taken = 0;
    loop {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        taken += read;
        if taken == MESSAGE {
            stream.write_all(&buffer[..MESSAGE]).await?;
            taken = 0;
        } else if taken >= ALL {
            stream.write_all(&[1]).await?;
            taken = 0;
        }
    }
}

/// How long a request takes that is neither among the faster half nor among the slower.
async fn median<E>(mut ask: impl AsyncFnMut() -> Result<(), E>) -> Result<Duration, E> {
    let mut took = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let start = now();
        ask().await?;
        took.push(start.elapsed());
    }
    took.sort();
    Ok(took[REQUESTS / 2])
}

/// The same of messages on one connection.
async fn median_at(address: SocketAddr) -> io::Result<Duration> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut message = [7; MESSAGE];
    let ask = async || {
        stream.write_all(&message).await?;
        stream.read_exact(&mut message).await.map(drop)
    };
    median(ask).await
}

/// How many bytes a second get there.
async fn rate(address: SocketAddr) -> io::Result<f64> {
    let mut stream = TcpStream::connect(address).await?;
    // The pacing of the sender is no part of the figure.
    disable_pacing(&stream);
    let chunk = vec![7; CHUNK];
    let start = now();
    for _ in 0..ALL / CHUNK {
        stream.write_all(&chunk).await?;
    }
    stream.read_exact(&mut [0]).await?;
    Ok(ALL as f64 / start.elapsed().as_secs_f64())
}
