//! Implements `capsize record`.
//! The command watches clusters that run somewhere, and writes a history that `capsize check` judges.
//!
//! It only reads. How watches are kept through gaps is left to the framework.

use std::fs;
use std::future::pending;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use capsize_clock::{Clock, Seed, Stop, live};
use capsize_history::dialect::{DataDialect, Dialect, DialectKind};
use capsize_history::{CONTROL_PLANE, Kind, Mark};
use capsize_judge::judge::Judge;
use capsize_judge::profile::{Profile, Timings};
use capsize_judge::time_format::span;
use capsize_manager::{config_of, serve};
use capsize_real::{read_kubeconfig, server_url};
use capsize_report::Page;
use capsize_runner::objects::karmada as objects;
use capsize_runner::record::{
    self, Limit, Pace, Parts, Record, RecordError, RecordingNotice, RecordingResult, Source,
};
use capsize_runner::scenario::Length;
use capsize_sorted::CollectSorted;
use clap::Args;
use kube::api::ListParams;
use kube::config::Kubeconfig;
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt};
use miette::{Report, miette};
use serde_json::{Map, json};
use tokio::net::TcpListener;

use super::follow::JudgingWriter;
use super::metrics::Metrics;
use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::mark::MarkListener;
use crate::{check, dialects, output, targets};

/// Record the objects of the clusters of a kubeconfig until Ctrl-C, without changing anything
#[derive(Args, Debug)]
#[command(name = "record")]
pub struct RecordCommand {
    /// The kubeconfig that has the contexts of the clusters
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// The file for the history, which must not exist yet
    #[arg(long, value_name = "HISTORY")]
    out: PathBuf,
    /// The context of the control plane; the current one where none is given
    #[arg(long, value_name = "CONTEXT")]
    control_plane: Option<String>,
    /// A member and its context.
    /// Without this flag, each Cluster of the control plane is recorded that has a context of the same name
    #[arg(long = "member", value_name = "NAME[=CONTEXT]")]
    members: Vec<String>,
    /// The profile of the implementation that runs there.
    /// The value is the name of a profile that comes with Capsize, or a file. Without a profile, `check` needs one
    #[arg(long)]
    target: Option<String>,
    /// The dialect that reads the objects, for an implementation that Capsize does not know.
    /// The value is a file, or the name of a dialect that comes with Capsize. The dialect says which resources are
    /// recorded, and which objects are the members
    #[arg(long, value_name = "FILE")]
    dialect: Option<String>,
    /// Also record the objects at this path of the API of every cluster: /apis/example.com/v1/things
    #[arg(long, value_name = "PATH", value_parser = place)]
    also: Vec<String>,
    /// A timing of the implementation that runs there, as failureThreshold=30s.
    /// The command `check` uses this timing instead of the profile's
    #[arg(long = "set", value_name = "TIMING=VALUE")]
    settings: Vec<String>,
    /// How long to record: 90s, 10m, 2h
    #[arg(long = "for", value_name = "TIME", value_parser = length)]
    lasts: Option<Duration>,
    /// Judge while recording, and report each violation as it happens.
    /// The exit code is 1 if there was a violation. An entry that arrives later may still excuse a violation
    #[arg(long)]
    follow: bool,
    /// Serve the metrics of the recording at this address over HTTP, at the path /metrics: 0.0.0.0:9090
    #[arg(long, value_name = "ADDRESS", requires = "follow")]
    metrics: Option<SocketAddr>,
    /// Begin a new file after this many bytes of changes: 100MB.
    /// Complete files get a number before the extension. An existing file becomes such a file
    #[arg(long, value_name = "SIZE", value_parser = size)]
    rotate: Option<u64>,
    /// How many complete files are kept; older ones are removed
    #[arg(long, value_name = "FILES", default_value_t = 9, requires = "rotate")]
    keep: u64,
}

fn size(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "" | "B" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => 0,
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "write a number with kB, MB or GB".to_owned())
}

pub(crate) fn place(text: &str) -> Result<String, String> {
    let right = record::is_place(text);
    right.then(|| text.to_owned()).ok_or_else(|| "not like /apis/example.com/v1/things".to_owned())
}

fn length(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(Length::Fixed(length)) => Ok(length),
        Ok(Length::Timing { .. }) => Err("write a number with s, m or h".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// A member and the context by which it is reached.
type MemberContext = (String, String);

impl RecordCommand {
    /// Records until a signal ends the recording, or the time is over.
    ///
    /// # Errors
    /// A kubeconfig that is wrong, a cluster that does not answer at first, a history that cannot be written.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let recorded = live(Seed(1), 1.0, |run| self.run(run.clock));
        recorded.map_err(|error| environment_error!("cannot start: {error}"))?
    }

    async fn run(&self, clock: Clock) -> Result<ExitStatus, CommandError> {
        let mut stop =
            Stop::listen().map_err(|error| environment_error!("cannot listen to signals: {error}"))?;
        let profile = self.target.as_deref().map(targets::find).transpose().map_err(CommandError::input)?;
        let dialect = self.dialect.as_deref().map(|name| dialects::find(name, Path::new(""))).transpose();
        let dialect = dialect.map_err(|error| CommandError::input(*error))?;
        let of_profile = || profile.as_ref().map(|profile| profile.dialect.clone()).unwrap_or_default();
        let kind = dialect.as_ref().map_or_else(of_profile, capsize_dialect::Dialect::kind);
        if self.follow && profile.is_none() {
            return Err(input_error!("--follow needs --target, by which it judges"));
        }
        let seconds = seconds(&self.settings)?;
        let sources = self.sources(&kind).await?;
        let clusters: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
        let out = self.create()?;
        let mut page = output::page();
        page.line(&format!("recording {} into {}", clusters.join(", "), self.out.display()));
        let pace = pace(clock, &sources, &mut page).await?;
        output::show(page).inspect_err(|_| self.remove())?;
        let mut header = profile.as_ref().map(header).unwrap_or_default();
        if let (DialectKind::Data(data), None) = (&kind, &profile) {
            header.insert("implementation".to_owned(), json!(data.name()));
        }
        if !seconds.is_empty() {
            header.insert("seconds".to_owned(), json!(seconds));
        }
        let judge = self.judge(&header, profile.as_ref()).inspect_err(|_| self.remove())?;
        let metrics = Metrics::of(&clusters);
        let server = self.server().await.inspect_err(|_| self.remove())?;
        let members = clusters.iter().filter(|name| *name != CONTROL_PLANE).cloned().collect();
        let (listener, marks) = MarkListener::open(&self.out, kind.clone(), members)
            .map_err(|error| environment_error!("cannot listen to `capsize mark`: {error}"))?;
        let ended = async {
            match self.lasts {
                Some(lasts) => tokio::select! {
                    biased;
                    _ = stop.signal() => {}
                    () = clock.sleep(lasts) => {}
                },
                None => drop(stop.signal().await),
            }
        };
        let record = Record { clock: pace, header, sources, marks };
        let mut out = JudgingWriter::new(out, judge, Arc::clone(&metrics));
        let report = |notice| {
            metrics.record_notice(&notice, &clusters);
            print(&notice);
        };
        let serve = async {
            match server {
                Some(server) => serve(server, None, metrics.answers()).await,
                None => pending().await,
            }
        };
        let recorded = tokio::select! {
            biased;
            recorded = record.run(&mut out, ended, report) => recorded,
            never = listener.serve() => match never {},
            () = serve => unreachable!("the server of the metrics has no end"),
        };
        let recorded = recorded.map_err(|error| self.failed(&error))?;
        if matches!(kind, DialectKind::Data(_)) && self.rotate.is_none() {
            self.refuse_empty(&kind)?;
        }
        let conforms = out.finish().is_none_or(|judgement| judgement.conforms());
        output::show(self.summed_up(recorded))?;
        Ok(if conforms { ExitStatus::Conforms } else { ExitStatus::Violated })
    }

    /// The judge that follows the recording, if one is asked for.
    fn judge(&self, header: &Mark, profile: Option<&Profile>) -> Result<Option<Judge>, CommandError> {
        if !self.follow {
            return Ok(None);
        }
        let profile = check::profile(&self.out, header, profile).map_err(CommandError::input)?;
        Ok(Some(Judge::new(profile)))
    }

    /// The socket of the metrics, if they are asked for.
    async fn server(&self) -> Result<Option<TcpListener>, CommandError> {
        let Some(address) = self.metrics else { return Ok(None) };
        let trouble = |error| environment_error!("--metrics {address}: {error}");
        let listener = TcpListener::bind(address).await.map_err(trouble)?;
        let address = listener.local_addr().map_err(trouble)?;
        let mut page = output::page();
        page.line(&format!("metrics at http://{address}/metrics"));
        output::show(page)?;
        Ok(Some(listener))
    }

    /// Refuses a recording from which the dialect reads neither a member nor a workload.
    /// Nothing could be judged in such a recording.
    fn refuse_empty(&self, kind: &DialectKind) -> Result<(), CommandError> {
        let mut fold = Dialect::new(kind);
        let mut kinds = std::collections::BTreeSet::new();
        for entry in capsize_history::read(&self.out).map_err(CommandError::input)? {
            let entry = entry.map_err(CommandError::input)?;
            if let Kind::Event { object, .. } = &entry.kind {
                kinds.insert(object.kind().into_owned());
            }
            fold.observe(&entry);
        }
        let reads_workloads = fold.world().workloads.values().any(|workload| workload.recorded);
        if reads_workloads || !fold.world().members.is_empty() {
            return Ok(());
        }
        let kinds: Vec<String> = kinds.into_iter().collect();
        let recorded = if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") };
        Err(environment_error!(
            help = "`capsize dialect try FILE HISTORY` shows what the dialect reads",
            "{}: nothing in the recording can be judged, because the dialect reads neither a member nor a workload from \
             it; recorded are {recorded}",
            self.out.display()
        ))
    }

    /// Creates the file of the recording.
    /// The file must be new unless the recording rotates, so that no history is overwritten by mistake.
    fn create(&self) -> Result<Parts, CommandError> {
        let out = self.out.display();
        let limit = self.rotate.map(|bytes| Limit { bytes, kept: self.keep });
        Parts::create(&self.out, limit).map_err(|error| {
            CommandError::Input(match error.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    miette!(help = "name a new file, or remove this one first", "--out {out}: it exists")
                }
                _ => miette!("--out {out}: {error}"),
            })
        })
    }

    /// The error of a recording. A file in which nothing could be recorded is removed.
    fn failed(&self, error: &RecordError) -> CommandError {
        if let RecordError::NeverAnswered { .. } = error {
            self.remove();
        }
        environment_error!("{error}")
    }

    /// Removes the file of a recording that failed before anything was recorded.
    fn remove(&self) {
        // The failure itself is reported.
        let _ = fs::remove_file(&self.out);
    }

    fn summed_up(&self, recorded: RecordingResult) -> Page {
        let RecordingResult { events, span: lasted } = recorded;
        let target = match self.target.as_deref() {
            Some(shipped) if !targets::is_file(shipped) => String::new(),
            Some(file) => format!(" --target {file}"),
            None => " --target TARGET".to_owned(),
        };
        let mut page = output::page();
        page.line(&format!(
            "recorded {events} events in {}. Next:",
            span(Duration::from_secs(lasted.as_secs()))
        ));
        page.blank();
        page.command("  ", &format!("capsize check {}{target}", self.out.display()));
        page
    }

    async fn sources(&self, dialect: &DialectKind) -> Result<Vec<Source>, CommandError> {
        let kubeconfig = read(&self.kubeconfig)?;
        let context = self.control_plane.clone().or_else(|| kubeconfig.current_context.clone());
        let context = context.ok_or_else(|| {
            let help = "say which with --control-plane";
            let path = self.kubeconfig.display();
            input_error!(help = help, "{path} has no current context")
        })?;
        let control_plane = self.client(&kubeconfig, &context).await?;
        let members = self.members(&kubeconfig, &control_plane, dialect).await?;
        let mut sources =
            vec![self.source(CONTROL_PLANE, control_plane, record::of_control_plane(dialect)).await?];
        for (name, context) in members {
            let client = self.client(&kubeconfig, &context).await?;
            sources.push(self.source(&name, client, record::of_members(dialect)).await?);
        }
        Ok(sources)
    }

    async fn source(&self, name: &str, client: Client, paths: Vec<String>) -> Result<Source, CommandError> {
        let paths: Vec<&str> = paths.iter().chain(&self.also).map(String::as_str).collect();
        let resources = record::served(&client, &paths).await.map_err(|error| no_answer(name, &error))?;
        Ok(Source { name: name.to_owned(), client, resources })
    }

    async fn client(&self, kubeconfig: &Kubeconfig, context: &str) -> Result<Client, CommandError> {
        let path = self.kubeconfig.display();
        let wrong = |error: Report| CommandError::Input(error.wrap_err(format!("{path}, context {context}")));
        if !kubeconfig.contexts.iter().any(|known| known.name == context) {
            let known: Vec<&str> = kubeconfig.contexts.iter().map(|known| known.name.as_str()).collect();
            return Err(input_error!("{path} has no context `{context}`; it has {}", known.join(", ")));
        }
        // kube panics at a server without a scheme.
        server_url(kubeconfig, context).map_err(|why| wrong(miette!("{why}")))?;
        let config = config_of(kubeconfig.clone(), Some(context)).await.map_err(wrong)?;
        Client::try_from(config).map_err(|error| wrong(miette!("{error}")))
    }

    /// The members that are recorded.
    async fn members(
        &self,
        kubeconfig: &Kubeconfig,
        control_plane: &Client,
        dialect: &DialectKind,
    ) -> Result<Vec<MemberContext>, CommandError> {
        if !self.members.is_empty() || *dialect == DialectKind::Nodes {
            let named = |text: &String| match text.split_once('=') {
                Some((name, context)) => (name.to_owned(), context.to_owned()),
                None => (text.clone(), text.clone()),
            };
            return Ok(self.members.iter().map(named).collect());
        }
        if let DialectKind::Data(data) = dialect {
            return members_of(data, kubeconfig, control_plane).await;
        }
        let clusters: Api<DynamicObject> = Api::all_with(control_plane.clone(), &objects::clusters());
        let clusters = match clusters.list(&ListParams::default()).await {
            Ok(clusters) => clusters.items,
            // Not everything that is recorded has members.
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => return Err(no_answer(CONTROL_PLANE, &error)),
        };
        let (reached, missing): (Vec<String>, Vec<String>) = clusters
            .iter()
            .map(ResourceExt::name_any)
            .partition(|name| kubeconfig.contexts.iter().any(|context| context.name == *name));
        if !missing.is_empty() {
            let mut page = output::page();
            page.line(&format!(
                "not recorded, for want of a context of that name (--member NAME=CONTEXT): {}",
                missing.join(", ")
            ));
            output::show(page)?;
        }
        Ok(reached.into_iter().map(|name| (name.clone(), name)).collect())
    }
}

/// The members whose objects the control plane has, each with the context of its name if there is one.
async fn members_of(
    data: &DataDialect,
    kubeconfig: &Kubeconfig,
    control_plane: &Client,
) -> Result<Vec<MemberContext>, CommandError> {
    let mut names = Vec::new();
    for path in data.program().map(|program| program.member_record_paths()).unwrap_or_default() {
        let request = http::Request::get(path).body(Vec::new());
        let request = request.map_err(|error| environment_error!("{error}"))?;
        let list: Result<serde_json::Value, kube::Error> = control_plane.request(request).await;
        let list = list.map_err(|error| no_answer(CONTROL_PLANE, &error))?;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let name = |item: serde_json::Value| data.program()?.member_name(&item.into());
        names.extend(items.into_iter().filter_map(name));
    }
    names.retain(|name| kubeconfig.contexts.iter().any(|context| context.name == *name));
    Ok(names.into_iter().map(|name| (name.clone(), name)).collect())
}

fn read(path: &Path) -> Result<Kubeconfig, CommandError> {
    read_kubeconfig(path).map_err(|why| input_error!("--kubeconfig {}: {why}", path.display()))
}

fn no_answer(name: &str, error: &kube::Error) -> CommandError {
    environment_error!(
        help = "`kubectl --kubeconfig FILE --context CONTEXT version` shows whether it can be reached",
        "{name} does not answer: {}",
        record::chain(error)
    )
}

/// Returns the time of the recording, whose first entry is at zero.
/// The time is that of the world, unless the control plane is simulated and its clock goes at another speed. In that
/// case the time is that of this clock, because all stamps of the control plane come from it.
async fn pace(clock: Clock, sources: &[Source], page: &mut Page) -> Result<Pace, CommandError> {
    let Some(control_plane) = sources.first() else { return Ok(Clock::starting_at(clock.now()).into()) };
    let time = record::time_of(&control_plane.client).await.map_err(|why| {
        let help = "`kubectl version` with the same kubeconfig shows whether it can be reached";
        environment_error!(help = help, "{} does not answer: {why}", control_plane.name)
    })?;
    if (time.speed - 1.0).abs() < f64::EPSILON {
        return Ok(Clock::starting_at(clock.now()).into());
    }
    let speed = time.speed;
    page.line(&format!(
        "its clock runs at {speed} times the speed of this one, and the history follows its clock"
    ));
    Ok(Pace::at_speed(clock, speed, time.date.unwrap_or_else(|| clock.now())))
}

/// The part of the header that describes the implementation, as the user names it.
/// Nobody has observed its settings, so `check` uses those of the profile.
pub(crate) fn header(profile: &Profile) -> Mark {
    [
        ("implementation".to_owned(), json!(profile.implementation)),
        ("version".to_owned(), json!(profile.version)),
        ("target".to_owned(), json!(profile.name)),
    ]
    .collect_sorted()
}

/// The timings that the user sets, in seconds.
pub(crate) fn seconds(settings: &[String]) -> Result<Mark, CommandError> {
    let mut seconds = Map::new();
    for setting in settings {
        let (name, length) = Timings::setting(setting).map_err(CommandError::input)?;
        seconds.insert(name.to_owned(), json!(length.as_secs_f64()));
    }
    Ok(seconds)
}

/// Prints a message about the recording while it goes on.
fn print(notice: &RecordingNotice) {
    let mut page = output::page();
    page.line(&match notice {
        RecordingNotice::Complete => "all there is has been listed; Ctrl-C ends the recording".to_owned(),
        RecordingNotice::Back(name) => format!("{name} answers again"),
        RecordingNotice::Unreachable(name, why) => format!("{name} does not answer: {why}"),
    });
    // A recording does not end because its messages cannot be written.
    let _ = output::show(page);
}
