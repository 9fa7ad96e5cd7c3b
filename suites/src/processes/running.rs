//! Programs at work: their start, their ports, and what happens when one of them ends by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capsize_clock::Clock;
use capsize_clusters::{AgentSwitch, Fleet, Member, SyncMode};
use capsize_controllers::Identity;
use capsize_judge::profile::Program;
use capsize_real::free_port;
use capsize_runner::run::{BreakdownReport, Environment};
use capsize_sorted::CollectSorted;
use http::Request;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, Config};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::files::{Folder, tail};
use super::implementation::ProcessCleanup;
use super::own_report::{TargetRelease, overruled};
use crate::controllers::command_of;
use crate::die_with_parent::dying_with_parent;

/// How long a program may take until it is ready.
const TIMEOUT: Duration = Duration::from_secs(60);

/// From one look whether it is to the next, and how long a look may take.
const PAUSE: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_secs(5);

/// The field manager of the objects of programs.
const FIELD_MANAGER: &str = "capsize-kit";

/// Programs at work. Dropping it kills them, and they do not outlive this process either.
pub(super) struct Running {
    /// Looks whether a program has ended. It stops before the programs are killed.
    watching: JoinSet<()>,
    children: Processes,
    folder: Folder,
    bin: Option<PathBuf>,
    target: TargetRelease,
    /// The names of all programs.
    names: BTreeSet<String>,
    /// The ports of programs, by their placeholders.
    ports: Mutex<BTreeMap<String, u16>>,
    /// The definitions of the user, by name. Members get some of them.
    definitions: BTreeMap<String, Value>,
}

/// One program at work.
struct Process {
    name: String,
    /// The member of an agent.
    member: Option<String>,
    launch: ProgramCommand,
    /// `None` while a fault keeps the program dead.
    child: Option<Child>,
}

/// The parts of a command that starts a program, also a second time.
struct ProgramCommand {
    file: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
    /// Where its temporary files are.
    folder: PathBuf,
    cleanup: Option<ProcessCleanup>,
}

impl ProgramCommand {
    fn spawn(&self) -> io::Result<Child> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut command = command(self.cleanup.as_ref(), &self.file);
        // Its temporary files are removed with the folder.
        command.args(&self.arguments).env("TMPDIR", &self.folder);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Process {
    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// How the program ended and the end of its log, if it has ended by itself.
    fn ended(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        let last = tail(&self.launch.log);
        let advice = if last.contains("unknown flag") {
            "\nthe program may be of another release than the target: use the target of its release"
        } else {
            ""
        };
        Some(format!("it ended ({status}), and the last that it said was:\n{last}{advice}"))
    }
}

/// The programs at work, which several tasks use.
type Processes = Arc<Mutex<Vec<Process>>>;

fn lock(processes: &Processes) -> MutexGuard<'_, Vec<Process>> {
    processes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills the agents of a member while its switch says so, and starts them again.
async fn obey(switch: AgentSwitch, member: String, processes: Processes, breakdown: BreakdownReport) {
    let of_member = |process: &&mut Process| process.member.as_ref() == Some(&member);
    loop {
        switch.turns(true).await;
        lock(&processes).iter_mut().filter(of_member).for_each(Process::kill);
        switch.turns(false).await;
        for process in lock(&processes).iter_mut().filter(of_member) {
            match process.launch.spawn() {
                Ok(child) => process.child = Some(child),
                Err(error) => {
                    breakdown.report(format!("the program {} cannot be started: {error}", process.name));
                }
            }
        }
    }
}

impl Running {
    pub(super) fn new(
        folder: Folder,
        bin: Option<PathBuf>,
        target: TargetRelease,
        names: BTreeSet<String>,
    ) -> Self {
        let (watching, children, ports, definitions) = Default::default();
        Self { watching, children, folder, bin, target, names, ports, definitions }
    }

    /// With definitions for members.
    pub(super) fn with_definitions(self, definitions: &[Value]) -> Self {
        let name =
            |definition: &Value| definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let definitions =
            definitions.iter().map(|definition| (name(definition), definition.clone())).collect_sorted();
        Self { definitions, ..self }
    }

    /// Starts a program, once or in each Pull member, waits until it is ready, and applies its objects.
    pub(super) async fn start(&self, program: &Program, environment: &Environment<'_>) -> Result<(), String> {
        if !program.per_pull_member {
            return self.start_one(program, None, environment).await;
        }
        let pulling = environment.fleet.members().filter(|member| member.spec().sync == SyncMode::Pull);
        for member in pulling.map(Member::name) {
            let sockets = environment.sockets.ok_or("the fleet has no sockets")?;
            let written = self.folder.write_kubeconfigs_of_agent(member, sockets);
            written.map_err(|error| error.to_string())?;
            let agent = Program { name: format!("{}-{member}", program.name), ..program.clone() };
            self.start_one(&agent, Some(member), environment).await?;
        }
        Ok(())
    }

    async fn start_one(
        &self,
        program: &Program,
        member: Option<&str>,
        environment: &Environment<'_>,
    ) -> Result<(), String> {
        let settings = (environment.timings, environment.zones);
        let known = |name: &str| self.placeholder(program, member, name);
        let port = self.port(&format!("{}.port", program.name))?;
        let filled = program.filled(settings, &known)?;
        let common_name = program.filled_identity(settings, &known)?;
        let identity = common_name.map(|name| Identity::of_client(&name)).transpose();
        let identity = identity.map_err(|error| error.to_string())?;
        let in_objects = |name: &str| match (name, &identity) {
            ("identity.certificate", Some(identity)) => Some(identity.certificates.clone()),
            ("identity.key", Some(identity)) => Some(identity.key.clone()),
            _ => known(name),
        };
        let objects = Program::filled_objects(&program.objects, settings, &in_objects)?;
        let of_member = Program::filled_objects(&program.member_objects, settings, &in_objects)?;
        if let Some(member) = member.and_then(|member| environment.fleet.member(member)) {
            self.furnish(&member.client(), program, &of_member).await?;
        }
        self.spawn(program, member, &filled)?;
        self.ready(program, port, environment.clock).await?;
        let log = self.folder.log_text(&program.name);
        if let Some(why) = self.target.contradicted(&log).or_else(|| overruled(&filled, &log)) {
            return Err(why);
        }
        let client = environment.fleet.control_plane().client();
        for object in &objects {
            apply(&client, object).await?;
        }
        Ok(())
    }

    /// Applies definitions and objects to the member of an agent.
    async fn furnish(&self, member: &Client, agent: &Program, objects: &[Value]) -> Result<(), String> {
        for name in &agent.member_definitions {
            let definition = self.definitions.get(name);
            let definition = definition.ok_or_else(|| {
                format!("--definitions has no CustomResourceDefinition {name}, which each member needs")
            })?;
            apply(member, definition).await?;
        }
        for object in objects {
            apply(member, object).await?;
        }
        Ok(())
    }

    /// Watches the programs from now on.
    /// A program that ends by itself is reported, and agents obey the switches of their members.
    pub(super) fn watch(&mut self, fleet: &Fleet, clock: Clock, breakdown: BreakdownReport) {
        for member in fleet.members() {
            let (switch, name) = (member.agent().clone(), member.name().to_owned());
            self.watching.spawn(obey(switch, name, Arc::clone(&self.children), breakdown.clone()));
        }
        let children = Arc::clone(&self.children);
        self.watching.spawn(async move {
            loop {
                clock.sleep(PAUSE).await;
                let ended =
                    lock(&children).iter_mut().find_map(|each| Some((each.ended()?, each.name.clone())));
                if let Some((why, name)) = ended {
                    return breakdown.report(format!("the program {name} ended during the case: {why}"));
                }
            }
        });
    }

    /// The value of a placeholder that depends on the run.
    fn placeholder(&self, program: &Program, member: Option<&str>, name: &str) -> Option<String> {
        if !exists(name, program, &self.names) {
            return None;
        }
        let text = |path: PathBuf| path.display().to_string();
        let kubeconfig = || match member {
            Some(member) => self.folder.kubeconfig_of_agent(member),
            None => self.folder.kubeconfig(),
        };
        match name {
            // Only objects have it.
            "identity.certificate" | "identity.key" => None,
            "member" => member.map(str::to_owned),
            "member.kubeconfig" => Some(text(self.folder.kubeconfig_of_member(member?))),
            "kubeconfig" => Some(text(kubeconfig())),
            "kubeconfig.text" => fs::read_to_string(kubeconfig()).ok(),
            "folder" => Some(text(self.folder.path().to_owned())),
            "certificates" => Some(text(self.folder.certificates())),
            "caBundle" => Some(self.folder.authority_bundle()),
            name => {
                let name = if is_port(name) { format!("{}.{name}", program.name) } else { name.to_owned() };
                self.port(&name).ok().map(|port| port.to_string())
            }
        }
    }

    /// The port with this placeholder, which is a free one at first.
    fn port(&self, name: &str) -> Result<u16, String> {
        let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(port) = ports.get(name) {
            return Ok(*port);
        }
        let port = free_port().map_err(|error| format!("no free port: {error}"))?;
        ports.insert(name.to_owned(), port);
        Ok(port)
    }

    fn spawn(&self, program: &Program, member: Option<&str>, filled: &[String]) -> Result<(), String> {
        let folder = &self.folder;
        let [name, arguments @ ..] = filled else { return Err("its command is empty".into()) };
        let Some(located) = located(name, self.bin.as_deref()) else {
            return Err(format!("{name} cannot be started: there is no such program"));
        };
        let (file, included) = match located {
            ProgramLocation::File(path) => (path, None),
            ProgramLocation::Included(command) => match folder.cleanup() {
                Some(cleanup) => (cleanup.capsize.clone(), Some(command)),
                None => (env::current_exe().map_err(|error| error.to_string())?, Some(command)),
            },
        };
        let launch = ProgramCommand {
            file,
            arguments: included.map(str::to_owned).into_iter().chain(arguments.iter().cloned()).collect(),
            log: folder.log(&program.name),
            folder: folder.path().to_owned(),
            cleanup: folder.cleanup().cloned(),
        };
        let child = launch.spawn().map_err(|error| format!("{name} cannot be started: {error}"))?;
        let (name, member) = (program.name.clone(), member.map(str::to_owned));
        lock(&self.children).push(Process { name, member, launch, child: Some(child) });
        Ok(())
    }

    /// Waits until the program that was started last is ready.
    async fn ready(&self, program: &Program, port: u16, clock: Clock) -> Result<(), String> {
        let since = clock.elapsed();
        loop {
            let ended = lock(&self.children).last_mut().and_then(Process::ended);
            if let Some(why) = ended {
                return Err(why);
            }
            let Some(path) = &program.ready else { return Ok(()) };
            if timeout(LOOK, answers(port, program.tls, path)).await.is_ok_and(|answer| answer) {
                return Ok(());
            }
            if clock.elapsed().saturating_sub(since) > TIMEOUT {
                let seconds = TIMEOUT.as_secs();
                let last = self.folder.log_tail(&program.name);
                return Err(format!("{path} does not answer 200 within {seconds} s; it says:\n{last}"));
            }
            clock.sleep(PAUSE).await;
        }
    }
}

/// Returns true if the placeholder is one that depends on the run.
/// The program starts together with programs of these `names`.
pub(crate) fn exists(placeholder: &str, program: &Program, names: &BTreeSet<String>) -> bool {
    match placeholder {
        "kubeconfig" | "kubeconfig.text" | "folder" | "certificates" | "caBundle" => true,
        "member" | "member.kubeconfig" => program.per_pull_member,
        "identity.certificate" | "identity.key" => program.identity.is_some(),
        port if is_port(port) => true,
        other => other.split_once('.').is_some_and(|(of, port)| names.contains(of) && is_port(port)),
    }
}

fn is_port(placeholder: &str) -> bool {
    placeholder == "port" || placeholder.starts_with("port.")
}

/// Applies an object of a program to a cluster.
async fn apply(client: &Client, object: &Value) -> Result<(), String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> = match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let applied = api.patch(name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(object)).await;
    applied.map(drop).map_err(|error| format!("its {kind} {name} cannot be applied: {error}"))
}

/// Where a program is.
pub(super) enum ProgramLocation {
    /// It is this file.
    File(PathBuf),
    /// It is this command of ours.
    Included(&'static str),
}

/// The program with this name.
/// A bare name is looked for in `bin`, or else among our own programs, beside this program, and where programs are.
pub(super) fn located(name: &str, bin: Option<&Path>) -> Option<ProgramLocation> {
    if name.contains('/') {
        return Some(ProgramLocation::File(name.into()));
    }
    let file = |folder: &Path| Some(folder.join(name)).filter(|path| path.is_file());
    if let Some(bin) = bin {
        return file(bin).map(ProgramLocation::File);
    }
    if let Some(command) = command_of(name) {
        return Some(ProgramLocation::Included(command));
    }
    let own = env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders = beside.into_iter().chain(env::split_paths(&path));
    folders.find_map(|folder| file(&folder)).map(ProgramLocation::File)
}

/// A command for `program`, which dies with this process if there is a cleanup.
fn command(cleanup: Option<&ProcessCleanup>, program: &Path) -> Command {
    let Some(cleanup) = cleanup else { return Command::new(program) };
    let mut command = dying_with_parent(&cleanup.capsize, program);
    cleanup.journal.mark(&mut command);
    command
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
