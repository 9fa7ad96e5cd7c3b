//! Kube clients over HTTPS.

use std::pin::pin;

use capsize_apiserver::{Limits, RunningServer, Server};
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams, WatchEvent, WatchParams};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use tower::service_fn;

use crate::sockets::support::{http, http2, https};

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"k": "v"}})).unwrap()
}

/// Creates an object, and waits for it in a watch.
async fn creates_and_watches(client: Client) {
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &config_map("first")).await.unwrap();
    let mut events = pin!(api.watch(&WatchParams::default().disable_bookmarks(), "0").await.unwrap());
    api.create(&PostParams::default(), &config_map("second")).await.unwrap();
    for expected in ["first", "second"] {
        match events.try_next().await.unwrap() {
            Some(WatchEvent::Added(object)) => assert_eq!(object.metadata.name.as_deref(), Some(expected)),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_kube_client_works_over_https() {
    let (_server, listening) = https(Limits::default()).await;
    creates_and_watches(listening.client().await.unwrap()).await;
}

#[tokio::test]
async fn a_kube_client_works_over_http_2() {
    let (_server, listening) = https(Limits::default()).await;
    let sender = http2::<Body>(&listening).await;
    let url: http::Uri = listening.url().parse().unwrap();
    let service = service_fn(move |mut request: http::Request<Body>| {
        let mut parts = url.clone().into_parts();
        parts.path_and_query = request.uri().path_and_query().cloned();
        *request.uri_mut() = http::Uri::from_parts(parts).unwrap();
        sender.clone().send_request(request)
    });
    creates_and_watches(Client::new(service, "default")).await;
}

#[tokio::test]
async fn a_kube_client_works_without_tls() {
    let (_server, listening) = http(Limits::default()).await;
    assert!(listening.url().starts_with("http://127.0.0.1:"));
    creates_and_watches(listening.client().await.unwrap()).await;
}

#[tokio::test]
async fn a_kubeconfig_is_all_that_a_client_needs() {
    let (_server, listening) = https(Limits::default()).await;
    let text = listening.kubeconfig();
    let kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
    let user = kubeconfig.auth_infos[0].auth_info.clone().unwrap();
    assert!(user.token.is_some() && user.client_certificate_data.is_some() && user.client_key_data.is_some());
    assert_eq!(kubeconfig.current_context.as_deref(), Some("apiserver"));
    let config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    creates_and_watches(Client::try_from(config).unwrap()).await;
}

#[tokio::test]
async fn either_of_the_kubeconfig_s_credentials_is_enough_and_none_is_not() {
    let server = Server::builder().authentication(true).build();
    let listening = server.listen("127.0.0.1:0").await.unwrap();
    let statuses = [(true, false), (false, true), (false, false)].map(async |(token, certificate)| {
        let mut config = Kubeconfig::from_yaml(&listening.kubeconfig()).unwrap();
        let user = config.auth_infos[0].auth_info.as_mut().unwrap();
        user.token = user.token.take().filter(|_| token);
        user.client_certificate_data = user.client_certificate_data.take().filter(|_| certificate);
        user.client_key_data = user.client_key_data.take().filter(|_| certificate);
        let config = Config::from_custom_kubeconfig(config, &Default::default()).await.unwrap();
        let api: Api<ConfigMap> = Api::default_namespaced(Client::try_from(config).unwrap());
        match api.list(&Default::default()).await {
            Ok(_) => 200,
            Err(kube::Error::Api(status)) => status.code,
            Err(other) => panic!("{other}"),
        }
    });
    assert_eq!(futures::future::join_all(statuses).await, [200, 200, 401]);
}

#[tokio::test]
async fn one_kubeconfig_can_hold_several_servers() {
    let named = async |name: &str| {
        let server = Server::builder().name(name).build();
        server.listen("127.0.0.1:0").await.unwrap()
    };
    let (one, two) = (named("one").await, named("two").await);
    let both = Kubeconfig::from_yaml(&RunningServer::kubeconfig_of([&one, &two])).unwrap();
    assert_eq!(both.current_context.as_deref(), Some("one"));
    let options = KubeConfigOptions { context: Some("two".into()), ..KubeConfigOptions::default() };
    let config = Config::from_custom_kubeconfig(both, &options).await.unwrap();
    assert_eq!(config.cluster_url.to_string(), format!("{}/", two.url()));
    creates_and_watches(Client::try_from(config).unwrap()).await;
}
