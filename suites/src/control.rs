//! The control socket of a running fleet or of a run.
//! The commands `fault`, `heal` and `watch` reach `capsize up` by the socket, and `watch` also reaches a run.
//!
//! The socket is in the state folder of the user, is named after the process, and only the user can use it.

use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, process};

use capsize_clock::Clock;
use capsize_real::{make_state_folder, state_folder};
use capsize_runner::run::{CasesInProgress, Order, View};
use clap::Args;
use miette::miette;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::{mpsc, oneshot};

use crate::exit::{CommandError, environment_error, input_error};

/// The request for the present state of the fleet.
const SNAPSHOT: &str = "snapshot";

/// The request for the state of the fleet now and after each change.
const WATCH: &str = "watch";

/// The pause between two looks at a fleet that is watched, in real time.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The beginning of an answer.
const DONE: &str = "done";

/// The file of a socket ends so.
const ENDING: &str = "fleet";

/// The fleet that a command is about.
#[derive(Args, Debug)]
pub struct FleetArg {
    /// The process of the fleet, if several are running
    #[arg(long, value_name = "PROCESS")]
    fleet: Option<u32>,
}

impl FleetArg {
    /// Sends an order, and returns what was done.
    ///
    /// # Errors
    /// No fleet is running, or several are; the fleet refuses the order.
    pub fn order(&self, line: &str) -> Result<String, CommandError> {
        let mut answer = self.ask(line)?;
        let mut first = String::new();
        let mut rest = String::new();
        answer
            .read_line(&mut first)
            .and_then(|_| io::Read::read_to_string(&mut answer, &mut rest))
            .map_err(gone)?;
        match first.trim_end() {
            DONE => Ok(rest.trim_end().to_owned()),
            _ => Err(input_error!(help = "`capsize fault --list` shows all faults", "{}", rest.trim_end())),
        }
    }

    /// The states of the fleet, as lines of JSON: one, or one after each change until the fleet stops.
    ///
    /// # Errors
    /// As [`FleetArg::order`].
    pub fn states(
        &self,
        all: bool,
    ) -> Result<impl Iterator<Item = io::Result<String>> + Send + use<>, CommandError> {
        Ok(self.ask(if all { WATCH } else { SNAPSHOT })?.lines())
    }

    fn ask(&self, line: &str) -> Result<BufReader<UnixStream>, CommandError> {
        let mut running = running().map_err(|error| environment_error!("{error}"))?;
        running.retain(|(process, _)| self.fleet.is_none_or(|wanted| wanted == *process));
        let processes: Vec<_> = running.iter().map(|(process, _)| process.to_string()).collect();
        let mut running = running.into_iter();
        let (Some((_, mut stream)), None) = (running.next(), running.next()) else {
            return Err(CommandError::Input(match processes.len() {
                0 => miette!(
                    help = "start `capsize up` first, or a run in real time, as the same user",
                    "no such fleet is running"
                ),
                _ => miette!("several fleets are running: name one with --fleet ({})", processes.join(", ")),
            }));
        };
        writeln!(stream, "{line}").map_err(gone)?;
        Ok(BufReader::new(stream))
    }
}

fn gone(error: io::Error) -> CommandError {
    environment_error!("the fleet does not answer: {error}")
}

/// The control sockets in the state folder.
fn sockets() -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(state_folder()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|ending| ending == ENDING)).collect())
}

/// Removes the control sockets that killed fleets and runs have left.
///
/// # Errors
/// The state folder cannot be read.
pub fn remove_dead_sockets() -> io::Result<()> {
    let is_dead = |path: &PathBuf| {
        UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    for path in sockets()?.into_iter().filter(is_dead) {
        // Another process may remove it at the same time.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// The fleets that answer, with their processes.
fn running() -> io::Result<Vec<(u32, UnixStream)>> {
    let answering = |path: PathBuf| {
        let process = path.file_stem()?.to_str()?.parse().ok()?;
        // A socket that a killed fleet has left does not answer.
        Some((process, UnixStream::connect(path).ok()?))
    };
    let mut answering: Vec<_> = sockets()?.into_iter().filter_map(answering).collect();
    answering.sort_by_key(|(process, _)| *process);
    Ok(answering)
}

/// The source of the states on a control socket, and the performer of orders.
#[derive(Clone)]
pub enum ControlHandler {
    /// A fleet that people started.
    Fleet(mpsc::Sender<Order>, View),
    /// The cases of a run, whose faults are their own.
    Run(CasesInProgress),
}

/// The side of the fleet.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    listener: UnixListener,
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // A socket that stays is passed over, because nobody answers there.
        let _ = fs::remove_file(&self.path);
    }
}

impl ControlSocket {
    /// Listens in the state folder.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn open() -> io::Result<Self> {
        let folder = make_state_folder(&state_folder())?;
        let path = folder.join(format!("{}.{ENDING}", process::id()));
        // A process with the same number may have left a socket.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { path, listener })
    }

    /// The path of the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Answers all requests, for ever.
    pub async fn serve(&self, controlled: ControlHandler) -> Infallible {
        loop {
            if let Ok((stream, _)) = self.listener.accept().await {
                let controlled = controlled.clone();
                // A client that goes away does not end the fleet.
                tokio::spawn(async move { answer(stream, &controlled).await.ok() });
            }
        }
    }
}

async fn answer(stream: tokio::net::UnixStream, controlled: &ControlHandler) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    tokio::io::BufReader::new(read).read_line(&mut line).await?;
    match line.trim() {
        SNAPSHOT => write.write_all(&controlled.state()).await,
        WATCH => loop {
            write.write_all(&controlled.state()).await?;
            controlled.pause().await;
        },
        line => {
            let (outcome, text) = match controlled.obey(line).await {
                Ok(text) => (DONE, text),
                Err(why) => ("refused", why),
            };
            write.write_all(format!("{outcome}\n{text}\n").as_bytes()).await
        }
    }
}

impl ControlHandler {
    /// The present state as a line of JSON; nothing between two cases of a run.
    fn state(&self) -> Vec<u8> {
        let snapshot = match self {
            Self::Fleet(_, view) => Some(view.snapshot()),
            Self::Run(cases) => cases.snapshot(),
        };
        let Some(snapshot) = snapshot else { return Vec::new() };
        let mut line = serde_json::to_vec(&snapshot).expect("text, numbers and lists are always JSON");
        line.push(b'\n');
        line
    }

    async fn pause(&self) {
        match self {
            // A fleet that runs faster is looked at as often.
            Self::Fleet(_, view) => pause(view, LOOK_EVERY).await,
            Self::Run(_) => Clock::real().sleep(LOOK_EVERY).await,
        }
    }

    async fn obey(&self, line: &str) -> Result<String, String> {
        match self {
            Self::Fleet(orders, _) => send(orders, line).await,
            Self::Run(_) => Err("a run performs the faults of its cases, and no others".to_owned()),
        }
    }
}

/// Sleeps for a length of real time.
pub async fn pause(view: &View, length: Duration) {
    let clock: Clock = view.clock();
    clock.sleep(length.mul_f64(view.speed())).await;
}

/// Sends an order to the fleet, and waits until it is done.
///
/// # Errors
/// Why it was not done.
pub async fn send(orders: &mpsc::Sender<Order>, line: &str) -> Result<String, String> {
    let (answer, answered) = oneshot::channel();
    let stopping = || "the fleet is stopping".to_owned();
    orders.send(Order { line: line.to_owned(), answer }).await.map_err(|_| stopping())?;
    answered.await.unwrap_or_else(|_| Err(stopping()))
}
