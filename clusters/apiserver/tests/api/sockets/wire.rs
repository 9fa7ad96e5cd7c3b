//! Tests of the bytes on the connection.

use std::io::Read;
use std::sync::Arc;

use capsize_apiserver::{AdmissionRequest, Limits, Server};
use flate2::read::GzDecoder;
use http::Request;
use http_body_util::{BodyExt, Full};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::sockets::support::{CONFIG_MAPS, exchange, fill, get, http, http2, https, tls};

#[tokio::test]
async fn http_1_is_spoken_over_tls_with_the_headers_of_a_real_server() {
    let (_server, listening) = https(Limits::default()).await;
    let mut stream = tls(&listening, &["http/1.1"]).await;
    stream.write_all(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    for header in
        ["audit-id: ", "date: ", "cache-control: no-cache, private", "content-type: application/json"]
    {
        assert!(head.contains(header), "{head} lacks {header}");
    }
    assert!(body.contains("gitVersion"), "{body}");
}

#[tokio::test]
async fn http_2_is_used_if_the_client_offers_it_and_an_audit_id_is_kept() {
    let (_server, listening) = https(Limits::default()).await;
    let stream = tls(&listening, &["h2", "http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let mut sender = http2::<Full<bytes::Bytes>>(&listening).await;
    let request = Request::get("https://localhost/version").header("audit-id", "mine");
    let answer = sender.send_request(request.body(Full::default()).unwrap()).await.unwrap();
    assert_eq!(answer.headers()["audit-id"], "mine");
    let first = get(&sender, "/version").await.headers()["audit-id"].clone();
    let second = get(&sender, "/version").await.headers()["audit-id"].clone();
    assert_ne!(first, second);
}

#[tokio::test]
async fn plain_http_on_the_https_port_gets_a_message() {
    let (_server, listening) = https(Limits::default()).await;
    let answer = exchange(&listening, b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 400 Bad Request\r\n"), "{answer}");
    assert!(answer.contains("Client sent an HTTP request to an HTTPS server."), "{answer}");
}

#[tokio::test]
async fn an_invalid_request_gets_400() {
    let (_server, listening) = http(Limits::default()).await;
    for bytes in ["\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n"] {
        let answer = exchange(&listening, bytes.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{bytes:?}: {answer}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_answered_431() {
    let (_server, listening) = http(Limits::default()).await;
    let large = format!("GET /version HTTP/1.1\r\nHost: x\r\nLarge: {}\r\n\r\n", "x".repeat(2 << 20));
    let answer = exchange(&listening, large.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn a_head_of_half_the_limit_passes() {
    let (_server, listening) = http(Limits::default()).await;
    let large = format!(
        "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\nLarge: {}\r\n\r\n",
        "x".repeat(512 << 10)
    );
    let answer = exchange(&listening, large.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_answered_413() {
    let (_server, listening) = http(Limits::default()).await;
    let length = 4 << 20;
    let mut large = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    large.push_str(&"x".repeat(length));
    let answer = exchange(&listening, large.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn a_large_response_is_compressed_if_the_client_accepts_gzip() {
    let (server, listening) = https(Limits::default()).await;
    let mut sender = http2::<Full<bytes::Bytes>>(&listening).await;
    let mut list = async |accepted: &str| {
        let request =
            Request::get(format!("https://localhost{CONFIG_MAPS}")).header("accept-encoding", accepted);
        let answer = sender.send_request(request.body(Full::default()).unwrap()).await.unwrap();
        let (head, body) = answer.into_parts();
        (head.headers, body.collect().await.unwrap().to_bytes())
    };
    assert!(!list("gzip").await.0.contains_key("content-encoding"), "a small answer is sent as it is");
    fill(&server, 1).await;
    let (headers, plain) = list("identity").await;
    assert!(!headers.contains_key("content-encoding"));
    let (headers, packed) = list("deflate, gzip").await;
    assert_eq!(headers["content-encoding"], "gzip");
    assert_eq!(headers["vary"], "Accept-Encoding");
    let mut unpacked = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
    assert!(packed.len() < plain.len() / 10);
    assert_eq!(unpacked, plain);
}

#[tokio::test]
async fn a_panic_of_a_handler_gets_500_and_the_server_continues() {
    let admission = Arc::new(|asked: &AdmissionRequest<'_>| {
        assert_ne!(asked.kind, "ConfigMap", "a defect, on purpose");
        Ok(None)
    });
    let server = Server::builder().admission(admission).build();
    let listening = server.listen("127.0.0.1:0").await.unwrap();
    let mut sender = http2::<Full<bytes::Bytes>>(&listening).await;
    let request =
        Request::post(format!("https://localhost{CONFIG_MAPS}")).header("content-type", "application/json");
    let body = Full::from(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#);
    let answer = sender.send_request(request.body(body).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 500);
    assert_eq!(get(&sender, "/version").await.status(), 200);
}
