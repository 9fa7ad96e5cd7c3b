//! `capsize webhooks`: the webhooks of the reference as a program.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use capsize_clock::{Seed, Stop, live};
use capsize_controllers::rules::Release;
use capsize_controllers::{Identity, Settings, Webhooks};
use clap::Args;
use tokio::net::TcpListener;

use crate::exit::{CommandError, ExitStatus, environment_error, input_error};

/// Serve the webhooks of the reference over HTTPS
#[derive(Args, Debug)]
pub struct WebhooksCommand {
    /// The address to listen on
    #[arg(long)]
    listen: SocketAddr,
    /// The folder with `tls.crt` and `tls.key`
    #[arg(long)]
    cert_dir: PathBuf,
    /// The release whose webhooks are served
    #[arg(long, default_value = "1.5")]
    release: String,
    /// The toleration of `not-ready` that policies get
    #[arg(long, default_value_t = 300.0)]
    default_not_ready_toleration_seconds: f64,
    /// The toleration of `unreachable` that policies get
    #[arg(long, default_value_t = 300.0)]
    default_unreachable_toleration_seconds: f64,
}

impl WebhooksCommand {
    /// Serves until a signal asks to stop.
    ///
    /// # Errors
    /// A certificate that is missing or wrong, or an address that cannot be had.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let served = live(Seed(1), 1.0, |_| self.serve());
        served.map_err(|error| environment_error!("cannot start: {error}"))?
    }

    async fn serve(&self) -> Result<ExitStatus, CommandError> {
        let read = |file: &str| {
            let path = self.cert_dir.join(file);
            fs::read_to_string(&path)
                .map_err(|error| input_error!("the webhooks need a certificate: {}: {error}", path.display()))
        };
        let identity = Identity { certificates: read("tls.crt")?, key: read("tls.key")? };
        let seconds =
            |seconds: f64| Duration::try_from_secs_f64(seconds).map_err(|error| input_error!("{error}"));
        let settings = Settings {
            not_ready_toleration: seconds(self.default_not_ready_toleration_seconds)?,
            unreachable_toleration: seconds(self.default_unreachable_toleration_seconds)?,
            allow_no_execute_taint_policy: true,
            ..Settings::default()
        };
        let environment =
            |error: &dyn std::fmt::Display| environment_error!("--listen {}: {error}", self.listen);
        let mut stop = Stop::listen().map_err(|error| environment(&error))?;
        let socket = TcpListener::bind(self.listen).await.map_err(|error| environment(&error))?;
        let webhooks = Webhooks::new(settings, Arc::new(Release::of(&self.release)));
        let serving = webhooks.serve(socket, &identity);
        let _serving = serving.map_err(|error| input_error!("{error}"))?;
        stop.signal().await;
        Ok(ExitStatus::Conforms)
    }
}
