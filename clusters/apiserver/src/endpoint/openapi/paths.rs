//! The OpenAPI paths of a group version, with their requests.

use capsize_sorted::CollectSorted;
use serde_json::{Map, Value, json};

use super::schemas::{common, reference};
use crate::endpoint::discovery::{Resource, Subresource};
use crate::kind::kinds::api_version;

/// Finds the name of the definition of a kind by group, version and kind.
pub(super) type Lookup<'a> = &'a dyn Fn(&str, &str, &str) -> Option<String>;

type Parameter = (&'static str, &'static str, &'static str);

const PRETTY: Parameter = ("pretty", "string", "If 'true', the answer has line breaks.");
#[rustfmt::skip]
const LIST: &[Parameter] = &[
    ("allowWatchBookmarks", "boolean", "If true, the watch may send events of type BOOKMARK."),
    ("continue", "string", "The token from the previous part of a list."),
    ("fieldSelector", "string", "A selector of objects by the values of their fields."),
    ("labelSelector", "string", "A selector of objects by their labels."),
    ("limit", "integer", "The maximum number of objects in the answer."),
    ("resourceVersion", "string", "The version of the requested state."),
    ("resourceVersionMatch", "string", "The meaning of the resource version: Exact or NotOlderThan."),
    ("sendInitialEvents", "boolean", "If true, a watch begins with the existing objects, followed by a bookmark."),
    ("timeoutSeconds", "integer", "The time after which a watch ends, in seconds."),
    ("watch", "boolean", "Watch for changes instead of listing the objects."),
];
#[rustfmt::skip]
const WRITE: &[Parameter] = &[
    ("dryRun", "string", "If 'All', nothing is stored."),
    ("fieldManager", "string", "The name of the manager that owns the fields of this write."),
    ("fieldValidation", "string", "The handling of unknown and duplicate fields: Ignore, Warn or Strict."),
];
const FORCE: Parameter = ("force", "boolean", "If true, an apply takes fields from their other owners.");
#[rustfmt::skip]
const DELETE: &[Parameter] = &[
    ("dryRun", "string", "If 'All', nothing is deleted."),
    ("gracePeriodSeconds", "integer", "The time until the object is deleted, in seconds; 0 deletes the object at once."),
    ("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
    ("propagationPolicy", "string", "The handling of dependents: Orphan, Background or Foreground."),
];

fn query((name, kind, description): &Parameter) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": {"type": kind, "uniqueItems": true}})
}

fn in_path(name: &str, description: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "description": description,
        "schema": {"type": "string", "uniqueItems": true}})
}

/// One request of a path.
struct Operation<'a> {
    /// The verb in the identifier of the operation.
    verb: &'a str,
    /// The name of the operation among the actions of Kubernetes.
    action: &'a str,
    parameters: Vec<&'a Parameter>,
    /// The definition of the body.
    body: Option<String>,
    /// The definition of the response.
    answer: Option<String>,
}

/// The described API: a resource of a group version.
struct Api<'a> {
    group: &'a str,
    version: &'a str,
    resource: &'a Resource,
    lookup: Lookup<'a>,
}

/// The paths of the resources of a group version.
pub(super) fn paths(
    group: &str,
    version: &str,
    resources: &[Resource],
    lookup: Lookup<'_>,
) -> Map<String, Value> {
    let root = root(group, version);
    let list = json!({"tags": [tag(group, version)], "description": "The resources of the group version.",
        "operationId": format!("get{}APIResources", camel(group, version)),
        "responses": responses(Some(&common("APIResourceList")))});
    let mut paths = [(format!("{root}/"), json!({"get": list}))].collect_sorted::<Map<_, _>>();
    for resource in resources {
        let api = Api { group, version, resource, lookup };
        paths.extend(api.paths(&root));
    }
    paths
}

fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// The group version in camel case, as part of a name.
fn camel(group: &str, version: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect::<String>())
            .unwrap_or_default()
    };
    let group = group.strip_suffix(".k8s.io").unwrap_or(group);
    let group = if group.is_empty() { "core" } else { group };
    group.split('.').chain([version]).map(capital).collect()
}

fn tag(group: &str, version: &str) -> String {
    let group = group.strip_suffix(".k8s.io").unwrap_or(group);
    let mut tag = camel(if group.is_empty() { "core" } else { group }, version);
    if let Some(first) = tag.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    tag.replace(&camel("", version)["Core".len()..], &format!("_{version}"))
}

fn responses(answer: Option<&str>) -> Value {
    let content: Map<String, Value> = ["application/json", "application/yaml"]
        .into_iter()
        .filter_map(|media| Some((media.to_owned(), json!({"schema": reference(answer?)}))))
        .collect_sorted();
    json!({"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}})
}

impl Api<'_> {
    fn paths(&self, root: &str) -> Map<String, Value> {
        let name = &self.resource.name;
        let pretty = query(&PRETTY);
        let namespace = in_path("namespace", "The namespace of the object.");
        let (base, place) = match self.resource.namespaced {
            true => (format!("{root}/namespaces/{{namespace}}/{name}"), vec![namespace, pretty.clone()]),
            false => (format!("{root}/{name}"), vec![pretty.clone()]),
        };
        let named: Vec<_> = std::iter::once(in_path("name", "The name of the object."))
            .chain(place.iter().cloned())
            .collect();
        let mut paths = Map::new();
        let mut put = |path: String, mut item: Map<String, Value>, parameters: &[Value]| {
            if !item.is_empty() {
                item.insert("parameters".into(), parameters.to_vec().into());
                paths.insert(path, item.into());
            }
        };
        if self.resource.namespaced && self.verbs("list") {
            let mut all = Map::new();
            self.add(&mut all, "get", &self.list(), "ForAllNamespaces");
            put(format!("{root}/{name}"), all, &[pretty]);
        }
        put(base.clone(), self.collection(), &place);
        put(format!("{base}/{{name}}"), self.item(), &named);
        for sub in &self.resource.subresources {
            put(format!("{base}/{{name}}/{}", sub.name), self.subresource(sub), &named);
        }
        paths
    }

    fn verbs(&self, verb: &str) -> bool {
        self.resource.verbs.contains(&verb)
    }

    fn own(&self) -> Option<String> {
        (self.lookup)(self.group, self.version, &self.resource.kind)
    }

    fn list(&self) -> Operation<'static> {
        let answer = self.own().map(|name| format!("{name}List"));
        Operation { verb: "list", action: "list", parameters: LIST.iter().collect(), body: None, answer }
    }

    fn collection(&self) -> Map<String, Value> {
        let mut item = Map::new();
        if self.verbs("list") {
            self.add(&mut item, "get", &self.list(), "");
        }
        if self.verbs("create") {
            let parameters = WRITE.iter().collect();
            let create = Operation {
                verb: "create",
                action: "post",
                parameters,
                body: self.own(),
                answer: self.own(),
            };
            self.add(&mut item, "post", &create, "");
        }
        if self.verbs("deletecollection") {
            let parameters =
                DELETE.iter().chain(LIST.iter().filter(|p| p.0 != "watch" && p.0 != "allowWatchBookmarks"));
            let delete = Operation {
                verb: "deleteCollection",
                action: "deletecollection",
                parameters: parameters.collect(),
                body: Some(common("DeleteOptions")),
                answer: Some(common("Status")),
            };
            self.add(&mut item, "delete", &delete, "");
        }
        item
    }

    fn item(&self) -> Map<String, Value> {
        let mut item =
            self.single(self.resource.verbs, self.own(), &self.resource.kind, (self.group, self.version), "");
        if self.verbs("delete") {
            let delete = Operation {
                verb: "delete",
                action: "delete",
                parameters: DELETE.iter().collect(),
                body: Some(common("DeleteOptions")),
                answer: Some(common("Status")),
            };
            self.add(&mut item, "delete", &delete, "");
        }
        item
    }

    fn subresource(&self, sub: &Subresource) -> Map<String, Value> {
        let of = sub.group_version.unwrap_or((self.group, self.version));
        let definition = (self.lookup)(of.0, of.1, &sub.kind);
        let title =
            sub.name.get(..1).unwrap_or_default().to_uppercase() + sub.name.get(1..).unwrap_or_default();
        let mut item = self.single(sub.verbs, definition.clone(), &sub.kind, of, &title);
        if sub.verbs.contains(&"create") {
            // A subresource without a schema is a connection.
            let (verb, action) =
                if definition.is_some() { ("create", "post") } else { ("connectPost", "connect") };
            let parameters = if definition.is_some() { WRITE.iter().collect() } else { Vec::new() };
            let post = Operation { verb, action, parameters, body: definition.clone(), answer: definition };
            self.add_of(&mut item, "post", &post, &title, &sub.kind, of);
        }
        item
    }

    /// The requests on one object: get, put, patch.
    fn single(
        &self,
        verbs: &[&str],
        definition: Option<String>,
        kind: &str,
        of: (&str, &str),
        suffix: &str,
    ) -> Map<String, Value> {
        let mut item = Map::new();
        let connects = definition.is_none();
        let table = [
            ("get", "get", if connects { "connectGet" } else { "read" }, "get", Vec::new()),
            ("update", "put", if connects { "connectPut" } else { "replace" }, "put", WRITE.iter().collect()),
            (
                "patch",
                "patch",
                if connects { "connectPatch" } else { "patch" },
                "patch",
                WRITE.iter().chain([&FORCE]).collect(),
            ),
        ];
        for (verb, method, name, action, parameters) in table {
            if !verbs.contains(&verb) {
                continue;
            }
            let body = match verb {
                "update" => definition.clone(),
                "patch" if !connects => Some(common("Patch")),
                _ => None,
            };
            let action = if connects { "connect" } else { action };
            let parameters = if connects { Vec::new() } else { parameters };
            let operation = Operation { verb: name, action, parameters, body, answer: definition.clone() };
            self.add_of(&mut item, method, &operation, suffix, kind, of);
        }
        item
    }

    fn add(&self, item: &mut Map<String, Value>, method: &str, operation: &Operation<'_>, suffix: &str) {
        self.add_of(item, method, operation, suffix, &self.resource.kind, (self.group, self.version));
    }

    fn add_of(
        &self,
        item: &mut Map<String, Value>,
        method: &str,
        operation: &Operation<'_>,
        suffix: &str,
        kind: &str,
        of: (&str, &str),
    ) {
        let namespaced =
            if self.resource.namespaced && suffix != "ForAllNamespaces" { "Namespaced" } else { "" };
        let identifier = format!(
            "{}{}{namespaced}{}{suffix}",
            operation.verb,
            camel(self.group, self.version),
            self.resource.kind
        );
        let parameters: Vec<_> = operation.parameters.iter().map(|parameter| query(parameter)).collect();
        let mut operation_object = json!({"tags": [tag(self.group, self.version)], "operationId": identifier,
            "description": format!("{} {} of {}", operation.action, self.resource.name, api_version(self.group, self.version)),
            "responses": responses(operation.answer.as_deref()), "x-kubernetes-action": operation.action,
            "x-kubernetes-group-version-kind": {"group": of.0, "version": of.1, "kind": kind}});
        if !parameters.is_empty() {
            operation_object["parameters"] = parameters.into();
        }
        if let Some(body) = &operation.body {
            let content: Map<String, Value> = self
                .media(method)
                .iter()
                .map(|media| ((*media).to_owned(), json!({"schema": reference(body)})))
                .collect_sorted();
            let required = method != "delete";
            operation_object["requestBody"] = json!({"content": content, "required": required});
        }
        item.insert(method.to_owned(), operation_object);
    }

    /// The media types of a body.
    fn media(&self, method: &str) -> &'static [&'static str] {
        const PATCH: &[&str] = &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
            "application/strategic-merge-patch+json",
        ];
        match (method, self.resource.custom) {
            ("patch", true) => &PATCH[..3],
            ("patch", false) => PATCH,
            _ => &["*/*"],
        }
    }
}
