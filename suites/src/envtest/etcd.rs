//! Implements `etcd` for envtest.
//! The program is healthy and stores nothing, because the embedded API server has its objects in memory.

use std::net::SocketAddr;

use capsize_clock::{Seed, Stop, live};
use clap::Args;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::exit::{CommandError, ExitStatus, environment_error, input_error};

/// The answer to every request. envtest asks for the health only.
const HEALTHY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\
    Connection: close\r\n\r\n{\"health\":\"true\"}";

/// More than envtest ever sends.
const LONGEST_REQUEST: usize = 8192;

/// The etcd of envtest, which answers that it is healthy and stores nothing
#[derive(Args, Debug)]
pub struct Etcd {
    /// The URL on which it answers
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:2379")]
    listen_client_urls: String,
    /// Read and ignored
    #[arg(long, value_name = "URL")]
    pub advertise_client_urls: Option<String>,
    /// Read and ignored
    #[arg(long, value_name = "URL")]
    pub listen_peer_urls: Option<String>,
    /// Read and ignored
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<String>,
    /// Read and ignored
    #[arg(long, num_args = 0..=1, require_equals = true, value_name = "BOOL")]
    pub unsafe_no_fsync: Option<Option<String>>,
}

impl Etcd {
    /// Answers until a signal asks it to stop.
    ///
    /// # Errors
    /// A URL that is none, or an address that is in use.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let ran = live(Seed(1), 1.0, |_| self.run());
        ran.map_err(|error| environment_error!("cannot start: {error}"))?
    }

    async fn run(&self) -> Result<ExitStatus, CommandError> {
        let url = &self.listen_client_urls;
        let address = url.strip_prefix("http://").and_then(|address| address.parse::<SocketAddr>().ok());
        let address = address.ok_or_else(|| {
            input_error!("--listen-client-urls {url}: this is not like http://127.0.0.1:2379")
        })?;
        let failed = |what: &str, error: std::io::Error| environment_error!("{what}: {error}");
        let mut stop = Stop::listen().map_err(|error| failed("cannot listen to signals", error))?;
        let socket = TcpListener::bind(address).await.map_err(|error| failed(url, error))?;
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                _ = stop.signal() => return Ok(ExitStatus::Conforms),
                accepted = socket.accept() => {
                    if let Ok((stream, _)) = accepted {
                        open.spawn(answer(stream));
                    }
                }
                Some(_) = open.join_next() => {}
            }
        }
    }
}

/// Answers one request. A client that goes away needs no answer.
async fn answer(mut stream: TcpStream) -> Option<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read_buf(&mut request).await.ok()?;
        if read == 0 || request.len() > LONGEST_REQUEST {
            return None;
        }
    }
    stream.write_all(HEALTHY).await.ok()?;
    stream.shutdown().await.ok()
}
