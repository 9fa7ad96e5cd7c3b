//! A client that sends requests with fixed headers, and test servers.

use bytes::Bytes;
use capsize_apiserver::{ApiServer, Builder, User};
use capsize_clock::{Seed, Simulation, simulate};
use http::Request;
use serde_json::{Value, json};

use crate::support::{self, Answer};

/// Runs a test with a server that `set_up` configures.
pub(crate) fn with_server<F>(
    set_up: fn(Builder) -> Builder,
    test: impl FnOnce(Client) -> F + Send,
) -> F::Output
where
    F: Future<Output: Send>,
{
    simulate(Seed(1), |run: Simulation| {
        let server = set_up(ApiServer::builder(run.clock, run.seed.stream("api"))).build();
        test(Client { server, run, headers: Vec::new() })
    })
}

/// Sends requests with fixed headers.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) server: ApiServer,
    pub(crate) run: Simulation,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Client {
    pub(crate) fn with(&self, name: &'static str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.push((name, value.to_owned()));
        client
    }

    pub(crate) fn bearing(&self, token: &str) -> Self {
        self.with("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn request(&self, method: &str, path: &str, body: &Value) -> Request<Bytes> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if !body.is_null() {
            request = request.header("content-type", "application/json");
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        request.body(Bytes::from(body)).unwrap()
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Value) -> Answer {
        support::send(&self.server, self.request(method, path, &body)).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, Value::Null).await
    }

    /// Posts an object, which must succeed.
    pub(crate) async fn create(&self, path: &str, body: Value) -> Value {
        let answer = self.send("POST", path, body).await;
        assert_eq!(answer.status, 201, "{path}: {}", answer.body);
        answer.body
    }

    pub(crate) async fn whoami(&self) -> Value {
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        self.create(path, review).await["status"]["userInfo"].take()
    }

    /// Requests a token of the service account `robot` in the namespace `default`.
    pub(crate) async fn token(&self, spec: Value) -> Answer {
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
        self.send("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", request).await
    }

    pub(crate) async fn robot(&self) -> Value {
        let robot = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
        self.create("/api/v1/namespaces/default/serviceaccounts", robot).await
    }

    pub(crate) async fn secret(&self, kind: &str, name: &str, annotations: Value) -> Value {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": {"name": name, "annotations": annotations}});
        self.create("/api/v1/namespaces/default/secrets", secret).await
    }
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn two_users(builder: Builder) -> Builder {
    builder.token("root", User::admin()).token("eve's", User::new("eve", ["dev"]))
}

pub(crate) fn with_rbac(builder: Builder) -> Builder {
    two_users(builder).rbac(true)
}
