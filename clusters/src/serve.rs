//! A member as a program of its own: the embedded API server behind HTTPS, with the simulated inside.
//!
//! Who starts the program, and where, is left to providers.

use std::net::SocketAddr;
use std::pin::pin;

use capsize_apiserver::{ApiServer, Keys, ListenError, Listening, User};
use capsize_clock::Simulation;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::task::JoinSet;

use crate::fleet::{MemberSpec, run_inside, seed_of};
use crate::inside::StartUpSetting;
use crate::outside::{SETTINGS, START_UP};

/// By what a member is known, and whom it knows, where that is not left to chance.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// The keys that it had before.
    pub keys: Option<Keys>,
    /// Host names and addresses by which it is reached, beside those that every server has.
    pub names: Vec<String>,
    /// The token by which machines join it.
    pub join_token: Option<String>,
}

/// Who shows such a token.
const JOINING: (&str, &str) = ("system:bootstrap:capsize", "system:bootstrappers");

/// A member that listens. Dropping it cuts all connections.
pub struct Served {
    listening: Listening,
    _inside: JoinSet<()>,
}

impl Served {
    /// Starts the member that `spec` describes on `address`.
    ///
    /// # Errors
    /// When the address cannot be had, or the keys are none.
    pub async fn start(
        run: Simulation,
        spec: &MemberSpec,
        address: SocketAddr,
        standing: Standing,
    ) -> Result<Self, ListenError> {
        let api = ApiServer::builder(run.clock, seed_of(run, spec).stream("api")).name(&spec.name);
        let api = api.track_updates(true).authentication(true).service_account_controllers(true);
        let api = match standing.join_token {
            Some(token) => api.token(token, User::new(JOINING.0, [JOINING.1])),
            None => api,
        };
        let api = api.build();
        let setting = StartUpSetting::new(spec.start_up);
        let mut inside = run_inside(run, spec, &api.client(), setting.clone());
        inside.spawn(follow_setting(api.client(), setting));
        let listener = api.listener().names(standing.names);
        let listener = match standing.keys {
            Some(keys) => listener.keys(keys),
            None => listener,
        };
        Ok(Self { listening: listener.bind(address).await?, _inside: inside })
    }

    /// How it is reached.
    pub fn listening(&self) -> &Listening {
        &self.listening
    }

    /// Stops it, after the answers that are under way.
    pub async fn stop(self) {
        self.listening.stop().await;
    }
}

/// Sets what the annotation says. Never ends.
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
