//! A member as a separate program: the embedded API server behind HTTPS, with simulated workloads.
//!
//! Providers start the program.

use std::net::SocketAddr;
use std::pin::pin;

use capsize_apiserver::{ApiServer, Identity, Keys, RunningServer, ServeError, User};
use capsize_clock::Simulation;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::task::JoinSet;

use crate::deployments::StartUpSetting;
use crate::external::{SETTINGS, START_UP};
use crate::fleet::{MemberSpec, run_workloads, seed_of};

/// The keys, names and tokens of a member that are given instead of generated.
#[derive(Clone, Debug, Default)]
pub struct GivenCredentials {
    /// The keys of the member before a restart.
    pub keys: Option<Keys>,
    /// Further host names and addresses for the certificate.
    pub names: Vec<String>,
    /// The certificate that replaces a generated one.
    pub identity: Option<Identity>,
    /// The bearer tokens, with their users.
    pub tokens: Vec<(String, User)>,
    /// True for a bare API server: without controllers and workloads, and with RBAC.
    pub is_bare: bool,
}

impl GivenCredentials {
    /// Adds a token with which machines join the member.
    #[must_use]
    pub fn join_token(mut self, token: Option<String>) -> Self {
        self.tokens.extend(token.map(|token| (token, User::new(JOINING.0, [JOINING.1]))));
        self
    }
}

/// The user and group of a join token.
const JOINING: (&str, &str) = ("system:bootstrap:capsize", "system:bootstrappers");

/// A member that listens. Dropping it closes all connections.
pub struct ListeningMember {
    listening: RunningServer,
    _inside: JoinSet<()>,
}

impl ListeningMember {
    /// Starts the member that `spec` describes on `address`.
    ///
    /// # Errors
    /// If the address is not available, or the keys are malformed.
    pub async fn start(
        run: Simulation,
        spec: &MemberSpec,
        address: SocketAddr,
        standing: GivenCredentials,
    ) -> Result<Self, ServeError> {
        let api = ApiServer::builder(run.clock, seed_of(run, spec).stream("api")).name(&spec.name);
        let has_controllers = !standing.is_bare;
        let api = api.track_updates(true).authentication(true).rbac(standing.is_bare);
        let api = api.service_account_controllers(has_controllers).garbage_collector(has_controllers);
        let api = api.namespace_controller(has_controllers);
        let api = standing.tokens.into_iter().fold(api, |api, (token, user)| api.token(token, user)).build();
        let mut inside = JoinSet::new();
        if has_controllers {
            let setting = StartUpSetting::new(spec.start_up);
            inside = run_workloads(run, spec, &api.client(), setting.clone());
            inside.spawn(follow_setting(api.client(), setting));
        }
        let mut listener = api.listener().names(standing.names);
        if let Some(keys) = standing.keys {
            listener = listener.keys(keys);
        }
        if let Some(identity) = standing.identity {
            listener = listener.identity(identity);
        }
        Ok(Self { listening: listener.bind(address).await?, _inside: inside })
    }

    /// The server of the member, with URL and credentials.
    pub fn listening(&self) -> &RunningServer {
        &self.listening
    }

    /// Stops the member after open requests have their responses.
    pub async fn stop(self) {
        self.listening.stop().await;
    }
}

/// Copies each change of the annotation to the setting. Never returns.
async fn follow_setting(client: Client, setting: StartUpSetting) {
    let mut states = pin!(watcher::watch_object(Api::<Namespace>::all(client), SETTINGS).default_backoff());
    while let Some(state) = states.next().await {
        let Ok(Some(namespace)) = state else { continue };
        if let Some(start_up) = namespace.annotations().get(START_UP).and_then(|text| text.parse().ok())
            && start_up != setting.get()
        {
            setting.set(start_up);
        }
    }
}
