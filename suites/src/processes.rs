//! An implementation that consists of programs of their own, started as a profile says.
//!
//! Definitions and admission are the reference's: of the real system they are set up by whoever installs it.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use capsize_clock::{Clock, Seed};
use capsize_clusters::{Admission, Sockets};
use capsize_history::dialect::DialectKind;
use capsize_judge::profile::{Program, Timings, Zones};
use capsize_real::{Journal, Resource, free_port};
use capsize_runner::objects::karmada as objects;
use capsize_runner::run::{Environment, Implementation, ImplementationInfo, StartError, Started};
use futures::future::LocalBoxFuture;
use http::Request;
use kube::{Client, Config};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::controllers::command_of;
use crate::die_with_parent::dying_with_parent;
use crate::reference::Reference;

/// How long a program may take until it is ready.
const TIMEOUT: Duration = Duration::from_secs(60);

/// From one look whether it is to the next, and how long a look may take.
const PAUSE: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_secs(5);

/// How the names of their folders begin.
const PREFIX: &str = "capsize-";

/// Namespaces that exist before the programs start: for the secrets of members, and for Leases of leaders.
const NAMESPACES: [&str; 2] = [objects::OF_MEMBERS, "karmada-system"];

/// So much of its log is shown of a program that ends.
const LAST_LINES: usize = 10;

/// Programs to be started.
pub struct Processes {
    programs: Vec<Program>,
    dialect: DialectKind,
    reference: Reference,
    keeper: Option<Keeper>,
}

/// Makes sure that nothing is left of programs, however this process ends.
#[derive(Clone)]
pub struct Keeper {
    /// The journal in which each resource is written down before it is made.
    pub journal: Arc<Journal>,
    /// The path of a program with the command `die-with-parent`.
    pub capsize: PathBuf,
}

impl Processes {
    /// These programs, in this order, for these objects.
    #[must_use]
    pub fn new(programs: Vec<Program>, dialect: DialectKind) -> Self {
        Self { programs, dialect, reference: Reference::default(), keeper: None }
    }

    /// With somebody who sees to it that nothing is left of them.
    #[must_use]
    pub fn kept_by(self, keeper: Keeper) -> Self {
        Self { keeper: Some(keeper), ..self }
    }
}

impl Implementation for Processes {
    fn definitions(&self) -> Vec<Value> {
        // Nodes and what belongs to them are part of every cluster.
        if self.dialect == DialectKind::Nodes {
            return Vec::new();
        }
        let namespaces = NAMESPACES
            .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        namespaces.into_iter().chain(self.reference.definitions()).collect()
    }

    fn admission(&self, timings: &Timings, seed: Seed) -> Option<Admission> {
        self.reference.admission(timings, seed)
    }

    fn info(&self) -> ImplementationInfo {
        ImplementationInfo { is_outside: true, ..ImplementationInfo::default() }
    }

    fn start<'a>(
        &'a self,
        environment: &'a Environment<'_>,
    ) -> LocalBoxFuture<'a, Result<Started, StartError>> {
        Box::pin(async move {
            let sockets = environment.sockets.ok_or_else(|| StartError("the fleet has no sockets".into()))?;
            let folder = Folder::create(sockets, self.keeper.clone())
                .map_err(|error| StartError(error.to_string()))?;
            let mut running = Running { children: Vec::new(), folder };
            for program in &self.programs {
                running
                    .start(program, (environment.timings, environment.zones))
                    .map_err(|why| failed(program, &why))?;
                running.ready(program, environment.clock).await.map_err(|why| failed(program, &why))?;
            }
            Ok(Box::new(running) as Started)
        })
    }
}

fn failed(program: &Program, why: &impl ToString) -> StartError {
    StartError(format!("the program {}: {}", program.name, why.to_string()))
}

/// The folder with the files of the programs. It is removed when they end.
struct Folder {
    at: PathBuf,
    keeper: Option<Keeper>,
}

impl Folder {
    fn create(sockets: &Sockets, keeper: Option<Keeper>) -> io::Result<Self> {
        let at = match &keeper {
            Some(Keeper { journal, .. }) => journal.folder(&env::temp_dir(), PREFIX)?,
            None => TempDir::with_prefix(PREFIX)?.keep(),
        };
        let folder = Self { at, keeper };
        fs::write(folder.kubeconfig(), sockets.kubeconfig())?;
        Ok(folder)
    }

    fn resource(&self) -> Resource {
        Resource::Folder(self.at.clone())
    }

    fn kubeconfig(&self) -> PathBuf {
        self.at.join("kubeconfig.yaml")
    }

    fn log(&self, program: &Program) -> PathBuf {
        self.at.join(format!("{}.log", program.name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let removed = fs::remove_dir_all(&self.at).is_ok();
        if let Some(Keeper { journal, .. }) = self.keeper.as_ref().filter(|_| removed) {
            journal.undone(&self.resource());
        }
    }
}

/// Programs at work. Dropping it kills them, and they do not outlive this process either.
struct Running {
    children: Vec<Process>,
    folder: Folder,
}

/// One program at work.
struct Process {
    child: Child,
    port: u16,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(&mut self, program: &Program, settings: (&Timings, Option<&Zones>)) -> Result<(), String> {
        let folder = &self.folder;
        let text = |error: io::Error| error.to_string();
        let port = free_port().map_err(text)?;
        let filled = program.filled(settings, &folder.kubeconfig().display().to_string(), port)?;
        let [name, arguments @ ..] = &filled[..] else { return Err("its command is empty".into()) };
        let log = File::create(folder.log(program)).map_err(text)?;
        let included = command_of(name);
        let program = match (included, &folder.keeper) {
            (Some(_), Some(keeper)) => Some(keeper.capsize.clone()),
            (Some(_), None) => env::current_exe().ok(),
            (None, _) => located(name),
        };
        let program = program.ok_or_else(|| format!("{name} cannot be started: there is no such program"))?;
        let mut command = command(folder.keeper.as_ref(), &program);
        command.args(included).args(arguments);
        command.stdin(Stdio::null());
        command.stdout(log.try_clone().map_err(text)?).stderr(log);
        let child = command.spawn().map_err(|error| format!("{name} cannot be started: {error}"))?;
        self.children.push(Process { child, port });
        Ok(())
    }

    /// Waits until the program that was started last is ready.
    async fn ready(&mut self, program: &Program, clock: Clock) -> Result<(), String> {
        let log = self.folder.log(program);
        let Some(process) = self.children.last_mut() else { return Ok(()) };
        let since = clock.elapsed();
        loop {
            if let Some(status) = process.child.try_wait().map_err(|error| error.to_string())? {
                return Err(format!("it ended ({status}), and the last that it said was:\n{}", tail(&log)));
            }
            let Some(path) = &program.ready else { return Ok(()) };
            if timeout(LOOK, answers(process.port, program.tls, path)).await.is_ok_and(|answer| answer) {
                return Ok(());
            }
            if clock.elapsed().saturating_sub(since) > TIMEOUT {
                let seconds = TIMEOUT.as_secs();
                return Err(format!(
                    "{path} does not answer 200 within {seconds} s; it says:\n{}",
                    tail(&log)
                ));
            }
            clock.sleep(PAUSE).await;
        }
    }
}

/// A command for `program`, which dies with this process if there is a keeper.
fn command(keeper: Option<&Keeper>, program: &Path) -> Command {
    let Some(keeper) = keeper else { return Command::new(program) };
    let mut command = dying_with_parent(&keeper.capsize, program);
    keeper.journal.mark(&mut command);
    command
}

/// A bare name is looked for beside this program first, and then where programs are.
fn located(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(name.into());
    }
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = beside.into_iter().chain(std::env::split_paths(&path));
    folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()))
}

/// Whether a request for `path` is answered with 200.
async fn answers(port: u16, tls: bool, path: &str) -> bool {
    let scheme = if tls { "https" } else { "http" };
    let Ok(address) = format!("{scheme}://127.0.0.1:{port}").parse() else { return false };
    let mut config = Config::new(address);
    config.accept_invalid_certs = true;
    let (Ok(client), Ok(request)) = (Client::try_from(config), Request::get(path).body(Vec::new())) else {
        return false;
    };
    client.request_text(request).await.is_ok()
}

fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}
