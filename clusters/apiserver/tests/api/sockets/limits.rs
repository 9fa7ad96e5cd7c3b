//! The limits for clients.

use std::time::Duration;

use capsize_apiserver::Limits;
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::sockets::support::{CONFIG_MAPS, TIMEOUT, eventually, fill, get, http, http2, https};

const ONE_WATCH: Limits = Limits {
    connections: 10,
    watches: 1,
    head_bytes: 1 << 16,
    handshake: TIMEOUT,
    idle: TIMEOUT,
    request: TIMEOUT,
    stalled: Duration::from_millis(300),
    grace: TIMEOUT,
};

fn watch() -> String {
    format!("{CONFIG_MAPS}?watch=true")
}

#[tokio::test]
async fn one_watch_too_many_gets_429() {
    let limits = Limits { stalled: TIMEOUT, ..ONE_WATCH };
    let (_server, listening) = https(limits).await;
    let sender = http2(&listening).await;
    let first = get(&sender, &watch()).await;
    assert_eq!(first.status(), 200);
    let second = get(&sender, &watch()).await;
    assert_eq!(second.status(), 429);
    assert_eq!(second.headers()["retry-after"], "1");
    drop(first);
    eventually(async || (get(&sender, &watch()).await.status() == 200).then_some(())).await;
}

#[tokio::test]
async fn a_watcher_that_does_not_read_is_dropped() {
    let (server, listening) = http(ONE_WATCH).await;
    let mut lazy = TcpStream::connect(listening.address()).await.unwrap();
    let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", watch());
    lazy.write_all(request.as_bytes()).await.unwrap();
    assert_eq!(lazy.read_u8().await.unwrap(), b'H');
    fill(&server, 40).await;
    let free = async || {
        let mut other = TcpStream::connect(listening.address()).await.unwrap();
        other.write_all(request.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        other.read_exact(&mut status).await.unwrap();
        (&status == b"HTTP/1.1 200").then_some(())
    };
    eventually(free).await;
}

#[tokio::test]
async fn a_stream_that_is_not_read_is_dropped_and_the_others_go_on() {
    // The connection is shared, and ends if its client does not run for this time. A busy machine can delay a client by
    // some hundred milliseconds.
    let limits = Limits { stalled: Duration::from_secs(3), ..ONE_WATCH };
    let (server, listening) = https(limits).await;
    let sender = http2(&listening).await;
    let lazy = get(&sender, &watch()).await;
    fill(&server, 10).await;
    eventually(async || (get(&sender, &watch()).await.status() == 200).then_some(())).await;
    let whole = lazy.into_body().collect().await;
    assert!(whole.is_err(), "a watch that was given up does not look like one that has ended");
}

#[tokio::test]
async fn a_large_answer_that_is_not_read_is_given_up() {
    let (server, listening) = http(ONE_WATCH).await;
    fill(&server, 40).await;
    let mut lazy = TcpStream::connect(listening.address()).await.unwrap();
    let request = format!("GET {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\n\r\n");
    lazy.write_all(request.as_bytes()).await.unwrap();
    // The server waits for open connections. None is left after this one has been given up.
    lazy.readable().await.unwrap();
    tokio::time::timeout(TIMEOUT / 2, listening.stop()).await.expect("the connection is given up");
}

#[tokio::test]
async fn a_connection_with_no_request_is_closed() {
    let limits = Limits { idle: Duration::from_millis(100), ..ONE_WATCH };
    let (_server, listening) = http(limits).await;
    for sent in ["", "GET /version HT", "GET /version HTTP/1.1\r\nHost: x\r\n\r\n"] {
        let mut silent = TcpStream::connect(listening.address()).await.unwrap();
        silent.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        tokio::time::timeout(TIMEOUT, silent.read_to_end(&mut answer)).await.expect("it is closed").unwrap();
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_is_a_504() {
    let limits = Limits { request: Duration::from_millis(100), ..ONE_WATCH };
    let (_server, listening) = http(limits).await;
    let mut slow = TcpStream::connect(listening.address()).await.unwrap();
    let request = format!("POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{");
    slow.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(TIMEOUT, slow.read_to_string(&mut answer)).await.expect("it is answered").unwrap();
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    assert!(answer.contains(r#""reason":"Timeout""#), "{answer}");
}

#[tokio::test]
async fn more_connections_than_there_may_be_wait() {
    let limits = Limits { connections: 1, ..ONE_WATCH };
    let (_server, listening) = http(limits).await;
    let request = b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let first = TcpStream::connect(listening.address()).await.unwrap();
    let mut second = TcpStream::connect(listening.address()).await.unwrap();
    second.write_all(request).await.unwrap();
    let mut answer = String::new();
    let early = tokio::time::timeout(Duration::from_millis(50), second.read_to_string(&mut answer)).await;
    assert!(early.is_err(), "{answer}");
    drop(first);
    tokio::time::timeout(TIMEOUT, second.read_to_string(&mut answer)).await.expect("it is its turn").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}
