//! The tokens of service accounts.

use std::time::Duration;

use serde_json::{Value, json};

use crate::auth::client::{text, two_users, with_server};

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
fn a_token_does_not_outlive_its_account_or_its_bound_object() {
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
        // A new account with the same name is a different account.
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
fn the_work_of_service_account_controllers_is_optional() {
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
fn a_token_request_has_managed_fields_without_its_status() {
    with_server(
        |builder| builder.track_updates(true),
        |client| async move {
            client.with("user-agent", "kubectl/v1").robot().await;
            let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": null},
                "status": {"token": "", "expirationTimestamp": null}});
            let path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
            let answer = client.with("user-agent", "kubectl/v1").create(path, request).await;
            let mut entry = answer["metadata"]["managedFields"][0].clone();
            entry.as_object_mut().unwrap().remove("time");
            let expected = json!({"manager": "kubectl", "operation": "Update", "subresource": "token",
                "apiVersion": "authentication.k8s.io/v1", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {"f:expirationSeconds": {}}}});
            assert_eq!(entry, expected);
        },
    );
}
