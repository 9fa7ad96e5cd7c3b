//! `capsize mark`: marks in the history of a running `capsize record` that a fault begins or ends.
//!
//! A recording listens at a socket in the folder of temporary files, which is named after its process.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

use capsize_history::dialect::DialectKind;
use capsize_history::{FaultKind, Mark};
use capsize_runner::nemesis::fault_mark;
use clap::Args;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::output;

/// Mark in the history of a running `capsize record` that a fault begins or ends
#[derive(Args, Debug)]
pub struct MarkCommand {
    /// The kind of the fault that begins, as in histories: refuse, partition, stop; or `end`
    #[arg(value_name = "FAULT")]
    fault: String,
    /// The member that the fault hits
    #[arg(value_name = "MEMBER")]
    member: String,
    /// The history of the recording, if several recordings are running
    #[arg(long, value_name = "HISTORY")]
    out: Option<PathBuf>,
}

/// The word for the end of all faults of a member.
const END: &str = "end";

impl MarkCommand {
    /// Sends the mark, and prints what was recorded.
    ///
    /// # Errors
    /// No recording is running, or several are; the fault or the member is unknown there.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        if self.fault != END && kind(&self.fault).is_none() {
            let known: Vec<_> = FaultKind::ALL.iter().map(|kind| kind.name()).collect();
            return Err(input_error!(
                "there is no kind of fault `{}`: there are {END}, {}",
                self.fault,
                known.join(", ")
            ));
        }
        let socket = self.recording()?;
        let answer = ask(&socket, &format!("{} {}", self.fault, self.member))
            .map_err(|error| environment_error!("the recording does not answer: {error}"))?;
        match answer.split_once(' ') {
            Some(("marked", what)) => output::print(&format!("marked: {what}\n"))?,
            _ => return Err(input_error!("{answer}")),
        }
        Ok(ExitStatus::Conforms)
    }

    /// The socket of the recording that is meant.
    fn recording(&self) -> Result<PathBuf, CommandError> {
        let wanted = self.out.as_deref().map(|out| fs::canonicalize(out).unwrap_or_else(|_| out.into()));
        let running = running();
        let mut meant = running.iter().filter(|(_, out)| wanted.as_ref().is_none_or(|wanted| wanted == out));
        match (meant.next(), meant.next()) {
            (Some((socket, _)), None) => Ok(socket.clone()),
            (None, _) => Err(input_error!(
                help = "start `capsize record` first, as the same user",
                "no recording is running{}",
                self.out.as_ref().map(|out| format!(" that writes {}", out.display())).unwrap_or_default()
            )),
            (Some(_), Some(_)) => {
                let all: Vec<_> = running.iter().map(|(_, out)| out.display().to_string()).collect();
                Err(input_error!("several recordings are running: name one with --out ({})", all.join(", ")))
            }
        }
    }
}

/// The folder of the sockets of this user.
fn folder() -> PathBuf {
    env::temp_dir().join(format!("capsize-record-{}", rustix::process::getuid().as_raw()))
}

/// The sockets of the recordings that answer, with the histories that they write.
fn running() -> Vec<(PathBuf, PathBuf)> {
    let sockets = fs::read_dir(folder()).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut answering: Vec<_> =
        sockets.filter_map(|socket| Some((socket.clone(), ask(&socket, "history").ok()?.into()))).collect();
    answering.sort();
    answering
}

/// Sends a line to a recording, and returns the line that it answers.
fn ask(socket: &Path, line: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, "{line}")?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer.trim_end().to_owned())
}

fn kind(name: &str) -> Option<FaultKind> {
    FaultKind::ALL.into_iter().find(|kind| kind.name() == name)
}

/// The side of the recording.
pub(crate) struct MarkListener {
    socket: PathBuf,
    listener: UnixListener,
    out: PathBuf,
    /// The field of marks that names the member.
    field: &'static str,
    /// The members that are recorded; empty if members are nodes, which come and go.
    members: Vec<String>,
    marks: Sender<Mark>,
}

impl Drop for MarkListener {
    fn drop(&mut self) {
        // A socket that stays is passed over, because nobody answers there.
        let _ = fs::remove_file(&self.socket);
    }
}

impl MarkListener {
    /// Listens for marks of the recording that writes `out`, and returns the marks as they arrive.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub(crate) fn open(
        out: &Path,
        dialect: DialectKind,
        members: Vec<String>,
    ) -> io::Result<(Self, Receiver<Mark>)> {
        let (marks, receiver) = mpsc::channel(16);
        fs::create_dir_all(folder())?;
        let socket = folder().join(format!("{}.socket", process::id()));
        // A process with the same number may have left a socket.
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket)?;
        let (field, members) = match dialect {
            DialectKind::Karmada | DialectKind::Data(_) => ("cluster", members),
            DialectKind::Nodes => ("node", Vec::new()),
        };
        Ok((Self { socket, listener, out: fs::canonicalize(out)?, field, members, marks }, receiver))
    }

    /// Answers `capsize mark` for ever.
    pub(crate) async fn serve(&self) -> Infallible {
        let mut open = BTreeMap::new();
        loop {
            // A client that goes away does not end the recording.
            if let Ok((stream, _)) = self.listener.accept().await {
                let _ = self.answer(stream, &mut open).await;
            }
        }
    }

    async fn answer(&self, stream: tokio::net::UnixStream, open: &mut OpenFaults) -> io::Result<()> {
        let (read, mut write) = stream.into_split();
        let mut line = String::new();
        tokio::io::BufReader::new(read).read_line(&mut line).await?;
        let answer = match line.trim().split_once(' ') {
            None => self.out.display().to_string(),
            Some((fault, member)) => match self.mark(fault, member, open).await {
                Ok(what) => format!("marked {what}"),
                Err(why) => why,
            },
        };
        write.write_all(format!("{answer}\n").as_bytes()).await
    }

    /// Records the begin of a fault, or the end of the faults of a member. Returns what was recorded.
    async fn mark(&self, fault: &str, member: &str, open: &mut OpenFaults) -> Result<String, String> {
        if !self.members.is_empty() && !self.members.iter().any(|known| known == member) {
            let known = self.members.join(", ");
            return Err(format!("no member `{member}` is recorded: there are {known}"));
        }
        let (kinds, state) = match kind(fault) {
            Some(kind) => (vec![kind], "begin"),
            None => (open.remove(member).unwrap_or_default(), END),
        };
        if kinds.is_empty() {
            return Err(format!("no fault of {member} was marked that could end"));
        }
        for kind in &kinds {
            // The recording is ending if nobody receives the mark.
            let mark = fault_mark(*kind, Some((self.field, member)), state);
            self.marks.send(mark).await.map_err(|_| "the recording is ending".to_owned())?;
        }
        let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
        if state != END {
            open.entry(member.to_owned()).or_default().extend(kinds);
        }
        Ok(format!("{} of {member}, {state}", names.join(", ")))
    }
}

/// The faults of each member that have begun.
type OpenFaults = BTreeMap<String, Vec<FaultKind>>;
