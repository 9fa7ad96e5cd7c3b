//! Every sequence of bytes gets an answer: a Status with the code of the response, or plain text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use capsize_apiserver::ApiServer;
use capsize_clock::{Seed, simulate};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use proptest::prelude::*;
use serde_json::Value;

use crate::support;

/// A request of a client, valid or invalid.
#[derive(Clone, Debug)]
struct Raw {
    method: String,
    path: String,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
}

/// One of the words of a text.
fn word(words: &'static str) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words.split_whitespace().collect::<Vec<_>>())
}

fn method() -> impl Strategy<Value = String> {
    let known = "GET POST PUT PATCH DELETE HEAD OPTIONS TRACE";
    prop_oneof![9 => word(known).prop_map(str::to_owned), 1 => "[A-Z]{1,8}"]
}

/// Paths with known and unknown parts.
fn path() -> impl Strategy<Value = String> {
    let known = "api apis v1 apps namespaces default pods deployments configmaps status scale apiextensions.k8s.io \
        customresourcedefinitions leases coordination.k8s.io a binding eviction token serviceaccounts nodes \
        watch openapi v3 healthz version finalize x.y gizmos";
    let part = prop_oneof![
        9 => word(known).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9._~%:@!$&'()*+,;=-]{0,12}",
    ];
    let whole = [
        "/api/v1/namespaces/default/pods",
        "/api/v1/namespaces/default/pods/a",
        "/api/v1/nodes",
        "/api/v1/configmaps",
        "/apis/apps/v1/namespaces/default/deployments",
        "/apis/apps/v1/namespaces/default/deployments/a",
        "/apis/apps/v1/namespaces/default/deployments/a/scale",
        "/api/v1/namespaces/default/pods/a/status",
        "/api/v1/namespaces/default/configmaps/a",
        "/apis/coordination.k8s.io/v1/namespaces/default/leases/a",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/x.y/v1/namespaces/default/gizmos/a",
        "/apis/x.y/v1/namespaces/default/gizmos",
        "/api/v1/namespaces/default/pods/a/eviction",
    ];
    let parts = prop::collection::vec(part, 0..9).prop_map(|parts| format!("/{}", parts.join("/")));
    prop_oneof![2 => prop::sample::select(whole.to_vec()).prop_map(str::to_owned), 1 => parts]
}

fn query() -> impl Strategy<Value = String> {
    let keys = "watch limit continue resourceVersion resourceVersionMatch labelSelector fieldSelector dryRun \
        fieldManager fieldValidation force sendInitialEvents allowWatchBookmarks timeoutSeconds pretty \
        gracePeriodSeconds propagationPolicy includeObject";
    let values = "1 0 true false -1 All Strict Warn a=b metadata.name=a NotOlderThan Exact 99999999999999999999 \
        Foreground Object %00 a,b,!c = 18446744073709551615";
    let value = prop_oneof![
        8 => word(values).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["", "a in (b"]).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9%=,!()-]{0,20}",
    ];
    let pair = (word(keys), value).prop_map(|(key, value)| format!("{key}={value}"));
    prop::collection::vec(pair, 0..4).prop_map(|pairs| pairs.join("&"))
}

fn header() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let names =
        ["accept", "content-type", "user-agent", "authorization", "impersonate-user", "if-none-match"];
    let values = [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "*/*",
        "text/html",
        "",
        "Bearer x",
        "application/json;charset=utf-8",
        ";;;",
        "application/vnd.kubernetes.protobuf,*/*",
    ];
    let value = prop_oneof![
        9 => prop::sample::select(values.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(0x20_u8..=0xff, 0..30),
    ];
    (prop::sample::select(names.to_vec()), value)
}

/// JSON that may be an object of a kind.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        word("v1 apps/v1 Pod Deployment ConfigMap Lease a x.y/v1 Gizmo").prop_map(Value::from),
    ];
    let keys = "apiVersion kind metadata name namespace labels annotations finalizers ownerReferences spec status \
        template containers selector matchLabels replicas data resourceVersion uid op path value $patch \
        managedFields versions schema openAPIV3Schema conditions taints rules";
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(word(keys).prop_map(str::to_owned), inner, 0..7)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Protobuf bodies of kubectl: a Namespace and a Deployment.
const PROTOBUF: [&str; 2] = [
    "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEh0KFQoFb3RoZXISABoAIgAqADIAOABCABIAGgIKABoAIgA=",
    "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50EhsKGwoBeBIAGgAiACoAMgA4AEIAWggKA2FwcBIBeBIA",
];

fn body() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..80);
    let cut = (json(), any::<prop::sample::Index>()).prop_map(|(value, at)| {
        let text = value.to_string().into_bytes();
        text[..at.index(text.len() + 1)].to_vec()
    });
    let protobuf = (prop::sample::select(PROTOBUF.to_vec()), any::<prop::sample::Index>(), any::<u8>())
        .prop_map(|(text, at, byte)| {
            let mut bytes = STANDARD.decode(text).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        });
    prop_oneof![
        2 => Just(Vec::new()),
        5 => json().prop_map(|value| value.to_string().into_bytes()),
        1 => cut,
        2 => protobuf,
        1 => bytes.clone().prop_map(|bytes| [b"k8s\0".to_vec(), bytes].concat()),
        1 => bytes,
    ]
}

fn raw() -> impl Strategy<Value = Raw> {
    (method(), path(), query(), prop::collection::vec(header(), 0..4), body()).prop_map(
        |(method, path, query, headers, body)| Raw { method, path: format!("{path}?{query}"), headers, body },
    )
}

/// The request; `None` if no HTTP library would send it.
fn request(raw: &Raw) -> Option<Request<Bytes>> {
    let mut headers = HeaderMap::new();
    for (name, value) in &raw.headers {
        headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value).ok()?);
    }
    let mut request = Request::new(Bytes::from(raw.body.clone()));
    *request.method_mut() = Method::from_bytes(raw.method.as_bytes()).ok()?;
    *request.uri_mut() = raw.path.parse::<Uri>().ok()?;
    *request.headers_mut() = headers;
    Some(request)
}

/// Returns true if a client can read the response.
fn is_proper(status: StatusCode, body: &Value) -> bool {
    if !status.is_client_error() && !status.is_server_error() {
        return true;
    }
    match body {
        Value::String(_) => true,
        body => body["kind"] == "Status" && body["code"] == status.as_u16(),
    }
}

proptest! {
    // The environment variable PROPTEST_CASES sets the number of cases. CI runs cases for one minute.
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_request_gets_an_answer(requests in prop::collection::vec(raw(), 1..40)) {
        let wrong = simulate(Seed(1), |run| async move {
            let server = ApiServer::builder(run.clock, run.seed.stream("api")).track_updates(true).build();
            for raw in &requests {
                let Some(request) = request(raw) else { continue };
                let answer = support::send(&server, request).await;
                if !is_proper(answer.status, &answer.body) || answer.status == StatusCode::NOT_IMPLEMENTED {
                    return Some(format!("{raw:?}: {} {}", answer.status, answer.body));
                }
                assert!(answer.headers.contains_key("content-type") || answer.body == "", "{raw:?}");
            }
            None
        });
        prop_assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    }
}
