//! A link for programs of their own: TCP connections that come in here go on to a server, as far as the link lets them.
//!
//! It knows nothing of what is said on them. What is wrong with the link is said in `link.rs`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use capsize_clock::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::link::{End, Link};

/// So much is read at once.
const CHUNK: usize = 64 * 1024;

/// So many chunks may be under way in each direction of a connection.
const UNDER_WAY: usize = 64;

/// How long it waits when the machine has no room for one more connection.
const PAUSE: Duration = Duration::from_millis(50);

/// A way through a link. Dropping it cuts its connections, and no more come.
#[derive(Debug)]
#[must_use = "the door closes when it is dropped"]
pub struct Door {
    address: SocketAddr,
    _task: JoinSet<()>,
}

impl Door {
    /// Opens a door on a free port of this machine's loopback. Connections to it reach `server` through `link`. Needs a
    /// tokio runtime with I/O around it: no simulation.
    ///
    /// While the link is refused, connections are reset: those that there are, and new ones as soon as they are made. What
    /// a black hole swallows arrives after the heal, as TCP sends it again.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn open(link: Link, server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let mut task = JoinSet::new();
        task.spawn(accept(listener, link, server));
        Ok(Self { address, _task: task })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(listener: TcpListener, link: Link, server: SocketAddr) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => drop(connections.spawn(pass(link.clone(), client, server))),
                // There are too many files open, or the client has left already.
                Err(_) => link.clock().sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Carries one connection until either end closes it, or the link is refused.
async fn pass(link: Link, client: TcpStream, server: SocketAddr) {
    let resets_so_far = link.resets();
    // A reset in the place of an orderly end, should the link break: the other end sees it at once.
    let resets = |stream: &TcpStream| stream.set_zero_linger().is_ok() && stream.set_nodelay(true).is_ok();
    if !link.lets_in() || !resets(&client) {
        return;
    }
    let Ok(server) = TcpStream::connect(server).await else { return };
    if !resets(&server) {
        return;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let there = pump(&link, from_client, to_server, End::Member);
    let back = pump(&link, from_server, to_client, End::ControlPlane);
    tokio::select! {
        biased;
        () = link.broken(resets_so_far) => {}
        // One end that has said all does not keep the other from answering.
        _ = async { tokio::try_join!(there, back) } => {}
    }
}

/// Carries what goes to one end.
async fn pump(link: &Link, from: OwnedReadHalf, to: OwnedWriteHalf, end: End) -> io::Result<()> {
    let (under_way, arriving) = mpsc::channel(UNDER_WAY);
    tokio::try_join!(take(link, from, under_way), hand_over(link, arriving, to, end)).map(drop)
}

/// When something is there at the earliest, by the time since the start of the clock.
type Parcel = (Duration, Bytes);

async fn take(link: &Link, mut from: OwnedReadHalf, under_way: mpsc::Sender<Parcel>) -> io::Result<()> {
    loop {
        let mut chunk = BytesMut::with_capacity(CHUNK);
        match from.read_buf(&mut chunk).await {
            Ok(1..) => {}
            ended => {
                link.tells_ends().await;
                return ended.map(drop);
            }
        }
        let parcel = (link.clock().elapsed() + link.delay(), chunk.freeze());
        if under_way.send(parcel).await.is_err() {
            return Ok(());
        }
    }
}

async fn hand_over(
    link: &Link,
    mut arriving: mpsc::Receiver<Parcel>,
    mut to: OwnedWriteHalf,
    end: End,
) -> io::Result<()> {
    // When what came before has got through.
    let mut free = Duration::ZERO;
    while let Some((due, chunk)) = arriving.recv().await {
        free = due.max(free) + link.takes(chunk.len() as u64);
        wait_until(link.clock(), free).await;
        link.passable(end).await;
        to.write_all(&chunk).await?;
    }
    link.passable(end).await;
    to.shutdown().await
}

async fn wait_until(clock: Clock, due: Duration) {
    let left = due.saturating_sub(clock.elapsed());
    if !left.is_zero() {
        clock.sleep(left).await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use capsize_clock::{Seed, live};
    use tokio::time::timeout;

    use super::*;
    use crate::link::{Direction, LinkFault};

    /// No answer comes within this where none may come; every other wait is longer.
    const SILENCE: Duration = Duration::from_millis(200);
    const PATIENCE: Duration = Duration::from_secs(20);

    /// A server that says everything twice, behind a door.
    async fn twice(link: &Link) -> (Door, JoinSet<()>) {
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
        (Door::open(link.clone(), address).await.unwrap(), server)
    }

    async fn answer(stream: &mut TcpStream) -> io::Result<String> {
        let mut words = [0; 8];
        timeout(PATIENCE, stream.read_exact(&mut words)).await.expect("an answer, or an end")?;
        Ok(String::from_utf8_lossy(&words).into_owned())
    }

    fn with_link<F: Future<Output = ()>>(test: impl FnOnce(Link) -> F) {
        live(Seed(1), 1.0, |run| test(Link::new(run.clock, run.seed.stream("link")))).unwrap();
    }

    /// A connection that has been used.
    async fn open(door: &Door) -> TcpStream {
        let mut stream = TcpStream::connect(door.address()).await.unwrap();
        stream.write_all(b"ahoy").await.unwrap();
        assert_eq!(answer(&mut stream).await.unwrap(), "ahoyahoy");
        stream
    }

    /// Whether a new connection is good for anything.
    async fn answers(door: &Door) -> bool {
        let mut stream = TcpStream::connect(door.address()).await.unwrap();
        let _reset = stream.write_all(b"ahoy").await;
        answer(&mut stream).await.is_ok()
    }

    #[test]
    fn a_reset_ends_what_is_open_and_nothing_that_comes() {
        with_link(|link| async move {
            let (door, _server) = twice(&link).await;
            let mut stream = open(&door).await;
            let _fault = link.apply(LinkFault::Reset);
            assert!(answer(&mut stream).await.is_err());
            open(&door).await;
        });
    }

    #[test]
    fn new_connections_are_refused_and_the_old_stay() {
        with_link(|link| async move {
            let (door, _server) = twice(&link).await;
            let mut stream = open(&door).await;
            let fault = link.apply(LinkFault::RefuseNew);
            assert!(!answers(&door).await);
            stream.write_all(b"land").await.unwrap();
            assert_eq!(answer(&mut stream).await.unwrap(), "landland");
            drop(fault);
            assert!(answers(&door).await);
        });
    }

    #[test]
    fn so_many_of_a_hundred_connections_are_lost() {
        with_link(|link| async move {
            let (door, _server) = twice(&link).await;
            let _fault = link.apply(LinkFault::Lose(30));
            let mut lost = 0;
            for _ in 0..200 {
                lost += u32::from(!answers(&door).await);
            }
            assert!((30..90).contains(&lost), "{lost} of 200");
        });
    }

    #[test]
    fn a_narrow_link_takes_its_time_for_much() {
        with_link(|link| async move {
            let (door, _server) = twice(&link).await;
            let mut stream = open(&door).await;
            let _fault = link.apply(LinkFault::Bandwidth(10_000.try_into().unwrap()));
            let before = link.clock().elapsed();
            // 2000 bytes there at 10 kB/s, and 4000 back, of which the first are on their way early.
            stream.write_all(&b"ahoy".repeat(500)).await.unwrap();
            for _ in 0..500 {
                answer(&mut stream).await.unwrap();
            }
            let took = link.clock().elapsed() - before;
            assert!(took >= Duration::from_millis(400), "{took:?}");
        });
    }

    #[test]
    fn an_end_is_not_told_while_the_link_is_half_open() {
        with_link(|link| async move {
            let (door, _server) = twice(&link).await;
            let mut stream = open(&door).await;
            let fault = link.apply(LinkFault::HalfOpen);
            stream.shutdown().await.unwrap();
            let told = timeout(SILENCE, stream.read(&mut [0])).await;
            assert!(told.is_err(), "{told:?}");
            drop(fault);
            assert_eq!(timeout(PATIENCE, stream.read(&mut [0])).await.unwrap().unwrap(), 0);
        });
    }

    #[test]
    fn jitter_overtakes_nothing() {
        with_link(|link| async move {
            let (door, _server) = twice(&link).await;
            let mut stream = open(&door).await;
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
    fn what_is_said_comes_through_and_the_answer_too() {
        with_link(|link| async move {
            let (door, _server) = twice(&link).await;
            let mut stream = TcpStream::connect(door.address()).await.unwrap();
            for word in ["ahoy", "land"] {
                stream.write_all(word.as_bytes()).await.unwrap();
                assert_eq!(answer(&mut stream).await.unwrap(), word.repeat(2));
            }
            stream.shutdown().await.unwrap();
            assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        });
    }

    #[test]
    fn what_a_black_hole_swallows_arrives_after_the_heal() {
        for direction in [Direction::Both, Direction::ToMember, Direction::FromMember] {
            with_link(|link| async move {
                let (door, _server) = twice(&link).await;
                let mut stream = TcpStream::connect(door.address()).await.unwrap();
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
    fn a_refused_link_resets_what_is_open_and_what_comes() {
        with_link(|link| async move {
            let (door, _server) = twice(&link).await;
            let mut open = TcpStream::connect(door.address()).await.unwrap();
            open.write_all(b"ahoy").await.unwrap();
            answer(&mut open).await.unwrap();
            let fault = link.apply(LinkFault::Refuse);
            assert!(answer(&mut open).await.is_err());
            let mut new = TcpStream::connect(door.address()).await.unwrap();
            let _reset = new.write_all(b"ahoy").await;
            assert!(answer(&mut new).await.is_err());
            drop(fault);
            let mut healed = TcpStream::connect(door.address()).await.unwrap();
            healed.write_all(b"ahoy").await.unwrap();
            assert_eq!(answer(&mut healed).await.unwrap(), "ahoyahoy");
        });
    }

    #[test]
    fn a_slow_link_takes_its_time_there_and_back_and_no_more_for_much() {
        with_link(|link| async move {
            let (door, _server) = twice(&link).await;
            let mut stream = TcpStream::connect(door.address()).await.unwrap();
            let _fault = link.apply(LinkFault::Delay(Duration::from_millis(100)));
            let before = link.clock().elapsed();
            // Words that are under way do not wait for one another.
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
