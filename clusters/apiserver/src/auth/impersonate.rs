//! Impersonation: the `Impersonate-…` headers of a request.

use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use super::attributes::{ActionTarget, Attributes};
use super::user::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User, account_groups, account_of};
use crate::http::failure::Failure;

const PREFIX: &str = "impersonate-";
const EXTRA: &str = "impersonate-extra-";

/// Returns true if a request impersonates a user.
/// The check reads only the names of headers, because it runs for every request.
pub(super) fn is_requested(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name.as_str().starts_with(PREFIX))
}

/// The user that the headers request, and the permissions that this requires.
///
/// # Errors
/// A bad request if the headers name no user.
pub(super) fn read(headers: &HeaderMap) -> Result<(User, Vec<Attributes>), Failure> {
    let all = |name: &str| -> Vec<String> {
        headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    };
    let first = |name: &str| all(name).into_iter().next().unwrap_or_default();
    let (name, uid, groups) = (first("impersonate-user"), first("impersonate-uid"), all("impersonate-group"));
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for header in headers.keys() {
        if let Some(key) = header.as_str().strip_prefix(EXTRA) {
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            extra.entry(key).or_default().extend(all(header.as_str()));
        }
    }
    let wanted = wanted(&name, &uid, &groups, &extra);
    if name.is_empty() && !wanted.is_empty() {
        let shown: Vec<String> = wanted.iter().map(reference).collect();
        let message = format!("requested [{}] without impersonating a user", shown.join(" "));
        return Err(Failure::bad_request(message));
    }
    let groups = with_own_groups(&name, groups);
    Ok((User { name, uid, groups, extra }, wanted))
}

/// The permissions that are required to impersonate the user.
fn wanted(
    user: &str,
    uid: &str,
    groups: &[String],
    extra: &BTreeMap<String, Vec<String>>,
) -> Vec<Attributes> {
    let ask = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| Attributes {
        verb: "impersonate".into(),
        target: ActionTarget::Resource {
            group: group.into(),
            resource: resource.into(),
            subresource: subresource.into(),
            namespace: namespace.into(),
            name: name.into(),
        },
    };
    const GROUP: &str = "authentication.k8s.io";
    let who = match account_of(user) {
        Some((namespace, name)) => Some(ask("", "serviceaccounts", "", namespace, name)),
        None => (!user.is_empty()).then(|| ask("", "users", "", "", user)),
    };
    let groups = groups.iter().map(|group| ask("", "groups", "", "", group));
    let extra = extra.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
    let extra = extra.map(|(key, value)| ask(GROUP, "userextras", key, "", value));
    let uid = (!uid.is_empty()).then(|| ask(GROUP, "uids", "", "", uid));
    who.into_iter().chain(groups).chain(extra).chain(uid).collect()
}

/// The groups of an impersonated user: the requested groups, otherwise those of a service account.
/// The group that says whether the user is authenticated is always added.
fn with_own_groups(user: &str, mut groups: Vec<String>) -> Vec<String> {
    if let Some((namespace, _)) = account_of(user).filter(|_| groups.is_empty()) {
        groups.extend(account_groups(namespace));
    }
    let has = |wanted: &str| groups.iter().any(|group| group == wanted);
    if user == ANONYMOUS {
        if !has(UNAUTHENTICATED) {
            groups.push(UNAUTHENTICATED.into());
        }
    } else if !has(AUTHENTICATED) && !has(UNAUTHENTICATED) {
        groups.push(AUTHENTICATED.into());
    }
    groups
}

/// Returns a permission in the format in which Go prints an object reference.
/// The parts of the format are kind, namespace, name, uid, version, resource version and path.
fn reference(wanted: &Attributes) -> String {
    let ActionTarget::Resource { resource, subresource, name, .. } = &wanted.target else {
        return String::new();
    };
    let (kind, version) = match resource.as_str() {
        "groups" => ("Group", ""),
        "userextras" => ("UserExtra", "authentication.k8s.io/v1"),
        _ => ("UID", "authentication.k8s.io/v1"),
    };
    format!("{{{kind}  {name}  {version}  {subresource}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(headers: &[(&'static str, &str)]) -> Result<(User, Vec<Attributes>), String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        assert!(is_requested(&map));
        read(&map).map_err(|failure| failure.message)
    }

    #[test]
    fn a_service_account_has_its_groups_unless_groups_are_given() {
        let groups = |headers: &[(&'static str, &str)]| read_all(headers).unwrap().0.groups;
        let account = ("impersonate-user", "system:serviceaccount:a:robot");
        assert_eq!(
            groups(&[account]),
            ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"]
        );
        assert_eq!(groups(&[account, ("impersonate-group", "g")]), ["g", "system:authenticated"]);
        assert_eq!(groups(&[("impersonate-user", ANONYMOUS)]), [UNAUTHENTICATED]);
    }

    #[test]
    fn each_part_of_another_name_has_to_be_allowed() {
        let headers = [
            ("impersonate-user", "eve"),
            ("impersonate-group", "g"),
            ("impersonate-extra-example.com%2Fscope", "s"),
            ("impersonate-uid", "u"),
        ];
        let (user, wanted) = read_all(&headers).unwrap();
        assert_eq!(user.extra, BTreeMap::from([("example.com/scope".to_owned(), vec!["s".to_owned()])]));
        let shown: Vec<_> = wanted
            .iter()
            .map(|wanted| match &wanted.target {
                ActionTarget::Resource { resource, subresource, name, .. } => {
                    format!("{resource}/{subresource} {name}")
                }
                ActionTarget::Path(path) => path.clone(),
            })
            .collect();
        assert_eq!(shown, ["users/ eve", "groups/ g", "userextras/example.com/scope s", "uids/ u"]);
    }

    #[test]
    fn groups_without_a_user_are_a_bad_request() {
        let failed = read_all(&[("impersonate-group", "g")]).unwrap_err();
        assert_eq!(failed, "requested [{Group  g    }] without impersonating a user");
    }
}
