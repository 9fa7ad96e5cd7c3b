//! Authentication: the user of a request.

use bytes::Bytes;
use capsize_apiserver::ClientCertificate;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::auth::client::{text, two_users, with_rbac, with_server};
use crate::support;

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
fn a_token_identifies_its_user_and_unknown_tokens_get_401() {
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
fn requests_without_credentials_can_be_anonymous_but_a_wrong_token_is_refused() {
    with_server(
        |builder| two_users(builder).anonymous(true),
        |client| async move {
            let nobody = json!({"username": "system:anonymous", "groups": ["system:unauthenticated"]});
            assert_eq!(client.whoami().await, nobody);
            assert_eq!(client.bearing("nobody's").get("/api").await.status, 401);
        },
    );
}

/// A certificate with the common name `eve` and the organisations `dev` and `ops`, in DER.
fn certificate() -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(include_str!("eve.der.base64").trim()).unwrap()
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
        // An invalid certificate is ignored, and the token counts.
        let mut request = client.bearing("eve's").request("GET", "/api/v1/pods", &Value::Null);
        request.extensions_mut().insert(ClientCertificate(Bytes::from_static(b"\x30\x82")));
        assert_eq!(support::send(&client.server, request).await.status, 200);
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

#[test]
fn a_certificate_signing_request_records_its_user() {
    with_server(with_rbac, |client| async move {
        let root = client.bearing("root");
        let bind = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "b"},
            "subjects": [{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": "rbac.authorization.k8s.io"}});
        root.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", bind).await;
        let request = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": "c"}, "spec": {"request": "LS0t", "signerName": "example.com/signer", "username": "root",
            "usages": ["client auth"]}});
        let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
        let spec = client.bearing("eve's").create(path, request).await["spec"].take();
        assert_eq!(
            (&spec["username"], &spec["groups"]),
            (&json!("eve"), &json!(["dev", "system:authenticated"]))
        );
    });
}
