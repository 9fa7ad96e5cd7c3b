//! Objects and manifests that are kept as text.

use capsize_api::{Identity, Manifest, RawObject};
use kube::Resource;
use kube::core::TypeMeta;
use serde_json::json;

#[test]
fn an_object_keeps_its_text_and_gets_the_types_that_a_list_lacks() {
    let text = r#"{"metadata":{"name":"web","namespace":"default"},"spec":{"b":1,"a":[{}]}}"#;
    let mut object: RawObject = serde_json::from_str(text).unwrap();
    assert_eq!(object.meta().name.as_deref(), Some("web"));
    assert_eq!(serde_json::to_string(&object).unwrap(), text);
    assert_eq!(object.fields().keys().map(AsRef::as_ref).collect::<Vec<&str>>(), ["spec"]);
    object.set_types(TypeMeta { api_version: "apps/v1".into(), kind: "Deployment".into() });
    let expected = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"a": [{}], "b": 1},
        "metadata": {"name": "web", "namespace": "default"}});
    assert_eq!(object.tree().unwrap(), expected);
    assert_eq!(RawObject::of(&expected).unwrap().tree().unwrap(), expected);
    assert!(RawObject::of(&json!({"metadata": {"name": 1}})).is_err());
}

#[test]
fn manifests_are_equal_however_they_are_formatted() {
    let read = |text: &str| serde_json::from_str::<Manifest>(text).unwrap();
    let manifest =
        read(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"},"data":{}}"#);
    let other = read(
        r#"{"kind": "ConfigMap", "apiVersion": "v1", "data": {}, "metadata": {"namespace": "n", "name": "a"}}"#,
    );
    assert_eq!(manifest, other);
    assert_ne!(manifest, read(r#"{"kind":"ConfigMap"}"#));
    assert_eq!(manifest, Manifest::of(&other.tree().unwrap()).unwrap());
    let text = |text: &str| text.to_owned();
    let identity =
        Identity { api_version: text("v1"), kind: text("ConfigMap"), namespace: text("n"), name: text("a") };
    assert_eq!(*other.identity(), identity);
    assert_eq!(*read(r#"{"kind": 1}"#).identity(), Identity::default());
    assert!(serde_json::from_str::<Manifest>(r#"["no object"]"#).is_err());
    assert_eq!(read(&serde_json::to_string(&manifest).unwrap()), manifest);
}
