//! The endpoints of reads: one object, and lists with selectors, pages and resource versions.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};

use crate::endpoint::continuation::Continuation;
use crate::endpoint::key_range::Scope;
use crate::endpoint::list_options::{ListOptions, RequestedState, revision};
use crate::endpoint::selector::Selector;
use crate::http::call::Call;
use crate::http::failure::Failure;
use crate::http::long_list::LongList;
use crate::http::respond::{self, ApiBody, TypeFields};
use crate::kind::kinds::Kind;
use crate::store::{self, Version};

/// The time for which a read waits for a revision that the server has not reached yet.
pub(crate) const REVISION_WAIT: Duration = Duration::from_secs(3);

/// Answers with one object.
pub(crate) async fn get(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let wanted = revision(call.query.get("resourceVersion")).map_err(Failure::internal)?;
    if wanted > 0 {
        wait_for_revision(call, wanted).await?;
    }
    let key = store::key(&call.path.namespace, &call.path.name);
    let version = call.server.inner.state().store.get(&call.kind.storage, &key).cloned();
    let version = version.ok_or_else(|| Failure::not_found(&call.kind, &call.path.name))?;
    Ok(respond::version(StatusCode::OK, &call.kind, &version))
}

/// Waits until the store has reached the revision `wanted`.
async fn wait_for_revision(call: &Call<'_>, wanted: u64) -> Result<(), Failure> {
    if call.server.inner.state().store.revision() >= wanted {
        return Ok(());
    }
    let limit = call.server.inner.clock.sleep(REVISION_WAIT);
    tokio::pin!(limit);
    let mut patient = true;
    loop {
        let written = call.server.inner.state().store.written().clone();
        // The waiter is created before the revision is read, so that it does not miss a write in between.
        let write = written.notified();
        let current = call.server.inner.state().store.revision();
        if current >= wanted {
            return Ok(());
        }
        if !patient {
            return Err(Failure::version_too_large(wanted, current));
        }
        tokio::select! {
            biased;
            () = write => {}
            () = &mut limit => patient = false,
        }
    }
}

/// The parameters that select one page of a list.
struct Window<'a> {
    kind: &'a Kind,
    scope: Scope,
    selector: &'a Selector,
    wanted: RequestedState,
    /// The position after the previous page; `None` for the first page.
    continuation: Option<Continuation>,
    limit: Option<usize>,
}

/// One page of a list.
struct Page {
    revision: u64,
    items: Vec<Arc<Version>>,
    next: Option<Continuation>,
    /// The number of objects on the following pages, if the response reports it.
    remaining: Option<usize>,
}

/// Answers with a list.
pub(crate) async fn list(call: &Call<'_>) -> Result<Response<ApiBody>, Failure> {
    let options = ListOptions::read(&call.query, &call.kind)?;
    let scope = Scope::new(&call.kind, &call.path, &options.selector)?;
    let (wanted, continuation) = match options.continuation {
        "" => (options.wanted()?, None),
        token => {
            let continuation = Continuation::parse(token)?;
            if !matches!(options.resource_version, "" | "0") {
                let message = "specifying resource version is not allowed when using continue";
                return Err(Failure::bad_request(message));
            }
            let wanted = continuation.revision.map_or(RequestedState::NotOlderThan(0), RequestedState::Exact);
            (wanted, Some(continuation))
        }
    };
    let (RequestedState::NotOlderThan(revision) | RequestedState::Exact(revision)) = wanted;
    wait_for_revision(call, revision).await?;
    // The watch cache of a real server answers for version 0, and does not make pages.
    let limit = options.limit.filter(|_| options.resource_version != "0");
    let window = Window { kind: &call.kind, scope, selector: &options.selector, wanted, continuation, limit };
    let page = window.page(call)?;
    Ok(respond::list(page.render(&call.kind)))
}

impl Window<'_> {
    /// Takes the objects of one page.
    /// For a list without a limit, only pointers are copied while the state is locked.
    fn page(&self, call: &Call<'_>) -> Result<Page, Failure> {
        let state = call.server.inner.state();
        let current = state.store.revision();
        let revision = if let RequestedState::Exact(revision) = self.wanted { revision } else { current };
        let page = Page { revision, items: Vec::new(), next: None, remaining: None };
        let Some(table) = state.store.table(&self.kind.storage) else { return Ok(page) };
        let start = self.continuation.as_ref().map_or("", |continuation| continuation.start.as_str());
        let start = format!("{}{start}", self.base());
        let objects = table.at(revision, self.scope.prefix(), &start).ok_or_else(|| self.expired())?;
        let objects = objects.filter(|(key, _)| self.scope.covers(key));
        if let Some(limit) = self.limit {
            return Ok(self.fill(page, objects, limit));
        }
        let all: Vec<_> = objects.map(|(key, version)| (key.clone(), version.clone())).collect();
        drop(state);
        let selected = all.into_iter().filter(|(key, version)| self.selector.matches(key, version));
        Ok(Page { items: selected.map(|(_, version)| version).collect(), ..page })
    }

    /// Fills a page with the first selected objects, and determines whether there are more objects.
    fn fill<'t>(
        &self,
        mut page: Page,
        mut objects: impl Iterator<Item = (&'t Arc<str>, &'t Arc<Version>)>,
        limit: usize,
    ) -> Page {
        let mut last = None;
        let selected = objects.by_ref().filter(|(key, version)| self.selector.matches(key, version));
        for (key, version) in selected.take(limit) {
            page.items.push(version.clone());
            last = Some(key);
        }
        // With a selector it is unknown whether further objects match. One more object is enough for a next page.
        let rest =
            if self.selector.is_empty() { objects.count() } else { usize::from(objects.next().is_some()) };
        if let Some(last) = last.filter(|_| rest > 0) {
            let last = last.strip_prefix(self.base()).unwrap_or(last);
            page.next = Some(Continuation::behind(last, page.revision));
            page.remaining = self.selector.is_empty().then_some(rest);
        }
        page
    }

    /// The part of keys that tokens leave out: the common prefix of all keys that can be listed.
    fn base(&self) -> &str {
        let prefix = self.scope.prefix();
        &prefix[..prefix.rfind('/').map_or(0, |slash| slash + 1)]
    }

    fn expired(&self) -> Failure {
        let Some(continuation) = &self.continuation else {
            return Failure::expired("The resourceVersion for the provided list is too old.");
        };
        let message = "The provided continue parameter is too old to display a consistent list result. You can start \
                       a new list without the continue parameter, or use the continue token in this response to \
                       retrieve the remainder of the results. Continuing with the provided token results in an \
                       inconsistent list - objects that were created, modified, or deleted between the time the first \
                       chunk was returned and now may show up in the list.";
        let token = Continuation { revision: None, start: continuation.start.clone() }.token();
        Failure::expired(message).with_continue(token)
    }
}

impl Page {
    /// The list. Its text is composed of the texts of its objects.
    fn render(&self, kind: &Kind) -> LongList {
        let api_version = kind.api_version();
        let mut head = format!(
            r#"{{"kind":"{}","apiVersion":"{api_version}","metadata":{{"resourceVersion":"{}""#,
            kind.list_kind, self.revision
        );
        if let Some(next) = &self.next {
            head.push_str(&format!(r#","continue":"{}""#, next.token()));
        }
        if let Some(remaining) = self.remaining {
            head.push_str(&format!(r#","remainingItemCount":{remaining}"#));
        }
        head.push_str(r#"},"items":["#);
        let types = if kind.is_custom() { TypeFields::served(kind) } else { TypeFields::Omitted };
        let items = self.items.iter().map(|version| kind.encoded(version).into_owned());
        LongList::new(Bytes::from(head), items.collect(), types)
    }
}
