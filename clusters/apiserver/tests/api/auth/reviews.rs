//! The responses of reviews.

use serde_json::{Value, json};

use crate::auth::client::{two_users, with_rbac, with_server};

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
fn a_token_review_returns_the_user_and_the_audiences() {
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
