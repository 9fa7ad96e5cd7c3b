//! The stop of a server.

use std::pin::pin;
use std::time::Duration;

use capsize_apiserver::{Limits, ServeError, Server};
use futures::{StreamExt, TryStreamExt};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, WatchEvent, WatchParams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::sockets::support::{CONFIG_MAPS, TIMEOUT, fill, get, http, http2, https};

#[tokio::test]
async fn a_stop_ends_watches_as_if_their_time_were_over() {
    let (server, listening) = https(Limits::default()).await;
    let api: Api<ConfigMap> = Api::default_namespaced(listening.client().await.unwrap());
    let mut over_1 = pin!(api.watch(&WatchParams::default().disable_bookmarks(), "0").await.unwrap());
    let over_2 = get(&http2(&listening).await, &format!("{CONFIG_MAPS}?watch=true")).await;
    fill(&server, 1).await;
    assert!(matches!(over_1.try_next().await.unwrap(), Some(WatchEvent::Added(_))));
    tokio::time::timeout(TIMEOUT, listening.stop()).await.expect("it stops");
    assert!(over_1.next().await.is_none(), "the watch ends without an error");
    assert!(over_2.into_body().collect().await.is_ok(), "the watch ends without an error");
}

#[tokio::test]
async fn a_stop_waits_for_open_requests() {
    let (server, listening) = https(Limits::default()).await;
    let address = listening.address();
    let sender = http2(&listening).await;
    // A list at a future revision waits for the revision.
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let now: u64 =
        api.list(&Default::default()).await.unwrap().metadata.resource_version.unwrap().parse().unwrap();
    let path = format!("{CONFIG_MAPS}?resourceVersion={}&resourceVersionMatch=NotOlderThan", now + 1);
    let mut waiting = pin!(get(&sender, &path));
    // Streams are handled in order: when the second request has its response, the first is in progress.
    tokio::select! {
        biased;
        answer = &mut waiting => panic!("{answer:?}"),
        _ = get(&sender, "/version") => {}
    }
    let (stopped, answer, ()) = tokio::join!(
        tokio::time::timeout(TIMEOUT, listening.stop()),
        tokio::time::timeout(TIMEOUT, waiting),
        async {
            while TcpStream::connect(address).await.is_ok() {
                tokio::task::yield_now().await;
            }
            fill(&server, 1).await;
        },
    );
    stopped.expect("it stops");
    assert_eq!(answer.expect("the answer comes").status(), 200);
}

#[tokio::test]
async fn a_stop_does_not_wait_for_ever() {
    let limits = Limits { grace: Duration::from_millis(100), ..Limits::default() };
    let (_server, listening) = http(limits).await;
    let mut socket = TcpStream::connect(listening.address()).await.unwrap();
    let request = format!("POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{");
    socket.write_all(request.as_bytes()).await.unwrap();
    tokio::time::timeout(TIMEOUT, listening.stop()).await.expect("it stops");
}

#[tokio::test]
async fn a_server_that_is_dropped_cuts_its_connections() {
    let (_server, listening) = http(Limits::default()).await;
    let address = listening.address();
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    assert_eq!(socket.read_u8().await.unwrap(), b'H');
    drop(listening);
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(TIMEOUT, socket.read_to_end(&mut rest)).await.expect("it is cut");
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn an_address_that_is_taken_is_an_error() {
    let (_server, listening) = http(Limits::default()).await;
    let error = Server::builder().build().listen(listening.address()).await.unwrap_err();
    assert!(matches!(error, ServeError::Address(_)), "{error}");
}
