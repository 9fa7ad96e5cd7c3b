//! A TCP listener that accepts or refuses new connections, or never answers them, as its link does.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use crate::link::{Link, NewConnections};

/// The pause after a connection could not be accepted, for example because too many files are open.
const PAUSE: Duration = Duration::from_millis(50);

/// The number of connections that the machine keeps until they are accepted.
/// The number is the one that `TcpListener::bind` sets.
const QUEUE: i32 = 1024;

/// The smallest queue that all systems take literally.
const SHORT_QUEUE: i32 = 1;

/// A listener on a free port of this machine's loopback.
#[derive(Debug)]
pub(crate) struct LinkListener {
    address: SocketAddr,
    link: Link,
    /// There is none while the link refuses connections.
    listener: Option<TcpListener>,
    /// Connections of this listener to itself.
    /// They fill the queue, so that the machine drops the packets of others.
    fillers: Vec<TcpStream>,
}

impl LinkListener {
    pub(crate) async fn bind(link: Link) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        Ok(Self { address: listener.local_addr()?, link, listener: Some(listener), fillers: Vec::new() })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for the next connection of a client.
    pub(crate) async fn accept(&mut self) -> TcpStream {
        loop {
            let Some(listener) = &self.listener else {
                self.listen_again().await;
                continue;
            };
            tokio::select! {
                biased;
                now = self.link.new_connections_are_not(NewConnections::Accepted) => {
                    if now == NewConnections::Refused { self.refuse().await } else { self.leave_unanswered().await }
                }
                accepted = listener.accept() => match accepted {
                    Ok((_, from)) if self.was_filler(from) => {}
                    Ok((client, _)) => return client,
                    // Too many files are open, or the client has already closed the connection.
                    Err(_) => self.link.clock().sleep(PAUSE).await,
                },
            }
        }
    }

    /// Closes the listener, so that the machine refuses connections as long as the link does.
    async fn refuse(&mut self) {
        self.listener = None;
        self.fillers.clear();
        self.link.new_connections_are_not(NewConnections::Refused).await;
    }

    /// Listens at the same address, which is free or will be soon.
    async fn listen_again(&mut self) {
        match TcpListener::bind(self.address).await {
            Ok(listener) => self.listener = Some(listener),
            Err(_) => self.link.clock().sleep(PAUSE).await,
        }
    }

    /// Fills the queue of the listener, so that the machine drops the first packet of each new connection.
    /// The client sends this packet again and again, until it gives up or the link carries packets again.
    async fn leave_unanswered(&mut self) {
        self.set_queue(SHORT_QUEUE);
        let clock = self.link.clock();
        loop {
            tokio::select! {
                biased;
                Ok(filler) = TcpStream::connect(self.address) => self.fillers.push(filler),
                // The queue is full: a connection within this machine is established at once otherwise.
                () = clock.sleep(PAUSE) => break,
            }
        }
        self.link.new_connections_are_not(NewConnections::Unanswered).await;
        self.set_queue(QUEUE);
    }

    /// Changes the length of the queue of a socket that listens already.
    fn set_queue(&self, length: i32) {
        // If the system does not allow the change, filling the queue takes longer.
        #[cfg(unix)]
        let _ = self.listener.as_ref().map(|listener| rustix::net::listen(listener, length));
        #[cfg(not(unix))]
        let _ = length;
    }

    /// Returns true if a connection comes from this listener itself, and forgets it.
    fn was_filler(&mut self, from: SocketAddr) -> bool {
        let before = self.fillers.len();
        self.fillers.retain(|filler| filler.local_addr().ok() != Some(from));
        self.fillers.len() < before
    }
}
