//! Makes clients for members from their Cluster objects and the secrets that these name.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use capsize_controllers::api::Cluster;
use capsize_controllers::{MemberClients, RateLimit, with_time_limit};
use futures::FutureExt;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::config::{
    AuthInfo, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Client, Config, ResourceExt};

/// The keys of a member's secret.
const CA: &str = "caBundle";
const TOKEN: &str = "token";

/// Clients for members. A client is replaced when the address in its Cluster or its secret changes.
pub(crate) struct Members {
    secrets: Store<Secret>,
    rate_limit: RateLimit,
    made: Mutex<BTreeMap<String, (Access, Client)>>,
}

/// Everything that the connection to a member depends on.
/// It is never printed, because it contains the token.
#[derive(Clone, PartialEq, Eq)]
struct Access {
    endpoint: String,
    skips_verification: bool,
    ca: Vec<u8>,
    token: String,
}

impl Members {
    pub(crate) fn new(secrets: Store<Secret>, rate_limit: RateLimit) -> Self {
        Self { secrets, rate_limit, made: Mutex::default() }
    }

    fn access(&self, cluster: &Cluster) -> Option<Access> {
        let spec = &cluster.spec;
        let wanted = spec.secret_ref.as_ref()?;
        let secret = self.secrets.get(&ObjectRef::new(&wanted.name).within(&wanted.namespace))?;
        let data = secret.data.as_ref()?;
        let token = String::from_utf8(data.get(TOKEN)?.0.clone()).ok()?;
        let ca = data.get(CA).map(|ByteString(ca)| ca.clone()).unwrap_or_default();
        let skips_verification = spec.insecure_skip_tls_verification;
        Some(Access { endpoint: spec.api_endpoint.clone(), skips_verification, ca, token })
    }
}

impl MemberClients for Members {
    fn client(&self, cluster: &Cluster, timeout: Duration) -> Option<Client> {
        let access = self.access(cluster)?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let name = cluster.name_any();
        if let Some((_, client)) = made.get(&name).filter(|(known, _)| *known == access) {
            return Some(client.clone());
        }
        let config = access.config()?;
        match Client::try_from(config) {
            Ok(client) => {
                let client = with_time_limit(client, timeout, Some(self.rate_limit));
                made.insert(name, (access, client.clone()));
                Some(client)
            }
            Err(error) => {
                tracing::warn!(cluster = name, %error, "no client can be made for this member");
                None
            }
        }
    }
}

impl Access {
    /// Returns the client configuration, which is made through a kubeconfig in memory.
    /// The kubeconfig is necessary because kube reads certificates from nothing else.
    fn config(&self) -> Option<Config> {
        let name = "member".to_owned();
        let cluster = kube::config::Cluster {
            server: Some(self.endpoint.clone()),
            insecure_skip_tls_verify: Some(self.skips_verification),
            certificate_authority_data: (!self.ca.is_empty()).then(|| STANDARD.encode(&self.ca)),
            ..kube::config::Cluster::default()
        };
        let user = AuthInfo { token: Some(self.token.clone().into()), ..AuthInfo::default() };
        let context = Context { cluster: name.clone(), user: Some(name.clone()), ..Context::default() };
        let kubeconfig = Kubeconfig {
            clusters: vec![NamedCluster {
                name: name.clone(),
                cluster: Some(cluster),
                ..NamedCluster::default()
            }],
            auth_infos: vec![NamedAuthInfo {
                name: name.clone(),
                auth_info: Some(user),
                ..NamedAuthInfo::default()
            }],
            contexts: vec![NamedContext {
                name: name.clone(),
                context: Some(context),
                ..NamedContext::default()
            }],
            current_context: Some(name),
            ..Kubeconfig::default()
        };
        let options = KubeConfigOptions::default();
        // The future is ready at once, because nothing in the kubeconfig has to be fetched.
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).now_or_never()?.ok()?;
        // A probe of a member whose API server answers with an error fails at once. The retries of kube would last until the
        // time limit, and the member would be reported as not reachable. client-go repeats a request only if the answer
        // has the header `Retry-After`.
        config.default_retry = false;
        Some(config)
    }
}
