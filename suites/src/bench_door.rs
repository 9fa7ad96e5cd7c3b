//! What a door costs: how much later an answer comes through one, and how much gets through.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use capsize_clock::{Seed, live};
use capsize_clusters::{Door, Link};
use miette::miette;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::bench::{Row, now};
use crate::exit::Trouble;

/// The rows.
pub(crate) const ROWS: [Row; 2] = [
    Row { what: "a door, added to a request (p50)", promise: "at most 0.2 ms", alone: false, measure: added },
    Row { what: "a door, bytes through it", promise: "at least 2 GB/s", alone: false, measure: passed },
];

/// A request, and its answer, are so long.
const MESSAGE: usize = 512;

const REQUESTS: usize = 4_000;

/// So much is sent at once, and in all.
const CHUNK: usize = 256 * 1024;
const ALL: usize = 2 << 30;

/// How often it is measured; the best counts, as machines are noisy.
const ROUNDS: usize = 3;

fn added() -> Result<String, Trouble> {
    measured(|server, door| async move {
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let (direct, through) = (median(server).await?, median(door).await?);
            best = best.min(through.saturating_sub(direct));
        }
        Ok(format!("{:.3} ms", best.as_secs_f64() * 1000.0))
    })
}

fn passed() -> Result<String, Trouble> {
    measured(|_, door| async move {
        let mut best = 0.0_f64;
        for _ in 0..ROUNDS {
            best = best.max(rate(door).await?);
        }
        Ok(format!("{:.2} GB/s", best / 1e9))
    })
}

/// Measures with a server, which is there directly and behind a door.
fn measured<F>(measure: impl FnOnce(SocketAddr, SocketAddr) -> F) -> Result<String, Trouble>
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
        let door = Door::open(Link::new(run.clock, run.seed.stream("link")), server).await?;
        measure(server, door.address()).await
    });
    measured.flatten().map_err(|error| Trouble::Environment(miette!("cannot measure a door: {error}")))
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
async fn median(address: SocketAddr) -> io::Result<Duration> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut message = [7; MESSAGE];
    let mut took = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let start = now();
        stream.write_all(&message).await?;
        stream.read_exact(&mut message).await?;
        took.push(start.elapsed());
    }
    took.sort();
    Ok(took[REQUESTS / 2])
}

/// How many bytes a second get there.
async fn rate(address: SocketAddr) -> io::Result<f64> {
    let mut stream = TcpStream::connect(address).await?;
    let chunk = vec![7; CHUNK];
    let start = now();
    for _ in 0..ALL / CHUNK {
        stream.write_all(&chunk).await?;
    }
    stream.read_exact(&mut [0]).await?;
    Ok(ALL as f64 / start.elapsed().as_secs_f64())
}
