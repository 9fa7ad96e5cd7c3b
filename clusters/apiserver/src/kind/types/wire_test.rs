//! Tests of the protobuf reader: the result for each type, and its robustness against broken input.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::table::{self, Struct, find};
use super::wire::open;

/// A number as a varint.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: u64, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

fn body(message: &[u8]) -> Vec<u8> {
    [b"k8s\0".to_vec(), bytes(2, message)].concat()
}

fn read(of: &'static Struct, message: &[u8]) -> Result<Value, String> {
    open(&body(message))?.decode(of)
}

fn of(group: &str, version: &str, kind: &str) -> &'static Struct {
    find(group, version, kind).unwrap()
}

#[test]
fn an_empty_message_is_read_as_an_empty_object_of_go() {
    let meta = json!({"creationTimestamp": null});
    assert_eq!(read(of("", "v1", "ConfigMap"), &[]), Ok(json!({"metadata": meta})));
    assert_eq!(
        read(of("apps", "v1", "Deployment"), &[]),
        Ok(json!({"metadata": meta, "status": {}, "spec": {"selector": null, "strategy": {},
            "template": {"metadata": meta, "spec": {"containers": null}}}}))
    );
    assert_eq!(
        read(of("rbac.authorization.k8s.io", "v1", "Role"), &[]),
        Ok(json!({"metadata": meta, "rules": null}))
    );
}

#[test]
fn zero_is_kept_where_go_has_a_pointer() {
    let spec = |message: Vec<u8>| read(of("", "v1", "PodSpec"), &message).unwrap();
    let zero = spec([number(4, 0), number(11, 0), number(30, 0), bytes(29, ""), bytes(10, "")].concat());
    let expected = json!({"containers": null, "terminationGracePeriodSeconds": 0, "enableServiceLinks": false,
        "runtimeClassName": ""});
    assert_eq!(zero, expected);
}

#[test]
fn each_special_type_is_read() {
    let time = [number(1, 1_767_323_045), number(2, 678_000_999)].concat();
    let meta = [bytes(1, "n"), bytes(8, &time), bytes(11, [bytes(1, "k"), bytes(2, "v")].concat())].concat();
    let read_meta = read(of("meta", "v1", "ObjectMeta"), &meta).unwrap();
    assert_eq!(
        read_meta,
        json!({"name": "n", "creationTimestamp": "2026-01-02T03:04:05Z", "labels": {"k": "v"}})
    );

    let lease =
        read(of("coordination.k8s.io", "v1", "LeaseSpec"), &[bytes(3, &time), number(2, 15)].concat())
            .unwrap();
    assert_eq!(lease, json!({"acquireTime": "2026-01-02T03:04:05.678000Z", "leaseDurationSeconds": 15}));

    let limit = [bytes(1, "cpu"), bytes(2, bytes(1, "500m"))].concat();
    let resources = read(of("", "v1", "ResourceRequirements"), &bytes(1, &limit)).unwrap();
    assert_eq!(resources, json!({"limits": {"cpu": "500m"}}));

    let port = |of_type: u64, number_: u64, text: &str| {
        let value = [number(1, of_type), number(2, number_), bytes(3, text)].concat();
        read(of("", "v1", "ServicePort"), &[number(3, 80), bytes(4, &value)].concat()).unwrap()
    };
    assert_eq!(port(0, 8080, "x"), json!({"port": 80, "targetPort": 8080}));
    assert_eq!(port(1, 0, "http"), json!({"port": 80, "targetPort": "http"}));

    let secret = bytes(2, [bytes(1, "k"), bytes(2, [0, 255])].concat());
    assert_eq!(read(of("", "v1", "Secret"), &secret).unwrap()["data"], json!({"k": "AP8="}));

    let revision = [bytes(2, bytes(1, r#"{"a":[1]}"#)), number(3, 7)].concat();
    let revision = read(of("apps", "v1", "ControllerRevision"), &revision).unwrap();
    assert_eq!((&revision["data"], &revision["revision"]), (&json!({"a": [1]}), &json!(7)));

    let negative = number(1, (-5_i64).cast_unsigned());
    assert_eq!(read(of("apps", "v1", "DeploymentSpec"), &negative).unwrap()["replicas"], json!(-5));

    let extra = bytes(5, [bytes(1, "k"), bytes(2, [bytes(1, "a"), bytes(1, "b")].concat())].concat());
    let review = read(of("authorization.k8s.io", "v1", "SubjectAccessReviewSpec"), &extra).unwrap();
    assert_eq!(review["extra"], json!({"k": ["a", "b"]}));

    let volume = [bytes(1, "v"), bytes(2, bytes(2, []))].concat();
    assert_eq!(read(of("", "v1", "Volume"), &volume).unwrap(), json!({"name": "v", "emptyDir": {}}));
}

#[test]
fn schemas_and_their_allowed_substitutes_are_read() {
    let maximum = [varint(9 << 3 | 1), 1.5_f64.to_le_bytes().to_vec()].concat();
    let whole = [varint(11 << 3 | 1), 3.0_f64.to_le_bytes().to_vec()].concat();
    let text = bytes(5, "string");
    let item = bytes(24, bytes(1, &text));
    let items = bytes(24, [bytes(2, &text), bytes(2, &text)].concat());
    let free = bytes(30, number(1, 1));
    let map = bytes(30, [number(1, 1), bytes(2, &text)].concat());
    let default = bytes(8, bytes(1, r#"{"a":1}"#));
    let read = |message: Vec<u8>| read(table::schema(), &message).unwrap();
    assert_eq!(
        read([maximum, whole, item, free, default].concat()),
        json!({"maximum": 1.5, "minimum": 3, "items": {"type": "string"}, "additionalProperties": true, "default": {"a": 1}})
    );
    assert_eq!(
        read([items, map].concat()),
        json!({"items": [{"type": "string"}, {"type": "string"}], "additionalProperties": {"type": "string"}})
    );
}

#[test]
fn a_body_says_its_type_before_its_message() {
    let of_type = bytes(1, [bytes(1, "v1"), bytes(2, "Namespace")].concat());
    let whole = [b"k8s\0".to_vec(), of_type, bytes(2, bytes(1, bytes(1, "n")))].concat();
    let envelope = open(&whole).unwrap();
    assert_eq!((&*envelope.api_version, &*envelope.kind), ("v1", "Namespace"));
    assert_eq!(envelope.decode(of("", "v1", "Namespace")).unwrap()["metadata"]["name"], "n");
}

#[test]
fn broken_bodies_get_the_messages_of_go() {
    assert_eq!(open(b"").unwrap_err(), "empty data");
    assert_eq!(open(b"k8s\0").unwrap_err(), "empty body");
    let prefix = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
    assert_eq!(open(b"{}").unwrap_err(), prefix);
    let pod = of("", "v1", "Pod");
    let table: [(Vec<u8>, &str); 6] = [
        (vec![0x0a, 0xff], "unexpected EOF"),
        (bytes(1, "x")[..2].to_vec(), "unexpected EOF"),
        ([varint(1 << 3 | 2), varint(u64::MAX)].concat(), "unexpected EOF"),
        (vec![0xff; 11], "proto: integer overflow"),
        (vec![0x00], "proto: illegal tag 0 (wire type 0)"),
        (number(1, 5), "proto: wrong wireType = 0 for field metadata"),
    ];
    for (message, expected) in table {
        assert_eq!(read(pod, &message), Err(expected.to_owned()));
    }
}

#[test]
fn a_body_must_not_be_too_deep_or_have_too_many_values() {
    // Schemas nested in schemas.
    let mut schema = Vec::new();
    while schema.len() < 200_000 {
        schema = bytes(28, schema);
    }
    assert_eq!(read(table::schema(), &schema), Err("exceeded max depth".into()));
    let containers = [0x12, 0x00].repeat(1_500_000);
    assert_eq!(read(of("", "v1", "PodSpec"), &containers), Err("the object has too many values".into()));
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(message in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>()) {
        let all = [("", "v1", "Pod"), ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            ("batch", "v1", "CronJob"), ("meta", "v1", "DeleteOptions"), ("coordination.k8s.io", "v1", "Lease")];
        let (group, version, kind) = all[at.index(all.len())];
        let _ = open(&message).map(|envelope| envelope.decode(of(group, version, kind)));
        let _ = read(of(group, version, kind), &message);
    }

    #[test]
    fn a_message_that_is_cut_is_an_error_or_a_shorter_one(cut in 0_usize..60) {
        let container = [bytes(1, "c"), bytes(2, "image"), bytes(8, bytes(1, [bytes(1, "cpu"), bytes(2, bytes(1, "1"))].concat()))];
        let message = bytes(2, bytes(2, container.concat()));
        let cut = cut.min(message.len());
        match read(of("", "v1", "Pod"), &message[..cut]) {
            Ok(_) => prop_assert!(cut == 0 || cut == message.len()),
            Err(error) => prop_assert_eq!(error, "unexpected EOF"),
        }
    }
}
