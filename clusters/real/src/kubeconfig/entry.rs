//! The entry of a context in a kubeconfig, checked before any request is built from it.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use http::uri::Scheme;
use kube::config::Kubeconfig;
use serde_json::Value;
use tokio::net::lookup_host;

/// The fields of an entry that are used. Every request to the cluster is built from them.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) server: ServerUrl,
    /// The certificate (PEM) of the authority of the cluster.
    pub(super) authority: String,
    /// The bearer token of the user.
    pub(super) token: String,
}

impl Entry {
    /// Reads the entry of `context` in `file`.
    pub(super) fn read(file: &Path, context: &str) -> Result<Self, String> {
        Self::of(&read_kubeconfig(file)?, context)
    }

    fn of(kubeconfig: &Kubeconfig, context: &str) -> Result<Self, String> {
        if text(&cluster(kubeconfig, context)?, "proxy-url").is_some() {
            return Err("its cluster has a proxy-url, and members are reached without a proxy: remove it, or use a context \
                        whose server is reached directly"
                .into());
        }
        let server = ServerUrl::of(&server_url(kubeconfig, context)?)?;
        Ok(Self { server, authority: authority(kubeconfig, context)?, token: token(kubeconfig, context)? })
    }
}

/// The URL that precedes the path of every request to a cluster, over HTTPS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerUrl {
    host: String,
    port: u16,
    /// The path without a slash at its end; empty if the URL has none.
    pub(super) path: String,
}

impl ServerUrl {
    fn of(url: &Uri) -> Result<Self, String> {
        if url.scheme() != Some(&Scheme::HTTPS) {
            return Err(format!("its server is {url}, and control planes reach members over https:// alone"));
        }
        Ok(Self {
            host: url.host().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
            port: url.port_u16().unwrap_or(443),
            path: url.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The first address of its host.
    pub(super) async fn address(&self) -> Result<SocketAddr, String> {
        let host = &self.host;
        let found = lookup_host((host.as_str(), self.port)).await;
        let mut addresses = found.map_err(|error| format!("the host {host} of its server: {error}"))?;
        addresses.next().ok_or_else(|| format!("the host {host} of its server has no address"))
    }
}

/// Reads a kubeconfig.
///
/// # Errors
/// The file cannot be read, or is not a kubeconfig. The error quotes nothing of the file, which holds keys.
pub fn read_kubeconfig(file: &Path) -> Result<Kubeconfig, String> {
    fs::metadata(file).map_err(|error| error.to_string())?;
    Kubeconfig::read_from(file).map_err(|_| "this is not a kubeconfig".to_owned())
}

/// The server URL of a context: absolute, and nothing but scheme, host, port and path.
///
/// # Errors The URL has another form, which the error names with the right one, or the kubeconfig lacks a cluster
/// or user that the context names.
pub fn server_url(kubeconfig: &Kubeconfig, context: &str) -> Result<Uri, String> {
    let cluster = cluster(kubeconfig, context)?;
    user(kubeconfig, context)?;
    let server = text(&cluster, "server").ok_or("its cluster has no server")?;
    let right = "write https://HOST:PORT or https://HOST:PORT/PATH";
    // A text with an `@` may hold a password.
    let shown = if server.contains('@') { String::new() } else { format!(" {server}") };
    let wrong = |why: &str| format!("its server{shown} {why}: {right}");
    let url: Uri = server.parse().map_err(|error| wrong(&format!("is no URL ({error})")))?;
    let is_http = |scheme: &Scheme| [Scheme::HTTP, Scheme::HTTPS].contains(scheme);
    match (url.scheme(), url.authority()) {
        (Some(scheme), _) if !is_http(scheme) => Err(wrong("has a scheme that is neither http nor https")),
        (None, _) | (_, None) => Err(wrong("is no URL with a scheme and a host")),
        (_, Some(authority)) if authority.as_str().contains('@') => Err(wrong("has a user in its URL")),
        (_, Some(authority)) if authority.host().is_empty() => Err(wrong("has no host")),
        (_, Some(authority))
            if authority.host() != authority.as_str() && authority.port_u16().unwrap_or(0) == 0 =>
        {
            Err(wrong("has a port that is no number from 1 to 65535"))
        }
        _ if url.query().is_some() || server.contains('#') => Err(wrong("has more after its path")),
        _ => Ok(url),
    }
}

/// The bearer token of a context's user.
pub(crate) fn token(kubeconfig: &Kubeconfig, context: &str) -> Result<String, String> {
    let user = user(kubeconfig, context)?;
    let token = match (text(&user, "token"), text(&user, "tokenFile")) {
        (Some(token), _) => token,
        (None, Some(path)) => read(path)?.trim().to_owned(),
        (None, None) => {
            let make = "`kubectl create token` makes one";
            return Err(format!(
                "its user has no bearer token, by which control planes reach members; a certificate does not do in its \
                 place: {make}"
            ));
        }
    };
    match !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(token),
        false => Err("the bearer token of its user is empty, or has characters that no token has".into()),
    }
}

/// The certificate (PEM) of the authority of a context's cluster.
pub(crate) fn authority(kubeconfig: &Kubeconfig, context: &str) -> Result<String, String> {
    let cluster = cluster(kubeconfig, context)?;
    match (text(&cluster, "certificate-authority-data"), text(&cluster, "certificate-authority")) {
        (Some(data), _) => {
            let pem = STANDARD.decode(data).ok().and_then(|pem| String::from_utf8(pem).ok());
            pem.ok_or_else(|| "its certificate-authority-data is no PEM in base64".to_owned())
        }
        (None, Some(path)) => read(path),
        (None, None) => Err("it names no certificate-authority".into()),
    }
}

/// The cluster of a context.
fn cluster(kubeconfig: &Kubeconfig, context: &str) -> Result<Value, String> {
    let missing = "its cluster is not named";
    part(kubeconfig, context, ("clusters", "cluster"))?.ok_or_else(|| missing.to_owned())
}

/// The user of a context; `null` if the context names none, which kubectl allows.
fn user(kubeconfig: &Kubeconfig, context: &str) -> Result<Value, String> {
    part(kubeconfig, context, ("users", "user")).map(Option::unwrap_or_default)
}

/// The entry of `list` that a context names in `field`; `None` if it names none.
fn part(
    kubeconfig: &Kubeconfig,
    context: &str,
    (list, field): (&str, &str),
) -> Result<Option<Value>, String> {
    let tree = serde_json::to_value(kubeconfig).unwrap_or_default();
    let named = |list: &str, name: &str, field: &str| -> Option<Value> {
        let entry = tree[list].as_array()?.iter().find(|entry| entry["name"] == name)?;
        Some(entry[field].clone())
    };
    let context = named("contexts", context, "context").ok_or("there is no such context")?;
    let Some(name) = text(&context, field) else { return Ok(None) };
    let found = named(list, &name, field);
    found.map(Some).ok_or_else(|| format!("there is no {field} `{name}`, which the context names"))
}

fn text(value: &Value, field: &str) -> Option<String> {
    value[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn read(path: String) -> Result<String, String> {
    fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kubeconfig(cluster: &Value, user: &Value) -> Kubeconfig {
        serde_json::from_value(json!({
            "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "m1", "context": {"cluster": "c", "user": "u"}}],
        }))
        .unwrap()
    }

    fn entry(server: &str) -> Result<Entry, String> {
        let cluster = json!({"server": server, "certificate-authority-data": "eA=="});
        Entry::of(&kubeconfig(&cluster, &json!({"token": "t"})), "m1")
    }

    #[test]
    fn host_port_and_path_of_the_server_url_are_kept() {
        for (server, host, port, path) in [
            ("https://10.0.0.1:6443", "10.0.0.1", 6443, ""),
            ("https://rancher.example.com/", "rancher.example.com", 443, ""),
            ("https://h:8443/k8s/clusters/c-1", "h", 8443, "/k8s/clusters/c-1"),
            ("https://h/k8s/clusters/c-1//", "h", 443, "/k8s/clusters/c-1"),
            ("https://[::1]:6443/a", "::1", 6443, "/a"),
        ] {
            let expected = ServerUrl { host: host.into(), port, path: path.into() };
            assert_eq!(entry(server).map(|entry| entry.server), Ok(expected), "{server}");
        }
    }

    #[test]
    fn a_server_url_from_which_no_request_can_be_built_is_refused_with_the_form_that_is_right() {
        for server in [
            "2",
            "1ns",
            "h:6443",
            "127.0.0.1",
            "/k8s/clusters/c-1",
            "https://",
            "https:///a",
            "https://h:0",
            "https://h:66666",
            "ftp://h/",
            "unix:///run/a.sock",
            "https://h/a?b=c",
            "https://h/a#b",
            "https://user:pw@h/",
            "https://h h/",
            "-1e+308",
        ] {
            let error = entry(server).unwrap_err();
            assert!(error.starts_with("its server"), "{server}: {error}");
            assert!(error.contains("https://"), "{server}: {error}");
            assert!(!error.contains("pw"), "{error}");
        }
        let error = entry("http://h:8080").unwrap_err();
        assert!(error.contains("over https:// alone"), "{error}");
    }

    #[test]
    fn an_entry_that_is_incomplete_is_refused_with_what_it_lacks() {
        let right = json!({"server": "https://h", "certificate-authority-data": "eA=="});
        let with = |field: &str, value: Value| {
            let mut cluster = right.clone();
            cluster[field] = value;
            cluster
        };
        let token = json!({"token": "t"});
        for (cluster, user, says) in [
            (with("server", Value::Null), &token, "its cluster has no server"),
            (with("proxy-url", json!("http://p:3128")), &token, "has a proxy-url"),
            (with("certificate-authority-data", json!("!")), &token, "is no PEM in base64"),
            (with("certificate-authority-data", Value::Null), &token, "names no certificate-authority"),
            (right.clone(), &json!({}), "has no bearer token"),
            (right.clone(), &json!({"token": ""}), "has no bearer token"),
            (right.clone(), &json!({"token": "a\nb"}), "has characters that no token has"),
            (right.clone(), &json!({"tokenFile": "/nowhere/at/all"}), "/nowhere/at/all: No such file"),
        ] {
            let error = Entry::of(&kubeconfig(&cluster, user), "m1").unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        let other = Entry::of(&kubeconfig(&right, &token), "m2").unwrap_err();
        assert_eq!(other, "there is no such context");
        let kubeconfig: Kubeconfig = serde_json::from_value(json!({
            "contexts": [{"name": "m1", "context": {"cluster": "c", "user": "u"}}],
        }))
        .unwrap();
        let error = Entry::of(&kubeconfig, "m1").unwrap_err();
        assert_eq!(error, "there is no cluster `c`, which the context names");
    }
}
