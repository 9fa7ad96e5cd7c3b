//! OpenAPI 3: one document per group version, and the list of documents.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use capsize_sorted::CollectSorted;
use serde_json::{Map, Value, json};

use super::custom::CustomKind;
use super::paths::paths;
use super::schemas::BUILT_IN;
use super::walk;
use crate::endpoint::access_review::REVIEWS;
use crate::endpoint::discovery::{Resource, built_in_resources};
use crate::http::respond::hash;
use crate::kind::builtin::BUILTIN;

/// A document and its hash.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub bytes: Bytes,
    pub hash: String,
}

/// The documents of built-in group versions by their paths.
pub(super) static DOCUMENTS: LazyLock<BTreeMap<String, Document>> = LazyLock::new(|| {
    let kinds = BUILTIN.iter().map(|kind| (&*kind.group, &*kind.version));
    let reviews = REVIEWS.iter().map(|(group, ..)| (*group, "v1"));
    let versions: std::collections::BTreeSet<_> = kinds.chain(reviews).collect_sorted();
    let built_in = |group: &str, version: &str| {
        let lookup = |g: &str, v: &str, k: &str| BUILT_IN.name(g, v, k).map(str::to_owned);
        let paths = paths(group, version, &built_in_resources(group, version), &lookup);
        document(paths, Map::new())
    };
    versions
        .into_iter()
        .map(|(group, version)| (path(group, version), built_in(group, version)))
        .collect_sorted()
});

/// The path of the document of a group version below `/openapi/v3`.
pub(super) fn path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// The document of a group version of custom kinds.
pub(super) fn custom(group: &str, version: &str, resources: &[Resource], kinds: &[CustomKind]) -> Document {
    let of = || kinds.iter().filter(|kind| kind.group == group && kind.version == version);
    let lookup =
        |g: &str, v: &str, k: &str| match of().find(|kind| g == group && v == version && kind.kind == k) {
            Some(kind) => Some(kind.name()),
            None => BUILT_IN.name(g, v, k).map(str::to_owned),
        };
    let definitions = of().flat_map(CustomKind::definitions).collect_sorted();
    document(paths(group, version, resources, &lookup), definitions)
}

/// A document with `paths`. It includes the definitions that the paths and `definitions` refer to.
fn document(paths: Map<String, Value>, definitions: Map<String, Value>) -> Document {
    let paths = Value::Object(paths);
    let mut schemas = BUILT_IN.reachable(&paths, &definitions);
    schemas.extend(definitions);
    schemas.values_mut().for_each(|schema| walk::change(schema, &mut set_reference_apart));
    let document = json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.2"}, "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"BearerToken": {"type": "apiKey", "name": "authorization",
            "in": "header", "description": "Bearer Token authentication"}}}});
    let bytes = Bytes::from(document.to_string());
    let hash = hash(&bytes);
    Document { bytes, hash }
}

/// In OpenAPI 3 a reference must not have siblings, so the reference moves into `allOf`.
fn set_reference_apart(schema: &mut Map<String, Value>) {
    if schema.len() > 1
        && schema.get("$ref").is_some_and(Value::is_string)
        && let Some(reference) = schema.remove("$ref")
    {
        schema.insert("allOf".to_owned(), json!([{"$ref": reference}]));
    }
}
