//! Credentials for a kind cluster: the kubeconfig of its administrator, and a token.

use capsize_clusters::ProviderError;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::json;

use crate::kubeconfig::{authority, token};

/// The service account that gets a token, and its namespace.
const ACCOUNT: &str = "capsize";
const NAMESPACE: &str = "kube-system";

/// The lifetime of the token; no run takes longer.
const SECONDS: i64 = 24 * 3600;

/// The administrator of a cluster, as this machine reaches the cluster.
pub(super) struct Administrator {
    pub(super) client: Client,
    /// The certificate (PEM) of the cluster's authority.
    pub(super) authority: String,
    /// The token, if it has one. Administrators that kubeadm creates have a certificate instead.
    token: Option<String>,
}

impl Administrator {
    /// The administrator of the kubeconfig `text`, which was written inside the cluster.
    /// From this machine, its server is `url`.
    pub(super) async fn of(text: &str, url: &str) -> Result<Self, ProviderError> {
        // The messages of the parser may quote the file, which holds keys.
        let wrong = |why: &str| ProviderError(format!("the kubeconfig of the node for {url}: {why}"));
        let kubeconfig = Kubeconfig::from_yaml(text).map_err(|_| wrong("this is not a kubeconfig"))?;
        let kubeconfig = reached_at(kubeconfig, url);
        let context = kubeconfig.current_context.clone().unwrap_or_default();
        let authority = authority(&kubeconfig, &context).map_err(|why| wrong(&why))?;
        let token = token(&kubeconfig, &context).ok();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let client = config
            .map_err(|error| wrong(&error.to_string()))
            .and_then(|config| Client::try_from(config).map_err(|error| wrong(&error.to_string())))?;
        Ok(Self { client, authority, token })
    }

    /// Returns the bearer token of a user who may do everything.
    /// The token is the administrator's own, or that of a service account that is created for it.
    pub(super) async fn token(&self) -> Result<String, ProviderError> {
        match &self.token {
            Some(token) => Ok(token.clone()),
            None => self.account().await,
        }
    }

    async fn account(&self) -> Result<String, ProviderError> {
        let failed = |error: kube::Error| ProviderError(format!("the cluster issues no token: {error}"));
        let read = |error: serde_json::Error| {
            ProviderError(format!("internal error: a generated object is invalid: {error}"))
        };
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), NAMESPACE);
        let account: ServiceAccount =
            serde_json::from_value(json!({"metadata": {"name": ACCOUNT}})).map_err(read)?;
        accounts.create(&PostParams::default(), &account).await.map_err(failed)?;
        let binding: ClusterRoleBinding = serde_json::from_value(json!({
            "metadata": {"name": ACCOUNT},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
        }))
        .map_err(read)?;
        let bindings: Api<ClusterRoleBinding> = Api::all(self.client.clone());
        bindings.create(&PostParams::default(), &binding).await.map_err(failed)?;
        let spec = TokenRequestSpec { expiration_seconds: Some(SECONDS), ..Default::default() };
        let request = TokenRequest { spec: Some(spec), ..Default::default() };
        let answer = accounts.create_token_request(ACCOUNT, &PostParams::default(), &request).await;
        let token = answer.map_err(failed)?.status.and_then(|status| status.token);
        token.ok_or_else(|| ProviderError("the cluster issues no token".into()))
    }
}

/// The same kubeconfig with all servers replaced by `url`.
fn reached_at(mut kubeconfig: Kubeconfig, url: &str) -> Kubeconfig {
    for cluster in kubeconfig.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        cluster.server = Some(url.to_owned());
    }
    kubeconfig
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use capsize_clock::{Seed, live};
    use capsize_clusters::{GivenCredentials, ListeningMember, MemberSpec};

    use super::*;

    #[test]
    fn the_kubeconfig_of_a_node_leads_to_where_its_port_is_published() {
        let text = "
apiVersion: v1
kind: Config
clusters: [{name: kind, cluster: {server: 'https://capsize-a-1-m1:6443', certificate-authority-data: eA==}}]
users: [{name: admin, user: {client-certificate-data: eA==, client-key-data: eA==}}]
contexts: [{name: admin@kind, context: {cluster: kind, user: admin}}]
current-context: admin@kind
";
        let kubeconfig = reached_at(Kubeconfig::from_yaml(text).unwrap(), "https://127.0.0.1:40123");
        let server = kubeconfig.clusters[0].cluster.as_ref().unwrap().server.as_deref();
        assert_eq!(server, Some("https://127.0.0.1:40123"));
        assert_eq!(authority(&kubeconfig, "admin@kind").unwrap(), "x");
    }

    #[test]
    fn an_administrator_without_a_token_gets_one_that_lasts() {
        let ran = live(Seed(1), 1.0, |run| async move {
            let (spec, address) = (MemberSpec::named("m1"), SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
            let served =
                ListeningMember::start(run, &spec, address, GivenCredentials::default()).await.unwrap();
            let kubeconfig = served.listening().kubeconfig();
            let lines = kubeconfig.lines().filter(|line| !line.trim_start().starts_with("token:"));
            let kubeconfig: String = lines.map(|line| format!("{line}\n")).collect();
            let administrator = Administrator::of(&kubeconfig, served.listening().url()).await.unwrap();
            let token = administrator.token().await.unwrap();
            assert_ne!(Some(&token), served.listening().token().as_ref());
            // A client with the token alone, and without a certificate.
            let lines = served.listening().kubeconfig();
            let lines = lines.lines().filter(|line| !line.trim_start().starts_with("client-"));
            let kubeconfig: String = lines.map(|line| format!("{line}\n")).collect();
            let kubeconfig = kubeconfig.replace(&served.listening().token().unwrap(), &token);
            let client = Administrator::of(&kubeconfig, served.listening().url()).await.unwrap().client;
            Api::<ServiceAccount>::namespaced(client, NAMESPACE).get(ACCOUNT).await.unwrap();
        });
        ran.unwrap();
    }
}
