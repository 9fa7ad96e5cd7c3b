//! `capsize member`: one member of a fleet, for the machine of its own that a provider starts it on.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use capsize_clock::{Seed, Simulation, Stop, live};
use capsize_clusters::{GivenCredentials, Identity, Keys, ListeningMember, MemberSpec, StartUp, User};
use clap::Args;

use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::output;

/// Run one member of a fleet: an embedded API server, with simulated Nodes and workloads
#[derive(Args, Debug)]
pub struct MemberCommand {
    /// The name of the member
    #[arg(long)]
    name: String,
    /// The address on which the member listens
    #[arg(long, value_name = "ADDR")]
    listen: SocketAddr,
    /// How many Nodes the member has
    #[arg(long, default_value_t = 1)]
    nodes: usize,
    /// How long replicas take to become ready: 1500ms, 100ms..300ms, never
    #[arg(long, default_value = "1500ms")]
    start_up: StartUp,
    /// A JSON file with the keys of the member. If the file does not exist, new keys are written to it
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Another host name or address for the certificate of the member
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// The token with which machines join the member
    #[arg(long, value_name = "TOKEN")]
    join_token: Option<String>,
    /// Write a kubeconfig of an administrator to this file when the member listens
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The certificate of the server, in PEM, instead of one that its own authority signs
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// The key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// The users of bearer tokens, in the format of kube-apiserver: lines of token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE")]
    token_auth_file: Option<PathBuf>,
    /// Be an API server and nothing else: no controllers, no Nodes, and nothing becomes ready
    #[arg(long, conflicts_with_all = ["nodes", "start_up"])]
    bare: bool,
    /// The random seed
    #[arg(long, default_value_t = Seed(1))]
    seed: Seed,
}

impl MemberCommand {
    /// Serves until a signal asks it to stop.
    ///
    /// # Errors
    /// An address that is in use, a file that has no keys.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let ran = live(self.seed, 1.0, |run| self.run(run));
        ran.map_err(|error| environment_error!("cannot start: {error}"))?
    }

    async fn run(&self, run: Simulation) -> Result<ExitStatus, CommandError> {
        let stop = Stop::listen();
        let mut stop = stop.map_err(|error| environment_error!("cannot listen to signals: {error}"))?;
        let mut spec = MemberSpec::named(&self.name);
        (spec.nodes, spec.start_up) = (self.nodes, self.start_up);
        let keys = self.keys.as_deref().map(keys).transpose()?;
        let standing = GivenCredentials {
            keys,
            names: self.hosts.clone(),
            identity: self.identity()?,
            tokens: self.token_auth_file.as_deref().map(tokens).transpose()?.unwrap_or_default(),
            is_bare: self.bare,
        };
        let standing = standing.join_token(self.join_token.clone());
        let served = ListeningMember::start(run, &spec, self.listen, standing).await;
        let served = served.map_err(|error| environment_error!("{}: {error}", self.listen))?;
        if let Some(path) = &self.kubeconfig {
            output::write_secret(path, &served.listening().kubeconfig())?;
        }
        output::print(&format!("{} {}\n", self.name, served.listening().url()))?;
        stop.signal().await;
        served.stop().await;
        Ok(ExitStatus::Conforms)
    }

    /// The certificate that it is given, if it is given one.
    fn identity(&self) -> Result<Option<Identity>, CommandError> {
        let (Some(certificate), Some(key)) = (&self.tls_cert_file, &self.tls_private_key_file) else {
            return Ok(None);
        };
        let read = |path: &Path| {
            fs::read_to_string(path).map_err(|error| input_error!("{}: {error}", path.display()))
        };
        Ok(Some(Identity { certificate: read(certificate)?, key: read(key)? }))
    }
}

/// The keys in the file at `path`, where they are written if they are not there yet.
fn keys(path: &Path) -> Result<Keys, CommandError> {
    // The message of the reader might quote what is secret.
    let wrong = |what: &str| input_error!("--keys {}: {what}", path.display());
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let keys = Keys::generate().map_err(|error| wrong(&error.to_string()))?;
            let text = serde_json::to_string(&keys).map_err(|error| wrong(&error.to_string()))?;
            output::write_secret(path, &text)?;
            Ok(keys)
        }
        text => {
            let text = text.map_err(|error| wrong(&error.to_string()))?;
            serde_json::from_slice(&text).map_err(|_| wrong("these are no keys"))
        }
    }
}

/// The users of tokens in the file at `path`. Its uids are not used.
pub(crate) fn tokens(path: &Path) -> Result<Vec<(String, User)>, CommandError> {
    // The message must not quote what is secret.
    let wrong = |what: &str| input_error!("--token-auth-file {}: {what}", path.display());
    let text = fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
    let lines = text.lines().map(|line| line.splitn(4, ',').map(|field| field.trim_matches('"')).collect());
    let read = |fields: Vec<&str>| match fields[..] {
        [token, user, _] => Ok((token.to_owned(), User::new(user, [""; 0]))),
        [token, user, _, groups] => Ok((token.to_owned(), User::new(user, groups.split(',')))),
        _ => Err(wrong("a line is not like token,user,uid,\"group1,group2\"")),
    };
    lines.map(read).collect()
}
