//! Discovers the kinds that a cluster serves, by aggregated discovery with entity tags.
//!
//! Clusters older than Kubernetes 1.26 lack aggregated discovery; each of their group versions is requested by itself.

use std::collections::BTreeMap;

use futures::future::join_all;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::BodyExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    APIGroupList, APIResource, APIResourceList, APIVersions,
};
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Both forms of the aggregated document, or the older lists.
const ACCEPTED: HeaderValue = HeaderValue::from_static(
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
     application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
);

/// The core group, and all other groups.
const PATHS: [&str; 2] = ["/api", "/apis"];

/// Discovers one cluster, and keeps the entity tags of its last answers.
#[derive(Default)]
pub(crate) struct Discovery {
    tags: [Option<HeaderValue>; 2],
}

/// The result of discovery.
pub(crate) struct ServedKinds {
    /// By group, the most preferred version first.
    pub groups: BTreeMap<String, Vec<APIResourceList>>,
    /// Whether every request was answered.
    pub is_complete: bool,
}

/// An answer to one request.
enum Answer {
    Unchanged,
    Document { text: Vec<u8>, tag: Option<HeaderValue> },
}

impl Discovery {
    /// Makes the next answers complete, whether anything has changed or not.
    fn forget_tags(&mut self) {
        self.tags = Default::default();
    }

    /// The served kinds; `None` if nothing has changed since the call before.
    /// A request without an answer leaves a gap, and is repeated at the next call.
    pub(crate) async fn changed(&mut self, client: &Client) -> Option<ServedKinds> {
        let [core, named] = &self.tags;
        let answers = tokio::join!(request(client, PATHS[0], core), request(client, PATHS[1], named));
        if matches!(answers, (Some(Answer::Unchanged), Some(Answer::Unchanged))) {
            return None;
        }
        self.forget_tags();
        let mut served = ServedKinds { groups: BTreeMap::new(), is_complete: true };
        for (index, mut answer) in [answers.0, answers.1].into_iter().enumerate() {
            // The other document is new, and the text of this one was not kept.
            if matches!(answer, Some(Answer::Unchanged)) {
                answer = request(client, PATHS[index], &None).await;
            }
            let Some(Answer::Document { text, tag }) = answer else {
                served.is_complete = false;
                continue;
            };
            served.read(client, &text).await;
            self.tags[index] = tag;
        }
        if !served.is_complete {
            self.forget_tags();
        }
        Some(served)
    }
}

async fn request(client: &Client, path: &str, tag: &Option<HeaderValue>) -> Option<Answer> {
    let mut request = Request::get(path).header(header::ACCEPT, ACCEPTED);
    if let Some(tag) = tag {
        request = request.header(header::IF_NONE_MATCH, tag);
    }
    let response = client.send(request.body(Body::empty()).ok()?).await.ok()?;
    match response.status() {
        StatusCode::NOT_MODIFIED => Some(Answer::Unchanged),
        StatusCode::OK => {
            let tag = response.headers().get(header::ETAG).cloned();
            let text = response.into_body().collect().await.ok()?.to_bytes().into();
            Some(Answer::Document { text, tag })
        }
        _ => None,
    }
}

impl ServedKinds {
    async fn read(&mut self, client: &Client, text: &[u8]) {
        let kind = read::<Kind>(text).map(|document| document.kind).unwrap_or_default();
        let lists = match kind.as_str() {
            "APIVersions" => read(text).map(|core: APIVersions| core.versions),
            "APIGroupList" => read(text).map(|list: APIGroupList| {
                let versions = list.groups.into_iter().flat_map(|group| {
                    let preferred = group.preferred_version;
                    let mut versions = group.versions;
                    versions.sort_by_key(|version| Some(version) != preferred.as_ref());
                    versions
                });
                versions.map(|version| version.group_version).collect()
            }),
            _ => {
                match read::<AggregatedDiscovery>(text) {
                    Some(document) => document.items.into_iter().for_each(|group| self.add_group(group)),
                    None => self.is_complete = false,
                }
                return;
            }
        };
        self.is_complete &= lists.is_some();
        // The requests run together, so that a cluster that falls silent meanwhile costs one timeout in total.
        let lists = join_all(lists.unwrap_or_default().into_iter().map(async |version| {
            if version.contains('/') {
                client.list_api_group_resources(&version).await
            } else {
                client.list_core_api_resources(&version).await
            }
        }));
        for list in lists.await {
            match list {
                Ok(list) => self.add(list),
                Err(_) => self.is_complete = false,
            }
        }
    }

    fn add_group(&mut self, group: Group) {
        let name = group.metadata.name;
        for version in group.versions {
            // An old answer of an aggregated API server that does not answer now.
            if version.freshness == "Stale" {
                self.is_complete = false;
                continue;
            }
            let number = version.version;
            let group_version = if name.is_empty() { number } else { format!("{name}/{number}") };
            let resources = version.resources.into_iter().map(resource).collect();
            self.add(APIResourceList { group_version, resources });
        }
    }

    fn add(&mut self, list: APIResourceList) {
        let group = list.group_version.split_once('/').map_or("", |(group, _)| group).to_owned();
        self.groups.entry(group).or_default().push(list);
    }
}

/// The fields that are read of the long `APIGroupDiscoveryList`; kube's type has all of them.
#[derive(Deserialize)]
struct AggregatedDiscovery {
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: GroupMetadata,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Default, Deserialize)]
struct GroupMetadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    resources: Vec<Resource>,
    #[serde(default)]
    freshness: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    resource: String,
    response_kind: Option<Kind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
}

fn resource(resource: Resource) -> APIResource {
    APIResource {
        name: resource.resource,
        kind: resource.response_kind.map(|of| of.kind).unwrap_or_default(),
        namespaced: resource.scope == "Namespaced",
        verbs: resource.verbs,
        ..APIResource::default()
    }
}

fn read<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    serde_json::from_slice(text).ok()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use http::Response;
    use serde_json::{Value, json};
    use tower::service_fn;

    use super::*;

    /// A cluster that serves these documents, each with its length as entity tag, and records the requests.
    /// It does not answer where a document is missing.
    fn cluster(documents: &Arc<Mutex<[Option<Value>; 2]>>, asked: &Arc<Mutex<Vec<(String, u16)>>>) -> Client {
        let (documents, asked) = (Arc::clone(documents), Arc::clone(asked));
        let service = service_fn(move |request: Request<Body>| {
            let index = PATHS.iter().position(|path| *path == request.uri().path()).unwrap();
            let text = documents.lock().unwrap()[index].as_ref().map(Value::to_string);
            let tag = text.as_ref().map(|text| format!("\"{}\"", text.len()));
            let known = request.headers().get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
            let status = match &tag {
                None => 503,
                tag if tag.as_deref() == known => 304,
                Some(_) => 200,
            };
            asked.lock().unwrap().push((PATHS[index].to_owned(), status));
            let mut response = Response::builder().status(status);
            if let Some(tag) = tag {
                response = response.header(header::ETAG, tag);
            }
            let body = text.filter(|_| status == 200).unwrap_or_default().into_bytes();
            std::future::ready(Ok::<_, Infallible>(response.body(Body::from(body)).unwrap()))
        });
        Client::new(service, "default")
    }

    fn document(group: Value, versions: &[(&str, &str)]) -> Option<Value> {
        let pods = json!({"resource": "pods", "responseKind": {"kind": "Pod"}, "scope": "Namespaced", "verbs": ["list"]});
        let version = |(version, freshness): &(&str, &str)| json!({"version": version, "resources": [pods], "freshness": freshness});
        let versions: Vec<_> = versions.iter().map(version).collect();
        Some(json!({"kind": "APIGroupDiscoveryList", "items": [{"metadata": group, "versions": versions}]}))
    }

    #[tokio::test]
    async fn served_kinds_are_reported_once_until_they_change() {
        let named = || json!({"name": "apps"});
        let core = || document(json!({}), &[("v1", "Current")]);
        let documents = Arc::new(Mutex::new([core(), document(named(), &[("v1", "Current")])]));
        let asked = Arc::default();
        let client = cluster(&documents, &asked);
        let mut discovery = Discovery::default();
        let mut changed = async || {
            asked.lock().unwrap().clear();
            let served = discovery.changed(&client).await.map(|served| {
                let lists = served.groups.into_values().flatten();
                (lists.map(|list| list.group_version).collect::<Vec<_>>(), served.is_complete)
            });
            let statuses = asked.lock().unwrap().iter().map(|(_, status)| *status).collect::<Vec<_>>();
            (served, statuses)
        };
        let kinds = |versions: &[&str], is_complete| {
            Some((versions.iter().map(|version| (*version).to_owned()).collect::<Vec<_>>(), is_complete))
        };
        assert_eq!(changed().await, (kinds(&["v1", "apps/v1"], true), vec![200, 200]));
        assert_eq!(changed().await, (None, vec![304, 304]));
        // The preferred version comes first, and a stale version does not count.
        let versions = [("v2", "Current"), ("v1", "Current"), ("v1beta1", "Stale")];
        documents.lock().unwrap()[1] = document(named(), &versions);
        assert_eq!(changed().await, (kinds(&["v1", "apps/v2", "apps/v1"], false), vec![304, 200, 200]));
        // A gap is requested again.
        assert_eq!(changed().await.1, [200, 200]);
        documents.lock().unwrap()[1] = None;
        assert_eq!(changed().await, (kinds(&["v1"], false), vec![200, 503]));
        documents.lock().unwrap()[1] = document(named(), &[("v1", "Current")]);
        assert_eq!(changed().await, (kinds(&["v1", "apps/v1"], true), vec![200, 200]));
    }

    #[tokio::test]
    async fn both_forms_of_discovery_give_the_same_kinds() {
        let clock = capsize_clock::Clock::starting_at("2030-01-01T00:00:00Z".parse().unwrap());
        let server =
            capsize_apiserver::ApiServer::builder(clock, capsize_clock::Seed(1).stream("api")).build();
        let client = server.client();
        let plain = service_fn(move |mut request: Request<Body>| {
            request.headers_mut().remove(header::ACCEPT);
            let client = client.clone();
            async move { client.send(request).await }
        });
        let facts = async |client: Client| {
            let served = Discovery::default().changed(&client).await.unwrap();
            assert!(served.is_complete);
            let lists = served.groups.into_values().flatten();
            let facts = lists.flat_map(|list| {
                let resources = list.resources.into_iter().filter(|resource| !resource.name.contains('/'));
                let version = list.group_version;
                resources.map(move |one| {
                    let verbs = one.verbs.into_iter().collect::<std::collections::BTreeSet<_>>();
                    (version.clone(), one.name, one.kind, one.namespaced, verbs)
                })
            });
            facts.collect::<std::collections::BTreeSet<_>>()
        };
        let (aggregated, old) = (facts(server.client()).await, facts(Client::new(plain, "default")).await);
        assert!(aggregated.len() > 20);
        assert_eq!(aggregated, old);
    }
}
