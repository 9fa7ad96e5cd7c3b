//! A TCP proxy that applies the faults of a link to the connections of programs outside this process.
//!
//! The proxy forwards bytes without parsing them. `link.rs` has the faults, `link_listener.rs` accepts the connections, and
//! `relay.rs` relays the bytes of one direction.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::link::{End, Link};
use crate::link_listener::LinkListener;
use crate::relay::Relay;

/// A listening proxy on a link. Dropping it closes its connections and stops listening.
#[derive(Debug)]
#[must_use = "the proxy closes when it is dropped"]
pub struct TcpLinkProxy {
    address: SocketAddr,
    _task: JoinSet<()>,
}

impl TcpLinkProxy {
    /// Listens on a free port of this machine's loopback.
    /// Connections are forwarded to `server` through `link`. The proxy needs a tokio runtime with I/O, so it cannot run
    /// in a simulation.
    ///
    /// While the link refuses connections, open connections are reset, and the machine refuses new ones, because nobody
    /// listens. While the link drops packets, the machine does not answer new connections. Bytes that a black hole drops
    /// arrive after its end, because TCP sends them again.
    ///
    /// # Errors
    /// If there is no free port.
    pub async fn open(link: Link, server: SocketAddr) -> io::Result<Self> {
        Self::open_to(End::Member, link, server).await
    }

    /// As [`Self::open`], for connections from the member to `server`, which is beside the control plane.
    ///
    /// # Errors
    /// If there is no free port.
    pub async fn open_back(link: Link, server: SocketAddr) -> io::Result<Self> {
        Self::open_to(End::ControlPlane, link, server).await
    }

    async fn open_to(end: End, link: Link, server: SocketAddr) -> io::Result<Self> {
        let listener = LinkListener::bind(link.clone()).await?;
        Ok(Self::start(listener, link, (end, server)))
    }

    /// Accepts connections in a task.
    /// The code of connections is compiled in this crate, because this function is not asynchronous.
    fn start(listener: LinkListener, link: Link, server: (End, SocketAddr)) -> Self {
        let address = listener.address();
        link.carries_bytes();
        let mut task = JoinSet::new();
        task.spawn(accept(listener, link, server));
        Self { address, _task: task }
    }

    /// The address of the proxy.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(mut listener: LinkListener, link: Link, server: (End, SocketAddr)) {
    let mut connections = JoinSet::new();
    loop {
        let client = listener.accept().await;
        connections.spawn(pass(link.clone(), client, server));
        while connections.try_join_next().is_some() {}
    }
}

/// Relays one connection until either end closes it, or the link breaks it.
/// The server is at `end` of the link.
async fn pass(link: Link, mut client: TcpStream, (end, server): (End, SocketAddr)) {
    let opening = link.opening();
    let mut onward = None;
    let carried = async {
        if !link.lets_in() {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let server = onward.insert(TcpStream::connect(server).await?);
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        disable_pacing(&client);
        disable_pacing(server);
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let there = Relay { link: &link, opening, from: from_client, to: to_server, end };
        let back = Relay { link: &link, opening, from: from_server, to: to_client, end: end.other() };
        // An end that has sent everything can still receive the response.
        tokio::try_join!(there.run(), back.run()).map(drop)
    };
    let ended = tokio::select! {
        biased;
        () = link.broken(opening) => Err(io::ErrorKind::ConnectionReset.into()),
        ended = carried => ended,
    };
    if ended.is_err() {
        // The connection is reset instead of closed, so that the other end notices at once.
        for stream in std::iter::once(&client).chain(&onward) {
            let _gone = stream.set_zero_linger();
        }
    }
}

/// Turns off pacing (BBR) on a connection.
/// Some machines pace on loopback too, which would limit the bandwidth without a fault.
pub fn disable_pacing(stream: &TcpStream) {
    // If the machine does not allow the change, the setting stays.
    #[cfg(target_os = "linux")]
    let _ = rustix::net::sockopt::set_tcp_congestion(stream, "reno");
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::net::Ipv4Addr;
    use std::thread;
    use std::time::Duration;

    use capsize_clock::{Seed, live};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    use super::*;
    use crate::link::{Direction, LinkFault};

    /// The time for which a test that expects silence waits; every other time limit is longer.
    const SILENCE: Duration = Duration::from_millis(200);
    const TIMEOUT: Duration = Duration::from_secs(20);

    /// A server behind a proxy that returns each word twice.
    async fn echo_twice(link: &Link) -> (TcpLinkProxy, JoinSet<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = JoinSet::new();
        server.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut word = [0; 4];
                    while stream.read_exact(&mut word).await.is_ok() {
                        let _closed = stream.write_all(&[word, word].concat()).await;
                    }
                });
            }
        });
        (TcpLinkProxy::open(link.clone(), address).await.unwrap(), server)
    }

    async fn answer(stream: &mut TcpStream) -> io::Result<String> {
        let mut words = [0; 8];
        timeout(TIMEOUT, stream.read_exact(&mut words)).await.expect("an answer, or an end")?;
        Ok(String::from_utf8_lossy(&words).into_owned())
    }

    fn with_link<F: Future<Output = ()>>(test: impl FnOnce(Link) -> F) {
        live(Seed(1), 1.0, |run| test(Link::new(run.clock, run.seed.stream("link")))).unwrap();
    }

    /// Opens a connection and uses it once.
    async fn open(proxy: &TcpLinkProxy) -> TcpStream {
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        stream.write_all(b"ahoy").await.unwrap();
        assert_eq!(answer(&mut stream).await.unwrap(), "ahoyahoy");
        stream
    }

    /// Returns true if a new connection gets a response.
    async fn answers(proxy: &TcpLinkProxy) -> bool {
        // The connection may be reset before the client notices that it is open.
        let Ok(mut stream) = TcpStream::connect(proxy.address()).await else { return false };
        let _reset = stream.write_all(b"ahoy").await;
        answer(&mut stream).await.is_ok()
    }

    #[test]
    fn a_reset_ends_open_connections_and_no_new_ones() {
        with_link(|link| async move {
            let (proxy, _server) = echo_twice(&link).await;
            let mut stream = open(&proxy).await;
            let _fault = link.apply(LinkFault::Reset);
            assert!(answer(&mut stream).await.is_err());
            open(&proxy).await;
        });
    }

    #[test]
    fn new_connections_are_refused_while_open_ones_stay() {
        with_link(|link| async move {
            let (proxy, _server) = echo_twice(&link).await;
            let mut stream = open(&proxy).await;
            let fault = link.apply(LinkFault::RefuseNew);
            assert!(!answers(&proxy).await);
            stream.write_all(b"land").await.unwrap();
            assert_eq!(answer(&mut stream).await.unwrap(), "landland");
            drop(fault);
            let answered = async { while !answers(&proxy).await {} };
            timeout(TIMEOUT, answered).await.expect("new connections are accepted again");
        });
    }

    #[test]
    fn the_machine_refuses_connections_while_the_link_does() {
        with_link(|link| async move {
            let (proxy, _server) = echo_twice(&link).await;
            let mut stream = open(&proxy).await;
            let fault = link.apply(LinkFault::Refuse);
            assert!(answer(&mut stream).await.is_err());
            // The listener closes a moment later.
            let refused = async {
                while TcpStream::connect(proxy.address()).await.map_err(|error| error.kind()).err()
                    != Some(io::ErrorKind::ConnectionRefused)
                {}
            };
            timeout(TIMEOUT, refused).await.expect("new connections are refused");
            drop(fault);
            let answered = async { while !answers(&proxy).await {} };
            timeout(TIMEOUT, answered).await.expect("new connections are accepted again");
        });
    }

    #[test]
    fn a_percentage_of_new_connections_is_lost() {
        with_link(|link| async move {
            let (proxy, _server) = echo_twice(&link).await;
            let _fault = link.apply(LinkFault::Lose(30));
            let mut lost = 0;
            for _ in 0..200 {
                lost += u32::from(!answers(&proxy).await);
            }
            assert!((30..90).contains(&lost), "{lost} of 200");
        });
    }

    #[test]
    fn a_link_with_little_bandwidth_delays_large_transfers() {
        with_link(|link| async move {
            let (proxy, _server) = echo_twice(&link).await;
            let mut stream = open(&proxy).await;
            let _fault = link.apply(LinkFault::Bandwidth(10_000.try_into().unwrap()));
            let before = link.clock().elapsed();
            // 2000 bytes to the server at 10 kB/s, and 4000 bytes back. The first bytes of the response start early.
            stream.write_all(&b"ahoy".repeat(500)).await.unwrap();
            for _ in 0..500 {
                answer(&mut stream).await.unwrap();
            }
            let took = link.clock().elapsed() - before;
            assert!(took >= Duration::from_millis(400), "{took:?}");
        });
    }

    #[test]
    fn half_open_connections_are_silent_until_they_are_reset_and_new_ones_work() {
        with_link(|link| async move {
            let (proxy, _server) = echo_twice(&link).await;
            let (mut sent, mut ended) = (open(&proxy).await, open(&proxy).await);
            let fault = link.apply(LinkFault::HalfOpen);
            sent.write_all(b"land").await.unwrap();
            ended.shutdown().await.unwrap();
            let mut new = open(&proxy).await;
            for stream in [&mut sent, &mut ended] {
                let silence = timeout(SILENCE, stream.read(&mut [0])).await;
                assert!(silence.is_err(), "{silence:?}");
            }
            drop(fault);
            for stream in [&mut sent, &mut ended] {
                assert!(timeout(TIMEOUT, stream.read(&mut [0])).await.unwrap().is_err());
            }
            new.write_all(b"land").await.unwrap();
            assert_eq!(answer(&mut new).await.unwrap(), "landland");
        });
    }

    #[test]
    fn the_machine_does_not_answer_new_connections_while_the_link_drops_packets() {
        let black_hole = |direction| LinkFault::BlackHole { direction };
        let both_ways = [Direction::Both, Direction::ToMember, Direction::FromMember].map(black_hole);
        thread::scope(|scope| {
            for fault in both_ways.into_iter().chain([LinkFault::DropNew]) {
                scope.spawn(move || with_link(|link| leaves_new_connections_unanswered(link, fault)));
            }
        });
    }

    async fn leaves_new_connections_unanswered(link: Link, fault: LinkFault) {
        let (proxy, _server) = echo_twice(&link).await;
        let mut old = open(&proxy).await;
        let address = proxy.address();
        let guard = link.apply(fault);
        // The queue of the listener is full a moment later.
        let unanswered = async { while timeout(SILENCE, TcpStream::connect(address)).await.is_ok() {} };
        timeout(TIMEOUT, unanswered).await.expect("new connections get no answer");
        if fault == LinkFault::DropNew {
            old.write_all(b"land").await.unwrap();
            assert_eq!(answer(&mut old).await.unwrap(), "landland");
        }
        let mut connecting = JoinSet::new();
        connecting.spawn(TcpStream::connect(address));
        assert!(timeout(SILENCE, connecting.join_next()).await.is_err(), "{fault:?}");
        drop(guard);
        // The client repeats the first packet of a connection.
        let new = timeout(TIMEOUT, connecting.join_next()).await.expect("an established connection");
        let mut new = new.unwrap().unwrap().unwrap();
        new.write_all(b"ahoy").await.unwrap();
        assert_eq!(answer(&mut new).await.unwrap(), "ahoyahoy", "{fault:?}");
    }

    #[test]
    fn connections_are_refused_and_accepted_again_after_packets_were_dropped() {
        with_link(|link| async move {
            let (proxy, _server) = echo_twice(&link).await;
            let silence = link.apply(LinkFault::BlackHole { direction: Direction::Both });
            let unanswered =
                async { while timeout(SILENCE, TcpStream::connect(proxy.address())).await.is_ok() {} };
            timeout(TIMEOUT, unanswered).await.expect("new connections get no answer");
            let refusal = link.apply(LinkFault::Refuse);
            let refused = async { while TcpStream::connect(proxy.address()).await.is_ok() {} };
            timeout(TIMEOUT, refused).await.expect("new connections are refused");
            drop((silence, refusal));
            let answered = async { while !answers(&proxy).await {} };
            timeout(TIMEOUT, answered).await.expect("new connections are accepted again");
        });
    }

    /// Bytes in flight are not lost, repeated or reordered when a fault begins or ends.
    #[test]
    fn a_large_transfer_arrives_intact_while_faults_begin_and_end() {
        const ALL: usize = 48 << 20;
        let number = |at: usize| (at / 4 % (1 << 24)) as u32;
        with_link(|link| async move {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let proxy = TcpLinkProxy::open(link.clone(), listener.local_addr().unwrap()).await.unwrap();
            let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
            let (mut taken, _) = listener.accept().await.unwrap();
            let sent: Vec<u8> = (0..ALL).step_by(4).flat_map(|at| number(at).to_le_bytes()).collect();
            let mut saying = JoinSet::new();
            saying.spawn(async move {
                stream.write_all(&sent).await.unwrap();
                stream.shutdown().await.unwrap();
                // Waits until the other end has read everything.
                let _ended = stream.read(&mut [0]).await;
            });
            let faults = [
                LinkFault::Delay(Duration::from_millis(1)),
                LinkFault::BlackHole { direction: Direction::Both },
                LinkFault::Jitter(Duration::from_millis(2)),
            ];
            let (mut faults, mut fault, mut next) = (faults.into_iter().cycle(), None, 1 << 20);
            let (mut buffer, mut read, mut received) = (vec![0; 256 << 10], 0, Vec::with_capacity(ALL));
            loop {
                // Dropped bytes arrive after the end of the fault.
                match timeout(Duration::from_millis(20), taken.read(&mut buffer)).await {
                    Ok(Ok(0)) => break,
                    Ok(more) => read = more.unwrap(),
                    Err(_) => (fault, next) = (None, received.len() + (1 << 20)),
                }
                received.extend_from_slice(&buffer[..std::mem::take(&mut read)]);
                if received.len() > next {
                    next += 1 << 20;
                    fault = fault.is_none().then(|| link.apply(faults.next().unwrap()));
                }
            }
            drop(fault);
            assert_eq!(received.len(), ALL);
            let mut words = received.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
            assert!((0..ALL).step_by(4).all(|at| words.next() == Some(number(at))));
        });
    }

    #[test]
    fn jitter_keeps_the_order() {
        with_link(|link| async move {
            let (proxy, _server) = echo_twice(&link).await;
            let mut stream = open(&proxy).await;
            let _fault = link.apply(LinkFault::Jitter(Duration::from_millis(20)));
            let words: Vec<String> = (1000..1050).map(|number| number.to_string()).collect();
            for word in &words {
                stream.write_all(word.as_bytes()).await.unwrap();
                tokio::task::yield_now().await;
            }
            for word in &words {
                assert_eq!(answer(&mut stream).await.unwrap(), word.repeat(2));
            }
        });
    }

    #[test]
    fn the_last_bytes_arrive_although_their_sender_has_closed() {
        const LAST: usize = 1 << 20;
        with_link(|link| async move {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let proxy = TcpLinkProxy::open(link, listener.local_addr().unwrap()).await.unwrap();
            let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
            let (mut server, _) = listener.accept().await.unwrap();
            stream.shutdown().await.unwrap();
            assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
            let mut saying = JoinSet::new();
            saying.spawn(async move { server.write_all(&vec![7; LAST]).await.unwrap() });
            saying.join_next().await.unwrap().unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).await.unwrap();
            assert_eq!(received.len(), LAST);
        });
    }

    #[test]
    fn requests_and_answers_pass_a_link_without_faults() {
        with_link(|link| async move {
            let (proxy, _server) = echo_twice(&link).await;
            let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
            for word in ["ahoy", "land"] {
                stream.write_all(word.as_bytes()).await.unwrap();
                assert_eq!(answer(&mut stream).await.unwrap(), word.repeat(2));
            }
            stream.shutdown().await.unwrap();
            assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        });
    }

    #[test]
    fn bytes_that_a_black_hole_drops_arrive_after_its_end() {
        for direction in [Direction::Both, Direction::ToMember, Direction::FromMember] {
            with_link(|link| async move {
                let (proxy, _server) = echo_twice(&link).await;
                let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
                let fault = link.apply(LinkFault::BlackHole { direction });
                stream.write_all(b"ahoy").await.unwrap();
                let silent = timeout(SILENCE, stream.read(&mut [0; 8])).await;
                assert!(silent.is_err(), "{direction:?}: {silent:?}");
                drop(fault);
                assert_eq!(answer(&mut stream).await.unwrap(), "ahoyahoy", "{direction:?}");
            });
        }
    }

    #[test]
    fn a_refused_link_resets_open_and_new_connections() {
        with_link(|link| async move {
            let (proxy, _server) = echo_twice(&link).await;
            let mut open = TcpStream::connect(proxy.address()).await.unwrap();
            open.write_all(b"ahoy").await.unwrap();
            answer(&mut open).await.unwrap();
            let fault = link.apply(LinkFault::Refuse);
            assert!(answer(&mut open).await.is_err());
            assert!(!answers(&proxy).await);
            drop(fault);
            let answered = async { while !answers(&proxy).await {} };
            timeout(TIMEOUT, answered).await.expect("new connections are accepted again");
        });
    }

    #[test]
    fn a_delay_applies_once_to_each_direction_for_any_number_of_messages() {
        with_link(|link| async move {
            let (proxy, _server) = echo_twice(&link).await;
            let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
            let _fault = link.apply(LinkFault::Delay(Duration::from_millis(100)));
            let before = link.clock().elapsed();
            // Words in flight do not wait for each other.
            for _ in 0..50 {
                stream.write_all(b"ahoy").await.unwrap();
            }
            for _ in 0..50 {
                answer(&mut stream).await.unwrap();
            }
            let took = link.clock().elapsed() - before;
            assert!(took >= Duration::from_millis(200), "{took:?}");
            assert!(took < Duration::from_secs(50 * 2 / 10), "{took:?}");
        });
    }
}
