//! Makes the client configuration for a cluster of a kubeconfig, and checks the server's address.

use http::Uri;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use miette::{IntoDiagnostic, Report, miette};

/// The client configuration for `context` of `kubeconfig`, or for its current context.
///
/// # Errors
/// When there is no such context, something in it is wrong, or its server is not the URL of an API server.
pub async fn config_of(kubeconfig: Kubeconfig, context: Option<&str>) -> Result<Config, Report> {
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.into_diagnostic()?;
    check_server(&config.cluster_url)?;
    Ok(config)
}

/// Checks that requests can be sent to `server`. The client of kube panics at a URL without a scheme.
///
/// # Errors
/// When `server` has no scheme, one that is not HTTP, no host, or a port that is not a number up to 65535.
pub fn check_server(server: &Uri) -> Result<(), Report> {
    let is_http = matches!(server.scheme_str(), Some("http" | "https"));
    let has_address = server.authority().is_some_and(|authority| {
        // `port_u16` is absent for a number above 65535, and the client would use the default port instead.
        let (host, port) = (authority.host(), authority.port_u16());
        let after_host = authority.as_str().rsplit_once(host).map_or("", |(_, rest)| rest);
        !host.is_empty() && (port.is_some() || after_host.is_empty())
    });
    if is_http && has_address {
        return Ok(());
    }
    Err(miette!(
        help = "write a URL like https://127.0.0.1:6443",
        "the server `{server}` is not the URL of an API server"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_url_with_http_a_host_and_a_port_that_exists() {
        let right = "http://localhost https://127.0.0.1:6443 https://[::1]:6443 https://[::1] \
            https://rancher.example.com/k8s/clusters/c-1 https://host:65535/";
        let wrong = "2 1ns localhost:8080 127.0.0.1:6443 ftp://host unix://socket /run/socket / https://host:65536 \
            https://host: https://:6443";
        for (texts, is_right) in [(right, true), (wrong, false)] {
            for text in texts.split_whitespace() {
                // A text that is not a URI does not even parse.
                let Ok(server) = text.parse::<Uri>() else {
                    assert!(!is_right, "{text}");
                    continue;
                };
                assert_eq!(check_server(&server).is_ok(), is_right, "{text}");
            }
        }
    }
}
