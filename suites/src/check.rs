//! `capsize check`: judges histories, wherever they were recorded.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use capsize_history::{HistoryError, Kind, Mark, Reader};
use capsize_judge::judge::{Judge, Judgement};
use capsize_judge::profile::{Feature, Profile, ProfileError, SettingError};
use capsize_report::{Case, CaseTimeline, Report, TimelineBuilder};
use miette::Diagnostic;
use serde_json::Value;
use thiserror::Error;

use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::run::shell_words;
use crate::{output, targets};

/// Judge recorded histories: which guarantees held, how often and by which margin, and which did not
#[derive(Debug, clap::Args)]
pub struct Check {
    /// Histories, as JSON Lines; `-` is stdin
    #[arg(required = true, value_name = "HISTORY")]
    histories: Vec<PathBuf>,
    /// The target profile: the name of one that comes with Capsize, or a file.
    /// By default the profile of the implementation and release that each history names
    #[arg(long)]
    target: Option<String>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write `index.html`, `summary.md`, `report.json` and `junit.xml` into this folder
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// The treatment of a history of a release that is newer than the newest profile, if no target is given
    #[arg(long, value_enum, default_value_t = NewerRelease::Warn)]
    newer_release: NewerRelease,
    /// Use this value for a timing, whatever the target and the header say: `failureThreshold=30s`
    #[arg(long = "set", value_name = "TIMING=VALUE")]
    settings: Vec<String>,
    #[command(flatten)]
    empty: EmptyArgs,
}

/// The treatment of a release that is newer than the newest profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum NewerRelease {
    /// Judge the history by the newest profile, and say so
    #[default]
    Warn,
    /// End with exit code 2
    Refuse,
}

/// The format of results.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

impl Check {
    /// Judges all of the histories, and writes the verdicts to stdout.
    ///
    /// # Errors
    /// When one of them, or the target, cannot be read: then nothing is reported of the others. When nothing was tested.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let target = self.target.as_deref().map(targets::find).transpose().map_err(CommandError::input)?;
        let own = self.target.as_deref().is_some_and(targets::is_file);
        let by = JudgingOptions {
            target: target.as_ref(),
            own,
            with_timeline: self.report.is_some(),
            newer_release: self.newer_release,
            settings: &self.settings,
        };
        let mut about = Vec::new();
        let mut checked = |path: &PathBuf| {
            let JudgedHistory { mut case, timeline, notes } = check_by(path, by)?;
            about.extend(notes);
            case.replay = replay(path, self.target.as_deref()).unwrap_or(case.replay);
            Ok::<_, CheckError>((case, timeline))
        };
        let checked = self.histories.iter().map(&mut checked).collect::<Result<Vec<_>, _>>();
        let (cases, timelines): (Vec<_>, Vec<_>) = checked.map_err(CommandError::input)?.into_iter().unzip();
        let lacking_core = target.as_ref().map(Profile::lacking_core).unwrap_or_default();
        let target = self.target.clone().unwrap_or_default();
        let command = "check".to_owned();
        let report = Report { command, about, target, lacking_core, cases, ..Report::default() };
        if let Some(folder) = &self.report {
            output::Folder::create(folder)?.report(&report, &timelines)?;
        }
        let text = match self.format {
            Format::Text => capsize_report::checked(&report, output::columns()),
            Format::Json => capsize_report::json(&report) + "\n",
        };
        output::print(&text)?;
        self.empty.verdict(report.conforms(), report.untested())
    }
}

/// A history that cannot be judged.
#[derive(Debug, Error, Diagnostic)]
pub enum CheckError {
    /// It cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    History(#[from] HistoryError),
    /// No profile is known for it.
    #[error("{path}:1:1: {reason}")]
    Profile {
        /// The file.
        path: String,
        /// Why.
        reason: Box<ProfileError>,
    },
    /// Its release is newer than the newest profile.
    #[error("{path}:1:1: {implementation} {version} is newer than the newest profile, {newest}")]
    #[diagnostic(help("name a target with --target, or allow the newest profile with --newer-release warn"))]
    Newer {
        /// The file.
        path: String,
        /// The implementation in the header.
        implementation: String,
        /// The release in the header.
        version: String,
        /// The name of the newest profile.
        newest: String,
    },
    /// A setting is wrong.
    #[error("--set {setting}: {reason}")]
    Setting {
        /// The setting.
        setting: String,
        /// Why.
        reason: SettingError,
    },
}

/// The command that checks a history again by an own profile, which the history does not name.
/// `None` for another target.
pub(crate) fn replay(path: &Path, target: Option<&str>) -> Option<String> {
    let file = target.filter(|target| targets::is_file(target))?;
    let words = ["capsize", "check", &path.display().to_string(), "--target", file];
    Some(shell_words(&words.map(str::to_owned)))
}

/// How histories are judged.
#[derive(Clone, Copy, Default)]
pub(crate) struct JudgingOptions<'a> {
    /// The profile; by default that of the implementation and release that the header names.
    pub(crate) target: Option<&'a Profile>,
    /// Whether the profile is the user's own.
    /// If so, the timings and features of the profile count, and not those of the header.
    pub(crate) own: bool,
    /// Whether the time line is wanted.
    pub(crate) with_timeline: bool,
    pub(crate) newer_release: NewerRelease,
    /// The timings that the user sets.
    pub(crate) settings: &'a [String],
}

/// A judged history.
pub(crate) struct JudgedHistory {
    pub(crate) case: Case,
    pub(crate) timeline: Option<CaseTimeline>,
    /// Notes on what counts instead of the header.
    pub(crate) notes: Vec<String>,
}

/// Judges the history at `path`, or the history on stdin if `path` is `-`.
/// The history is judged by `target`, or else by the profile of the implementation and release that its header names.
/// The settings that the header gives are taken in either case.
///
/// # Errors
/// When it cannot be read, or no profile is known for it.
pub fn check(path: &Path, target: Option<&Profile>) -> Result<Judgement, CheckError> {
    let judgement = check_by(path, JudgingOptions { target, ..JudgingOptions::default() })?.case.judgement;
    Ok(judgement.expect("a checked history has a judgement"))
}

/// Judges the history at `path` as [`check`] does.
pub(crate) fn check_by(path: &Path, by: JudgingOptions<'_>) -> Result<JudgedHistory, CheckError> {
    if path == Path::new("-") {
        let stdin = capsize_history::text_of(Box::new(io::stdin()));
        let stdin = stdin.map_err(|error| HistoryError::Unreadable {
            path: "stdin".to_owned(),
            reason: error.to_string(),
            help: "see whether the program before the pipe has ended".to_owned(),
        })?;
        return checked(Path::new("stdin"), Reader::new("stdin", stdin), by);
    }
    checked(path, capsize_history::read(path)?, by)
}

fn checked<R: BufRead>(
    path: &Path,
    entries: Reader<R>,
    by: JudgingOptions<'_>,
) -> Result<JudgedHistory, CheckError> {
    let mut notes = Vec::new();
    let mut timeline = by.with_timeline.then(TimelineBuilder::default);
    let profile = |header: &Mark| {
        let (profile, about) = by.profile(path, header)?;
        notes = about;
        Ok(profile)
    };
    let case = case(path, judged(entries, profile, timeline.as_mut())?);
    let judgement = case.judgement.as_ref();
    let timeline = timeline.zip(judgement).map(|(timeline, judgement)| timeline.finish(&case, judgement));
    Ok(JudgedHistory { case, timeline, notes })
}

/// Judges `entries`, and collects their time line.
/// The profile is the one that `profile` returns for the header of the entries.
fn judged<R: BufRead>(
    entries: Reader<R>,
    profile: impl FnOnce(&Mark) -> Result<Profile, CheckError>,
    mut timeline: Option<&mut TimelineBuilder>,
) -> Result<Judgement, CheckError> {
    let (mut judge, mut profile) = (None, Some(profile));
    for entry in entries {
        let entry = entry?;
        if let Kind::Mark(header) = &entry.kind
            && let Some(profile) = profile.take()
        {
            let new = Judge::new(profile(header)?);
            judge = Some(if timeline.is_some() { new.with_windows() } else { new });
        }
        let Some(judge) = &mut judge else { continue };
        let facts = judge.push(&entry);
        if let Some(timeline) = &mut timeline {
            timeline.observe(&entry, &facts, judge.world());
        }
    }
    Ok(judge.expect("the reader refuses a history without header").finish())
}

/// Returns the judgement of the history of a case that was run against `target`.
/// The time line of the history is collected as well, if it is wanted.
///
/// # Errors
/// When the history cannot be read.
pub(crate) fn judged_run(
    id: &str,
    history: &[u8],
    target: &Profile,
    timeline: Option<&mut TimelineBuilder>,
) -> Result<Judgement, CheckError> {
    let profile = |header: &Mark| profile(Path::new(id), header, Some(target));
    judged(Reader::new(id, history), profile, timeline)
}

impl JudgingOptions<'_> {
    /// The profile for a history with this header, and notes on what counts instead of the header.
    fn profile(&self, path: &Path, header: &Mark) -> Result<(Profile, Vec<String>), CheckError> {
        let mut notes: Vec<String> = self.newer(path, header)?.into_iter().collect();
        let mut by = profile(path, header, self.target)?;
        if let Some(target) = self.target {
            notes.extend(other_release(path, target, header));
            if self.own {
                notes.extend(overruled(path, target, &by));
                (by.timings, by.zones) = (target.timings.clone(), target.zones.clone());
                notes.extend(overruled_features(path, target, &mut by));
            }
        }
        for setting in self.settings {
            let wrong = |reason| CheckError::Setting { setting: setting.clone(), reason };
            by.timings.set_text(setting).map_err(wrong)?;
        }
        Ok((by, notes))
    }

    /// Says by which profile a release is judged that is newer than all profiles, or refuses the history.
    fn newer(&self, path: &Path, header: &Mark) -> Result<Option<String>, CheckError> {
        let profiles = targets::shipped();
        let text = |key: &str| header.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(newest) = profiles.newest_if_older_than(header).filter(|_| self.target.is_none()) else {
            return Ok(None);
        };
        let (path, newest) = (path.display().to_string(), newest.name.clone());
        let (implementation, version) = (text("implementation"), text("version"));
        match self.newer_release {
            NewerRelease::Refuse => Err(CheckError::Newer { path, implementation, version, newest }),
            NewerRelease::Warn => Ok(Some(format!(
                "{path} is of {implementation} {version}, which is newer than the newest profile: \
                 {newest} counts, and later changes of behaviour may be reported as violations"
            ))),
        }
    }
}

/// Says that a target counts, and not the profile of the release that the header names.
fn other_release(path: &Path, target: &Profile, header: &Mark) -> Option<String> {
    let profiles = targets::shipped();
    let of_header = profiles.of(header).ok().filter(|profile| profile.name != target.name)?;
    Some(format!(
        "the target {} counts, not {}, which the header of {} asks for",
        target.name,
        of_header.name,
        path.display()
    ))
}

/// Restores the features of `target` that the header has changed, and says which.
/// Features that were switched off for the history stay off.
fn overruled_features(path: &Path, target: &Profile, by: &mut Profile) -> Option<String> {
    let switches = [Feature::AutomaticNoExecute, Feature::ClusterTaintPolicies];
    let changed = switches.into_iter().filter(|feature| target.has(*feature) != by.has(*feature));
    let changed: Vec<Feature> = changed.collect();
    let (own, not): (Vec<Feature>, Vec<Feature>) = changed.iter().partition(|feature| target.has(**feature));
    by.features.extend(own);
    by.features.retain(|feature| !not.contains(feature));
    let names: Vec<String> = changed.iter().map(|feature| format!("{feature:?}")).collect();
    (!names.is_empty()).then(|| {
        let path = path.display();
        format!("the features of the target count, not those in the header of {path}: {}", names.join(", "))
    })
}

/// Says which timings of `target` count, and not those that the header of the history at `path` gives.
fn overruled(path: &Path, target: &Profile, by_header: &Profile) -> Option<String> {
    let seconds = |profile: &Profile| {
        let flags = profile.zones.iter().flat_map(capsize_judge::profile::Zones::flags).collect::<Mark>();
        profile.timings.seconds().into_iter().chain(flags).collect::<Mark>()
    };
    let (ours, theirs) = (seconds(target), seconds(by_header));
    let differs = theirs.iter().filter(|(name, value)| ours.get(*name) != Some(*value));
    let differs: Vec<String> = differs
        .map(|(name, value)| {
            let own = ours.get(name).map_or("none".to_owned(), ToString::to_string);
            format!("{name} {own}, not {value}")
        })
        .collect();
    let path = path.display();
    (!differs.is_empty()).then(|| {
        format!("the timings of the target count, not those in the header of {path}: {}", differs.join("; "))
    })
}

/// The header of the history at `path`.
///
/// # Errors
/// When it cannot be read.
pub fn header(path: &Path) -> Result<Mark, CheckError> {
    let header = capsize_history::read(path)?.next().transpose()?;
    match header.map(|entry| entry.kind) {
        Some(Kind::Mark(header)) => Ok(header),
        _ => unreachable!("the reader refuses a history without header"),
    }
}

/// Returns the profile that the history at `path` with this header goes by.
/// The profile is `target`, or else that of the implementation and release that the header names. In either case, the
/// profile has the settings that the header gives.
///
/// # Errors
/// When nobody knows.
pub fn profile(path: &Path, header: &Mark, target: Option<&Profile>) -> Result<Profile, CheckError> {
    let of_header = || targets::shipped().of(header).cloned();
    let profile = target.cloned().map_or_else(of_header, Ok).and_then(|profile| profile.overlaid(header));
    profile
        .map_err(|reason| CheckError::Profile { path: path.display().to_string(), reason: Box::new(reason) })
}

/// `target` with the settings that the header of the history at `path` gives.
///
/// # Errors
/// When that cannot be read.
pub fn with_settings_of(path: &Path, target: &Profile) -> Result<Profile, CheckError> {
    profile(path, &header(path)?, Some(target))
}

/// The history at `path` as a case of a report, called by its folder and file.
#[must_use]
pub fn case(path: &Path, judgement: Judgement) -> Case {
    let name = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let group = name(path.parent().and_then(Path::file_name));
    let case = Case::judged(group, name(path.file_stem()), judgement);
    Case { replay: format!("capsize check {}", path.display()), ..case }
}
