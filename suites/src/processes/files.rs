//! The folder with the files of programs: kubeconfig, certificates and logs.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use capsize_clusters::{AgentKubeconfigs, Sockets};
use capsize_controllers::Identity;
use capsize_real::Resource;
use tempfile::TempDir;

use super::implementation::ProcessCleanup;

/// How the names of the folders begin.
const PREFIX: &str = "capsize-";

/// So much of a log is shown of a program that ends.
const LAST_LINES: usize = 10;

/// The folder with the files of the programs. It is removed when they end.
pub(super) struct Folder {
    at: PathBuf,
    cleanup: Option<ProcessCleanup>,
    /// Where the logs are kept.
    logs: Option<PathBuf>,
    authority: String,
}

impl Folder {
    pub(super) fn create(
        sockets: &Sockets,
        cleanup: Option<ProcessCleanup>,
        logs: Option<PathBuf>,
    ) -> io::Result<Self> {
        let at = match &cleanup {
            Some(ProcessCleanup { journal, .. }) => journal.folder(&env::temp_dir(), PREFIX)?,
            None => TempDir::with_prefix(PREFIX)?.keep(),
        };
        let names = ["localhost", "127.0.0.1"].map(str::to_owned).to_vec();
        let Identity { certificates, key } = Identity::generate(names).map_err(io::Error::other)?;
        let folder = Self { at, cleanup, logs, authority: certificates.clone() };
        fs::write(folder.kubeconfig(), sockets.kubeconfig())?;
        fs::create_dir(folder.certificates())?;
        for (file, text) in [("tls.crt", &certificates), ("ca.crt", &certificates), ("tls.key", &key)] {
            fs::write(folder.certificates().join(file), text)?;
        }
        Ok(folder)
    }

    fn resource(&self) -> Resource {
        Resource::Folder(self.at.clone())
    }

    /// The cleanup of the programs, if there is one.
    pub(super) fn cleanup(&self) -> Option<&ProcessCleanup> {
        self.cleanup.as_ref()
    }

    /// The folder itself.
    pub(super) fn path(&self) -> &Path {
        &self.at
    }

    /// The path of a kubeconfig of the control plane.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.at.join("kubeconfig.yaml")
    }

    /// Writes the kubeconfigs of the agent in `member`: of the control plane, and of the member.
    pub(super) fn write_kubeconfigs_of_agent(&self, member: &str, sockets: &Sockets) -> io::Result<()> {
        let no_agent =
            || io::Error::other(format!("{member} is not embedded, so that no agent can run in it"));
        let AgentKubeconfigs { control_plane, member: own } = sockets.agent(member).ok_or_else(no_agent)?;
        fs::write(self.kubeconfig_of_agent(member), control_plane)?;
        fs::write(self.kubeconfig_of_member(member), own)
    }

    /// The path of a kubeconfig of the control plane, as the agent in `member` reaches it.
    pub(super) fn kubeconfig_of_agent(&self, member: &str) -> PathBuf {
        self.at.join(format!("kubeconfig-of-agent-{member}.yaml"))
    }

    /// The path of a kubeconfig of `member`, as its agent reaches it.
    pub(super) fn kubeconfig_of_member(&self, member: &str) -> PathBuf {
        self.at.join(format!("kubeconfig-of-member-{member}.yaml"))
    }

    /// Returns the folder with the certificates for a server on this machine.
    /// The files are `tls.crt` and `tls.key` for the server, and `ca.crt`, which the clients of the server trust.
    pub(super) fn certificates(&self) -> PathBuf {
        self.at.join("certificates")
    }

    /// The certificate that clients trust, as webhook configurations have it.
    pub(super) fn authority_bundle(&self) -> String {
        STANDARD.encode(&self.authority)
    }

    /// The path of the log of a program.
    pub(super) fn log(&self, program: &str) -> PathBuf {
        self.at.join(format!("{program}.log"))
    }

    /// The log of a program so far; empty if it cannot be read.
    pub(super) fn log_text(&self, program: &str) -> String {
        fs::read_to_string(self.log(program)).unwrap_or_default()
    }

    /// The end of the log of a program.
    pub(super) fn log_tail(&self, program: &str) -> String {
        tail(&self.log(program))
    }

    /// Copies the logs to where they are kept. A log of programs that were killed before is continued.
    fn keep_logs(&self) -> io::Result<()> {
        let Some(logs) = &self.logs else { return Ok(()) };
        fs::create_dir_all(logs)?;
        for entry in fs::read_dir(&self.at)? {
            let path = entry?.path();
            if let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|it| it == "log")) {
                let mut kept = fs::OpenOptions::new().create(true).append(true).open(logs.join(name))?;
                io::copy(&mut fs::File::open(&path)?, &mut kept)?;
            }
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A case does not fail because its logs cannot be kept.
        let _ = self.keep_logs();
        let removed = fs::remove_dir_all(&self.at).is_ok();
        if let Some(ProcessCleanup { journal, .. }) = self.cleanup.as_ref().filter(|_| removed) {
            journal.undone(&self.resource());
        }
    }
}

pub(super) fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}
