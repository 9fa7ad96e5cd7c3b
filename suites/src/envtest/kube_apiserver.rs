//! `kube-apiserver` for envtest: the embedded API server, with the flags that envtest passes.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use capsize_apiserver::{ApiServer, Identity};
use capsize_clock::{Seed, Simulation, Stop, live};
use clap::{Args, ValueEnum};

use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::member;

/// The modes of authorization that the embedded API server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Authorization {
    #[value(name = "RBAC")]
    Rbac,
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
}

/// The kube-apiserver of envtest: the embedded API server, without controllers
///
/// It has the flags that envtest passes, and refuses others.
#[derive(Args, Debug)]
pub struct KubeApiserver {
    /// The folder with apiserver.crt and apiserver.key, unless other flags name the files
    #[arg(long, value_name = "DIR")]
    cert_dir: Option<PathBuf>,
    /// The certificate of the server, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// The key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// The authority of the certificates of clients, in PEM
    #[arg(long, value_name = "FILE")]
    client_ca_file: Option<PathBuf>,
    /// The users of bearer tokens, as lines of token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE")]
    token_auth_file: Option<PathBuf>,
    /// The address on which the server listens
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED))]
    bind_address: IpAddr,
    /// The port on which the server listens
    #[arg(long, value_name = "PORT", default_value_t = 6443)]
    secure_port: u16,
    /// The modes of authorization; one that allows a request is enough
    #[arg(long, value_name = "MODE", value_delimiter = ',', default_value = "AlwaysAllow")]
    authorization_mode: Vec<Authorization>,
    /// The issuer of the tokens of service accounts
    #[arg(long, value_name = "URL")]
    service_account_issuer: Option<String>,
    /// Read and ignored, as the objects are in memory
    #[arg(long, value_name = "URL")]
    pub etcd_servers: Option<String>,
    /// Read and ignored, as the server draws a key of its own
    #[arg(long, value_name = "FILE")]
    pub service_account_key_file: Option<PathBuf>,
    /// Read and ignored, as the server draws a key of its own
    #[arg(long, value_name = "FILE")]
    pub service_account_signing_key_file: Option<PathBuf>,
    /// Read and ignored
    #[arg(long, value_name = "IP")]
    pub advertise_address: Option<String>,
    /// Read and ignored
    #[arg(long, value_name = "BOOL")]
    pub allow_privileged: Option<String>,
    /// Read and ignored, as the server has no such plugins
    #[arg(long, value_name = "NAMES")]
    pub disable_admission_plugins: Option<String>,
    /// Read and ignored
    #[arg(long, value_name = "RANGE")]
    pub service_cluster_ip_range: Option<String>,
}

impl KubeApiserver {
    /// Serves until a signal asks it to stop.
    ///
    /// # Errors
    /// A file that cannot be read or does not have what it should, an address that is in use.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        // Servers of one test have different ports, and so different UIDs.
        let ran = live(Seed(self.secure_port.into()), 1.0, |run| self.run(run));
        ran.map_err(|error| environment_error!("cannot start: {error}"))?
    }

    async fn run(&self, run: Simulation) -> Result<ExitStatus, CommandError> {
        let mut stop =
            Stop::listen().map_err(|error| environment_error!("cannot listen to signals: {error}"))?;
        let tokens = self.token_auth_file.as_deref().map(member::tokens).transpose()?.unwrap_or_default();
        let has_rbac = !self.authorization_mode.contains(&Authorization::AlwaysAllow);
        // Controllers belong to kube-controller-manager, which envtest does not start.
        let api = ApiServer::builder(run.clock, run.seed.stream("api"))
            .name("kube-apiserver")
            .track_updates(true)
            .authentication(true)
            .rbac(has_rbac)
            .garbage_collector(false)
            .namespace_controller(false);
        let api = match &self.service_account_issuer {
            Some(url) => api.issuer(url),
            None => api,
        };
        let api = tokens.into_iter().fold(api, |api, (token, user)| api.token(token, user));
        let mut listener = api.build().listener();
        if let Some(identity) = self.identity()? {
            listener = listener.identity(identity);
        }
        if let Some(file) = &self.client_ca_file {
            listener = listener.client_authority(read(file)?);
        }
        let address = SocketAddr::new(self.bind_address, self.secure_port);
        let listening = listener.bind(address).await;
        let listening = listening.map_err(|error| environment_error!("{address}: {error}"))?;
        stop.signal().await;
        listening.stop().await;
        Ok(ExitStatus::Conforms)
    }

    /// The certificate of the flags, or that of the folder, if there is one.
    fn identity(&self) -> Result<Option<Identity>, CommandError> {
        let named = self.tls_cert_file.clone().zip(self.tls_private_key_file.clone());
        let files = named.or_else(|| {
            let folder = self.cert_dir.as_ref()?;
            let files = (folder.join("apiserver.crt"), folder.join("apiserver.key"));
            files.0.exists().then_some(files)
        });
        files
            .map(|(certificate, key)| Ok(Identity { certificate: read(&certificate)?, key: read(&key)? }))
            .transpose()
    }
}

fn read(path: &Path) -> Result<String, CommandError> {
    fs::read_to_string(path).map_err(|error| input_error!("{}: {error}", path.display()))
}
