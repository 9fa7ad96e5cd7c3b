//! The permissions of roles and bindings.

use serde_json::{Value, json};

use crate::auth::client::{text, with_rbac, with_server};

#[test]
fn an_action_without_a_rule_is_forbidden_and_named() {
    with_server(with_rbac, |client| async move {
        let eve = client.bearing("eve's");
        let answer = eve.get("/api/v1/namespaces/default/pods/p").await;
        let message = r#"pods "p" is forbidden: User "eve" cannot get resource "pods" in API group "" in the namespace "default""#;
        let forbidden = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": "Forbidden", "details": {"name": "p", "kind": "pods"}, "code": 403});
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!((answer.status.as_u16(), answer.body), (403, forbidden));
        assert_eq!(eve.get("/metrics").await.body["details"], json!({}));
        // Authenticated users can read discovery. Anonymous users can read the version only.
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
        // The rules of `view` come from another role with a matching label.
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
fn a_refusal_names_a_binding_to_a_missing_role() {
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
fn users_cannot_grant_more_than_they_have_without_permission() {
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
