//! Who requests are from, what they may do, and the tokens of service accounts.

#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

mod support;

use std::time::Duration;

use bytes::Bytes;
use capsize_apiserver::{ApiServer, Builder, ClientCertificate, User};
use capsize_clock::{Seed, Simulation, simulate};
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use support::Answer;
use tower::ServiceExt;

/// Runs a test on a server that is set up as `set_up` says.
fn with_server<F>(set_up: fn(Builder) -> Builder, test: impl FnOnce(Client) -> F + Send) -> F::Output
where
    F: Future<Output: Send>,
{
    simulate(Seed(1), |run: Simulation| {
        let server = set_up(ApiServer::builder(run.clock, run.seed.stream("api"))).build();
        test(Client { server, run, headers: Vec::new() })
    })
}

/// Sends requests with the same headers.
#[derive(Clone)]
struct Client {
    server: ApiServer,
    run: Simulation,
    headers: Vec<(&'static str, String)>,
}

impl Client {
    fn with(&self, name: &'static str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.push((name, value.to_owned()));
        client
    }

    fn bearing(&self, token: &str) -> Self {
        self.with("authorization", &format!("Bearer {token}"))
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Request<Bytes> {
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

    async fn send(&self, method: &str, path: &str, body: Value) -> Answer {
        support::send(&self.server, self.request(method, path, &body)).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, Value::Null).await
    }

    /// Posts an object that must be taken.
    async fn create(&self, path: &str, body: Value) -> Value {
        let answer = self.send("POST", path, body).await;
        assert_eq!(answer.status, 201, "{path}: {}", answer.body);
        answer.body
    }

    async fn whoami(&self) -> Value {
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        self.create(path, review).await["status"]["userInfo"].take()
    }

    /// Asks for a token of the service account `robot` of the namespace `default`.
    async fn token(&self, spec: Value) -> Answer {
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
        self.send("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", request).await
    }

    async fn robot(&self) -> Value {
        let robot = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
        self.create("/api/v1/namespaces/default/serviceaccounts", robot).await
    }

    async fn secret(&self, kind: &str, name: &str, annotations: Value) -> Value {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": {"name": name, "annotations": annotations}});
        self.create("/api/v1/namespaces/default/secrets", secret).await
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn two_users(builder: Builder) -> Builder {
    builder.token("root", User::admin()).token("eve's", User::new("eve", ["dev"]))
}

fn with_rbac(builder: Builder) -> Builder {
    two_users(builder).rbac(true)
}

#[test]
fn without_authentication_everybody_is_an_administrator() {
    with_server(
        |builder| builder,
        |client| async move {
            let admin = json!({"username": "admin", "uid": "admin",
                "groups": ["system:masters", "system:authenticated"]});
            assert_eq!(client.whoami().await, admin);
            assert_eq!(client.bearing("anything").whoami().await, admin);
        },
    );
}

#[test]
fn a_token_says_who_one_is_and_others_are_told_401() {
    with_server(two_users, |client| async move {
        let eve = json!({"username": "eve", "groups": ["dev", "system:authenticated"]});
        assert_eq!(client.bearing("eve's").whoami().await, eve);
        let unauthorized = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "Unauthorized", "reason": "Unauthorized", "code": 401});
        let wrong =
            [client.clone(), client.bearing("nobody's"), client.with("authorization", "Basic cm9vdDo=")];
        for client in wrong {
            let answer = client.get("/api/v1/pods").await;
            assert_eq!((answer.status.as_u16(), answer.body), (401, unauthorized.clone()));
        }
    });
}

#[test]
fn without_credentials_one_is_anonymous_where_that_is_let_in_but_a_wrong_token_is_refused() {
    with_server(
        |builder| two_users(builder).anonymous(true),
        |client| async move {
            let nobody = json!({"username": "system:anonymous", "groups": ["system:unauthenticated"]});
            assert_eq!(client.whoami().await, nobody);
            assert_eq!(client.bearing("nobody's").get("/api").await.status, 401);
        },
    );
}

/// A certificate of the common name `eve` and the organisations `dev` and `ops`, in DER.
fn certificate() -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(include_str!("auth/eve.der.base64").trim()).unwrap()
}

#[test]
fn a_client_certificate_names_the_user_and_the_groups() {
    with_server(two_users, |client| async move {
        let mut request = client.bearing("eve's").request(
            "POST",
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            &json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
        );
        request.extensions_mut().insert(ClientCertificate(Bytes::from(certificate())));
        let answer = support::send(&client.server, request).await;
        let user = &answer.body["status"]["userInfo"];
        assert_eq!(user["groups"], json!(["dev", "ops", "system:authenticated"]));
        let id = text(&user["extra"]["authentication.kubernetes.io/credential-id"][0]);
        assert!(id.starts_with("X509SHA256=") && id.len() == 75, "{user}");
        // What is no certificate says nothing, and the token counts.
        let mut request = client.bearing("eve's").request("GET", "/api/v1/pods", &Value::Null);
        request.extensions_mut().insert(ClientCertificate(Bytes::from_static(b"\x30\x82")));
        assert_eq!(support::send(&client.server, request).await.status, 200);
    });
}

#[test]
fn what_no_rule_allows_is_forbidden_and_says_what_it_was() {
    with_server(with_rbac, |client| async move {
        let eve = client.bearing("eve's");
        let answer = eve.get("/api/v1/namespaces/default/pods/p").await;
        let message = r#"pods "p" is forbidden: User "eve" cannot get resource "pods" in API group "" in the namespace "default""#;
        let forbidden = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": "Forbidden", "details": {"name": "p", "kind": "pods"}, "code": 403});
        assert_eq!((answer.status.as_u16(), answer.body), (403, forbidden));
        assert_eq!(eve.get("/metrics").await.body["details"], json!({}));
        // Everybody may look around; nobody in particular may see that the server is there.
        for path in ["/api", "/apis", "/version", "/api/v1"] {
            assert_eq!(eve.get(path).await.status, 200, "{path}");
        }
        assert_eq!(client.get("/version").await.status, 200);
        let message = r#"forbidden: User "system:anonymous" cannot get path "/api""#;
        assert_eq!(client.get("/api").await.body["message"], message);
        assert_eq!(client.bearing("root").get("/api/v1/pods").await.status, 200);
    });
}

#[test]
fn a_binding_lets_in_as_soon_as_it_is_there_and_no_longer_than_that() {
    with_server(with_rbac, |client| async move {
        let (root, eve) = (client.bearing("root"), client.bearing("eve's"));
        let group = "/apis/rbac.authorization.k8s.io/v1";
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "viewers"}, "subjects": [{"kind": "Group", "name": "dev",
            "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}});
        root.create(&format!("{group}/namespaces/default/rolebindings"), binding).await;
        // The rules of `view` are those of another role, by its label.
        assert_eq!(eve.get("/api/v1/namespaces/default/pods").await.status, 200);
        assert_eq!(eve.get("/api/v1/namespaces/default/secrets").await.status, 403);
        assert_eq!(eve.get("/api/v1/namespaces/kube-system/pods").await.status, 403);
        assert_eq!(eve.get("/api/v1/pods").await.status, 403);
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "more", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
            "rules": [{"verbs": ["list"], "apiGroups": [""], "resources": ["secrets"]}]});
        root.create(&format!("{group}/clusterroles"), role).await;
        assert_eq!(eve.get("/api/v1/namespaces/default/secrets").await.status, 200);
        root.send("DELETE", &format!("{group}/clusterroles/more"), Value::Null).await;
        assert_eq!(eve.get("/api/v1/namespaces/default/secrets").await.status, 403);
        root.send("DELETE", &format!("{group}/namespaces/default/rolebindings/viewers"), Value::Null).await;
        assert_eq!(eve.get("/api/v1/namespaces/default/pods").await.status, 403);
    });
}

#[test]
fn a_binding_to_a_role_that_is_not_there_is_told_with_the_refusal() {
    with_server(with_rbac, |client| async move {
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "b"}, "subjects": [{"kind": "User", "name": "eve",
            "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"kind": "ClusterRole", "name": "gone", "apiGroup": "rbac.authorization.k8s.io"}});
        let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        client.bearing("root").create(path, binding).await;
        let answer = client.bearing("eve's").get("/api/v1/nodes").await;
        let tail = r#"at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found"#;
        assert!(text(&answer.body["message"]).ends_with(tail), "{}", answer.body);
    });
}

#[test]
fn impersonation_has_to_be_allowed_and_then_counts_as_the_other() {
    with_server(with_rbac, |client| async move {
        let refused = client.bearing("eve's").with("impersonate-user", "root").get("/api").await;
        let message = r#"users "root" is forbidden: User "eve" cannot impersonate resource "users" in API group "" at the cluster scope"#;
        assert_eq!((refused.status.as_u16(), text(&refused.body["message"])), (403, message));
        let eve = client.bearing("root").with("impersonate-user", "eve");
        assert_eq!(eve.get("/api/v1/pods").await.status, 403);
        let other = eve.with("impersonate-group", "dev").with("impersonate-extra-scopes", "s");
        let expected = json!({"username": "eve", "groups": ["dev", "system:authenticated"],
            "extra": {"scopes": ["s"]}});
        assert_eq!(other.whoami().await, expected);
    });
}

#[test]
fn reviews_of_access_answer_as_the_server_would_decide() {
    with_server(with_rbac, |client| async move {
        let root = client.bearing("root");
        let review = |kind: &str, spec: Value| json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec});
        let group = "/apis/authorization.k8s.io/v1";
        let list = json!({"verb": "list", "resource": "pods", "namespace": "default"});
        let own = review("SelfSubjectAccessReview", json!({"resourceAttributes": list}));
        let path = format!("{group}/selfsubjectaccessreviews");
        let answer = client.bearing("eve's").create(&path, own.clone()).await;
        assert_eq!(answer["status"], json!({"allowed": false}));
        assert_eq!(root.create(&path, own).await["status"], json!({"allowed": true}));
        let path = format!("{group}/subjectaccessreviews");
        let of = json!({"groups": ["system:authenticated"], "nonResourceAttributes": {"verb": "get", "path": "/api"}});
        let answer = root.create(&path, review("SubjectAccessReview", of)).await;
        let reason = r#"RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated""#;
        assert_eq!(answer["status"], json!({"allowed": true, "reason": reason}));
        let path = format!("{group}/namespaces/default/localsubjectaccessreviews");
        let of = json!({"user": "eve", "resourceAttributes": list});
        let answer = root.create(&path, review("LocalSubjectAccessReview", of)).await;
        assert_eq!(answer["status"], json!({"allowed": false}));
        let path = format!("{group}/selfsubjectrulesreviews");
        let rules = review("SelfSubjectRulesReview", json!({"namespace": "default"}));
        let answer = client.bearing("eve's").create(&path, rules).await;
        let resources = answer["status"]["resourceRules"].as_array().unwrap();
        assert_eq!(resources[0]["resources"], json!(["selfsubjectaccessreviews", "selfsubjectrulesreviews"]));
        assert_eq!(answer["status"]["incomplete"], false);
    });
}

#[test]
fn a_review_that_asks_nothing_is_invalid() {
    with_server(
        |builder| builder,
        |client| async move {
            let send = |plural: &'static str, kind: &'static str, spec: Value| {
                let client = client.clone();
                async move {
                    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec});
                    let answer =
                        client.send("POST", &format!("/apis/authorization.k8s.io/v1/{plural}"), review).await;
                    (answer.status.as_u16(), answer.body["message"].as_str().unwrap().to_owned())
                }
            };
            let nothing = r#".authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"#;
            let answer = send("selfsubjectaccessreviews", "SelfSubjectAccessReview", json!({})).await;
            assert_eq!(answer, (422, nothing.to_owned()));
            let of = json!({"nonResourceAttributes": {"path": "/", "verb": "get"}, "resourceAttributes": {}});
            let both = r#".authorization.k8s.io "" is invalid: [spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: cannot be specified in combination with resourceAttributes, spec.user: Invalid value: "": at least one of user or group must be specified]"#;
            let answer = send("subjectaccessreviews", "SubjectAccessReview", of).await;
            assert_eq!(answer, (422, both.to_owned()));
            let elsewhere = json!({"user": "eve", "resourceAttributes": {"namespace": "other"}});
            let plural = "namespaces/default/localsubjectaccessreviews";
            let wrong = r#".authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace"#;
            let answer = send(plural, "LocalSubjectAccessReview", elsewhere).await;
            assert_eq!(answer, (422, wrong.to_owned()));
            let answer = send("selfsubjectrulesreviews", "SelfSubjectRulesReview", json!({})).await;
            assert_eq!(answer, (400, "no namespace on request".to_owned()));
            let answer = client.get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").await;
            assert_eq!(answer.status, 405);
            let answer = client.get("/apis/authorization.k8s.io/v1/localsubjectaccessreviews").await;
            assert_eq!(answer.status, 404);
        },
    );
}

#[test]
fn a_requested_token_authenticates_until_it_has_expired() {
    with_server(two_users, |client| async move {
        let root = client.bearing("root");
        let robot = root.robot().await;
        let answer = root.token(json!({"expirationSeconds": 600})).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        assert_eq!(answer.body["metadata"]["uid"], robot["metadata"]["uid"]);
        assert_eq!(answer.body["spec"]["audiences"], json!(["https://127.0.0.1"]));
        let client = client.bearing(text(&answer.body["status"]["token"]));
        let user = client.whoami().await;
        assert_eq!(user["username"], "system:serviceaccount:default:robot");
        assert_eq!(user["uid"], robot["metadata"]["uid"]);
        let groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
        assert_eq!(user["groups"], json!(groups));
        client.run.clock.sleep(Duration::from_secs(659)).await;
        assert_eq!(client.get("/api").await.status, 200);
        client.run.clock.sleep(Duration::from_secs(1)).await;
        assert_eq!(client.get("/api").await.status, 401);
    });
}

#[test]
fn a_token_does_not_outlive_its_account_or_what_it_is_bound_to() {
    with_server(two_users, |client| async move {
        let root = client.bearing("root");
        root.robot().await;
        root.secret("Opaque", "s", json!({})).await;
        let reference = json!({"kind": "Secret", "apiVersion": "v1", "name": "s"});
        let bound = root.token(json!({"boundObjectRef": reference})).await.body;
        let free = root.token(json!({})).await.body;
        let (bound, free) = (&bound["status"]["token"], &free["status"]["token"]);
        let (bound, free) = (client.bearing(text(bound)), client.bearing(text(free)));
        assert_eq!(
            (bound.get("/api").await.status, free.get("/api").await.status),
            (200.try_into().unwrap(), 200.try_into().unwrap())
        );
        root.send("DELETE", "/api/v1/namespaces/default/secrets/s", Value::Null).await;
        assert_eq!(bound.get("/api").await.status, 401);
        assert_eq!(free.get("/api").await.status, 200);
        root.send("DELETE", "/api/v1/namespaces/default/serviceaccounts/robot", Value::Null).await;
        assert_eq!(free.get("/api").await.status, 401);
        // An account of the same name is another.
        root.robot().await;
        assert_eq!(free.get("/api").await.status, 401);
    });
}

#[test]
fn a_token_request_is_refused_as_a_real_server_refuses_it() {
    with_server(
        |builder| builder,
        |client| async move {
            let path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
            let answer = client.token(json!({})).await;
            assert_eq!(
                (answer.status.as_u16(), text(&answer.body["message"])),
                (404, r#"serviceaccounts "robot" not found"#)
            );
            let robot = client.robot().await;
            let uid = text(&robot["metadata"]["uid"]);
            let table = [
                (
                    json!({"expirationSeconds": 599}),
                    422,
                    r#"TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"#,
                ),
                (
                    json!({"expirationSeconds": 4_294_967_297_i64}),
                    422,
                    r#"TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"#,
                ),
                (
                    json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}),
                    404,
                    r#"pods "p" not found"#,
                ),
                (
                    json!({"boundObjectRef": {"kind": "Job", "apiVersion": "batch/v1", "name": "p"}}),
                    400,
                    "cannot bind token to object of type batch/v1, Kind=Job",
                ),
            ];
            for (spec, code, message) in table {
                let answer = client.token(spec).await;
                assert_eq!((answer.status.as_u16(), text(&answer.body["message"])), (code, message));
            }
            let named = |metadata: Value| json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": metadata, "spec": {}});
            let answer = client.send("POST", path, named(json!({"name": "other"}))).await;
            let message = r#"TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified"#;
            assert_eq!((answer.status.as_u16(), text(&answer.body["message"])), (422, message));
            let answer = client.send("POST", path, named(json!({"uid": "stale"}))).await;
            let message = format!(
                r#"Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in the token request (stale) does not match the UID of the service account ({uid})"#
            );
            assert_eq!((answer.status.as_u16(), text(&answer.body["message"])), (409, message.as_str()));
            assert_eq!(client.get(path).await.status, 405);
        },
    );
}

#[test]
fn a_token_review_tells_whose_a_token_is_and_for_whom() {
    with_server(two_users, |client| async move {
        let root = client.bearing("root");
        root.robot().await;
        let token = root.token(json!({"audiences": ["vault"]})).await.body["status"]["token"].take();
        let review = async |spec: Value| {
            let review =
                json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec});
            root.create("/apis/authentication.k8s.io/v1/tokenreviews", review).await["status"].take()
        };
        let status = review(json!({"token": token, "audiences": ["vault", "other"]})).await;
        assert_eq!((&status["authenticated"], &status["audiences"]), (&json!(true), &json!(["vault"])));
        assert_eq!(status["user"]["username"], "system:serviceaccount:default:robot");
        let status = review(json!({"token": token})).await;
        let error = r#"[invalid bearer token, token audiences ["vault"] is invalid for the target audiences ["https://127.0.0.1"]]"#;
        assert_eq!(status, json!({"user": {}, "error": error}));
        let status = review(json!({"token": "eve's"})).await;
        assert_eq!(
            (&status["user"]["username"], &status["audiences"]),
            (&json!("eve"), &json!(["https://127.0.0.1"]))
        );
        let status = review(json!({"token": "junk"})).await;
        assert_eq!(status, json!({"user": {}, "error": "invalid bearer token"}));
    });
}

#[test]
fn what_controllers_do_for_service_accounts_is_done_where_it_is_asked_for() {
    let set_up = |builder| two_users(builder).service_account_controllers(true).certificate_authority("PEM");
    with_server(set_up, |client| async move {
        let root = client.bearing("root");
        let map = root.get("/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt").await.body;
        assert_eq!(map["data"], json!({"ca.crt": "PEM"}));
        let account = "/api/v1/namespaces/default/serviceaccounts/default";
        let first = root.get(account).await.body["metadata"]["uid"].take();
        root.send("DELETE", account, Value::Null).await;
        assert_ne!(root.get(account).await.body["metadata"]["uid"], first);
        let kind = "kubernetes.io/service-account-token";
        root.secret(kind, "t", json!({"kubernetes.io/service-account.name": "robot"})).await;
        let path = "/api/v1/namespaces/default/secrets/t";
        assert_eq!(root.get(path).await.body["data"], Value::Null);
        root.robot().await;
        let data = root.get(path).await.body["data"].take();
        assert_eq!((text(&data["ca.crt"]), text(&data["namespace"])), ("UEVN", "ZGVmYXVsdA=="));
        use base64::Engine as _;
        let token = base64::engine::general_purpose::STANDARD.decode(text(&data["token"])).unwrap();
        let robot = client.bearing(&String::from_utf8(token).unwrap());
        assert_eq!(robot.whoami().await["username"], "system:serviceaccount:default:robot");
        root.send("DELETE", "/api/v1/namespaces/default/serviceaccounts/robot", Value::Null).await;
        assert_eq!(root.get(path).await.status, 404);
        assert_eq!(robot.get("/api").await.status, 401);
    });
}

#[test]
fn whoever_checks_tokens_finds_the_key() {
    with_server(
        |builder| builder.issuer("https://issuer.example"),
        |client| async move {
            let configuration = client.get("/.well-known/openid-configuration").await.body;
            assert_eq!(configuration["jwks_uri"], "https://issuer.example/openid/v1/jwks");
            let answer = client.get("/openid/v1/jwks").await;
            assert_eq!(answer.headers["content-type"], "application/jwk-set+json");
            assert_eq!(answer.body["keys"][0]["alg"], "ES256");
        },
    );
}

#[test]
fn nobody_grants_more_than_they_have_unless_they_may() {
    with_server(with_rbac, |client| async move {
        const GROUP: &str = "rbac.authorization.k8s.io";
        let (root, eve) = (client.bearing("root"), client.bearing("eve's"));
        let path = |plural: &str| format!("/apis/{GROUP}/v1/namespaces/default/{plural}");
        let object = |kind: &str, name: &str, fields: Value| {
            let mut object =
                json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": {"name": name}});
            object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            object
        };
        let to_eve = |role: &str| {
            json!({"roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": "eve"}]})
        };
        root.create(&path("rolebindings"), object("RoleBinding", "admins", to_eve("admin"))).await;
        let rules = |verb: &str, resource: &str| json!({"rules": [{"verbs": [verb], "apiGroups": [""], "resources": [resource]}]});
        eve.create(&path("roles"), object("Role", "held", rules("get", "pods"))).await;
        let answer = eve.send("POST", &path("roles"), object("Role", "more", rules("get", "nodes"))).await;
        let message = "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"eve\" (groups=[\"dev\" \"system:authenticated\"]) \
            is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\"]}";
        assert_eq!((answer.status.as_u16(), text(&answer.body["message"])), (403, message));
        let answer = eve
            .send("PUT", &format!("{}/held", path("roles")), object("Role", "held", rules("get", "nodes")))
            .await;
        assert_eq!(answer.status, 403);
        let binding = object("RoleBinding", "b", to_eve("cluster-admin"));
        assert_eq!(eve.send("POST", &path("rolebindings"), binding.clone()).await.status, 403);
        eve.create(&path("rolebindings"), object("RoleBinding", "v", to_eve("view"))).await;
        let bind =
            json!({"rules": [{"verbs": ["bind"], "apiGroups": [GROUP], "resources": ["clusterroles"]}]});
        root.create(&path("roles"), object("Role", "binder", bind)).await;
        let mut to_binder = to_eve("binder");
        to_binder["roleRef"]["kind"] = "Role".into();
        root.create(&path("rolebindings"), object("RoleBinding", "binders", to_binder)).await;
        eve.create(&path("rolebindings"), binding).await;
    });
}

#[test]
fn clients_inside_the_process_are_administrators_without_credentials() {
    with_server(with_rbac, |client| async move {
        let ask = |request: Request<Bytes>| {
            let service = client.server.service();
            async move { service.oneshot(request.map(Full::new)).await.unwrap().status().as_u16() }
        };
        assert_eq!(ask(client.request("GET", "/api/v1/pods", &Value::Null)).await, 200);
        let eve = client.bearing("eve's");
        assert_eq!(ask(eve.request("GET", "/api/v1/pods", &Value::Null)).await, 403);
    });
}
