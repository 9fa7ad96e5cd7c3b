//! Reading: one object, and lists with selectors, pages and resource versions.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::{BufMut, BytesMut};
use http::{Response, StatusCode};
use serde::{Deserialize, Serialize};

use crate::failure::{Cause, Failure};
use crate::request::{Query, parse_revision};
use crate::respond::{self, ApiBody, TypeFields, append};
use crate::selector::Selector;
use crate::service::Call;
use crate::store::{self, Version};

/// How long a read waits for a revision that has not been reached.
pub(crate) const REVISION_PATIENCE: Duration = Duration::from_secs(3);

/// Answers with one object.
pub(crate) async fn get(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let wanted = call.query.get("resourceVersion");
    if !matches!(wanted, "" | "0") {
        let wanted = parse_revision(wanted).map_err(Failure::bad_request)?;
        reached(call, wanted).await?;
    }
    let state = call.server.inner.state();
    let key = store::key(&call.path.namespace, &call.path.name);
    let version = state.store.get(&call.kind.storage, &key);
    let version = version.ok_or_else(|| Failure::not_found(&call.kind, &call.path.name))?;
    Ok(respond::version(StatusCode::OK, &call.kind, version))
}

/// Waits until the store has reached `wanted`.
async fn reached(call: &Call<'_>, wanted: u64) -> Result<(), Failure> {
    if call.server.inner.state().store.revision() >= wanted {
        return Ok(());
    }
    call.server.inner.clock.sleep(REVISION_PATIENCE).await;
    let current = call.server.inner.state().store.revision();
    if current >= wanted { Ok(()) } else { Err(Failure::version_too_large(wanted, current)) }
}

/// Which state a list shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// The present one, which must be at least this revision.
    NotOlderThan(u64),
    /// The one that was present at this revision.
    Exact(u64),
}

/// What a continue token says. Its form is that of the real server.
#[derive(Serialize, Deserialize)]
struct Continue {
    v: String,
    rv: i64,
    start: String,
}

impl Continue {
    fn token(revision: i64, start: &str) -> String {
        let token = Self { v: "meta.k8s.io/v1".into(), rv: revision, start: format!("{start}\0") };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).expect("it has string keys"))
    }

    fn parse(token: &str) -> Result<Self, Failure> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok();
        let token: Option<Self> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        token.ok_or_else(|| Failure::bad_request("continue key is not valid: it was not made by this server"))
    }
}

/// Which state the query asks for.
fn wanted(query: &Query) -> Result<Wanted, Failure> {
    let forbidden = |detail: &str| {
        Err(Failure::invalid_options("ListOptions", &Cause::forbidden("resourceVersionMatch", detail)))
    };
    let (version, matching) = (query.get("resourceVersion"), query.get("resourceVersionMatch"));
    if !matching.is_empty() {
        if version.is_empty() {
            return forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if !query.get("continue").is_empty() {
            return forbidden("resourceVersionMatch is forbidden when continue is provided");
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            let cause =
                Cause::unsupported("resourceVersionMatch", &matching.into(), &["Exact", "NotOlderThan"]);
            return Err(Failure::invalid_options("ListOptions", &cause));
        }
        if matching == "Exact" && version == "0" {
            return forbidden(r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#);
        }
    }
    if matches!(version, "" | "0") {
        return Ok(Wanted::NotOlderThan(0));
    }
    let revision = parse_revision(version).map_err(|error| {
        Failure::bad_request(format!(
            "invalid resource version: resourceVersion: Invalid value: {version:?}: {error}"
        ))
    })?;
    let limited = query.number("limit")?.is_some_and(|limit| limit > 0);
    let exact = matching == "Exact" || (matching.is_empty() && limited);
    Ok(if exact { Wanted::Exact(revision) } else { Wanted::NotOlderThan(revision) })
}

/// One page of a list.
struct Page {
    revision: u64,
    items: Vec<Arc<Version>>,
    /// Where the next page starts, and how many objects it and those after it have.
    next: Option<(String, usize)>,
}

/// Answers with a list.
pub(crate) async fn list(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let selector =
        Selector::parse(call.query.get("labelSelector"), call.query.get("fieldSelector"), &call.kind)?;
    let mut wanted = wanted(&call.query)?;
    let mut start = String::new();
    let token = call.query.get("continue");
    if !token.is_empty() {
        if !matches!(call.query.get("resourceVersion"), "" | "0") {
            return Err(Failure::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let token = Continue::parse(token)?;
        start = token.start;
        wanted = u64::try_from(token.rv).map_or(Wanted::NotOlderThan(0), Wanted::Exact);
    }
    let (Wanted::NotOlderThan(revision) | Wanted::Exact(revision)) = wanted;
    reached(call, revision).await?;
    // The watch cache, which answers for version 0, does not make pages.
    let unpaged = call.query.get("resourceVersion") == "0";
    let limit = call.query.number("limit")?.and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.filter(|limit| *limit > 0 && !unpaged).unwrap_or(usize::MAX);
    let page = page(call, &selector, wanted, &start, limit)?;
    Ok(respond::json_bytes(StatusCode::OK, render(call, &selector, &page)))
}

/// Collects the objects of one page.
fn page(
    call: &Call<'_>,
    selector: &Selector,
    wanted: Wanted,
    start: &str,
    limit: usize,
) -> Result<Page, Failure> {
    let state = call.server.inner.state();
    let prefix = match call.path.namespace.as_str() {
        "" => String::new(),
        namespace => store::key(namespace, ""),
    };
    let current = state.store.revision();
    let Some(table) = state.store.table(&call.kind.storage) else {
        let revision = if let Wanted::Exact(revision) = wanted { revision } else { current };
        return Ok(Page { revision, items: Vec::new(), next: None });
    };
    let begins = |key: &str| start.is_empty() || key >= start;
    let (revision, all): (_, Vec<_>) = match wanted {
        Wanted::Exact(revision) if revision < current => {
            let objects =
                table.at(revision, &prefix).ok_or_else(|| expired(call, start, revision, table.floor()))?;
            (revision, objects.into_iter().filter(|(key, _)| begins(key)).map(|(_, v)| v).collect())
        }
        _ => (current, table.range(&prefix).filter(|(key, _)| begins(key)).map(|(_, v)| v.clone()).collect()),
    };
    let mut matching = all.into_iter().filter(|version| selector.matches(&version.object));
    let items: Vec<_> = matching.by_ref().take(limit).collect();
    let rest = matching.count();
    let last = items.last().map(|version| store::object_key(&version.object));
    let next = last.filter(|_| rest > 0).map(|last| (last, rest));
    Ok(Page { revision, items, next })
}

fn expired(call: &Call<'_>, start: &str, revision: u64, floor: u64) -> Failure {
    if call.query.get("continue").is_empty() {
        return Failure::expired(format!("too old resource version: {revision} ({floor})"));
    }
    Failure::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of \
         the results. Continuing with the provided token results in an inconsistent list.",
    )
    .with_continue(Continue::token(-1, start.trim_end_matches('\0')))
}

/// The text of a list, put together from the text of its objects.
fn render(call: &Call<'_>, selector: &Selector, page: &Page) -> bytes::Bytes {
    let kind = &call.kind;
    let api_version = kind.api_version();
    let rewritten = TypeFields::Rewritten { kind: &kind.kind, api_version: &api_version };
    let types = match (kind.is_custom(), kind.is_stored_version()) {
        (false, _) => TypeFields::Omitted,
        (true, true) => TypeFields::Stored,
        (true, false) => rewritten,
    };
    let mut text = BytesMut::with_capacity(256 + 1024 * page.items.len());
    let head = format!(
        r#"{{"kind":"{}","apiVersion":"{api_version}","metadata":{{"resourceVersion":"{}""#,
        kind.list_kind, page.revision
    );
    text.put_slice(head.as_bytes());
    if let Some((last, rest)) = &page.next {
        let revision = i64::try_from(page.revision).unwrap_or(i64::MAX);
        text.put_slice(format!(r#","continue":"{}""#, Continue::token(revision, last)).as_bytes());
        if selector.is_empty() {
            text.put_slice(format!(r#","remainingItemCount":{rest}"#).as_bytes());
        }
    }
    text.put_slice(br#"},"items":["#);
    for (index, version) in page.items.iter().enumerate() {
        if index > 0 {
            text.put_u8(b',');
        }
        append(&mut text, &kind.encoded(version), &types);
    }
    text.put_slice(b"]}");
    text.freeze()
}
