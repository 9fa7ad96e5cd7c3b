//! `capsize replay`: one seed of chaos again, or a scenario that it saved.

use std::path::PathBuf;

use capsize_clock::{Clock, Seed};
use capsize_report::Report;
use capsize_runner::chaos::{Plan, Style, draw};
use capsize_runner::run::{Keep, Target, run_case};
use capsize_runner::scenario::{self, Case};
use clap::Args;

use crate::empty::EmptyArgs;
use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::{conformance, output, run, targets};

/// Run a seed of `chaos` again, or scenarios that it saved
#[derive(Args, Debug)]
pub struct Replay {
    /// A seed, or the file of a scenario
    #[arg(value_name = "SEED|FILE")]
    what: String,
    /// The style that the seed was drawn in; swarm where none is given
    #[arg(long, value_name = "STYLE")]
    style: Option<Style>,
    /// The target profile: the name of one that comes with Capsize, or a file
    #[arg(long, default_value = "reference")]
    target: String,
    /// Only print the scenario of the seed
    #[arg(long, conflicts_with = "report")]
    print: bool,
    /// Write the report and the history into this folder
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    #[command(flatten)]
    empty: EmptyArgs,
}

impl Replay {
    /// Runs the cases, prints the summary, and answers whether the target conforms.
    ///
    /// # Errors
    /// A target or scenario that is wrong, a report that cannot be written, a run that broke.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let profile = targets::find(&self.target).map_err(CommandError::input)?;
        let cases = match self.what.parse() {
            Ok(seed) => {
                let bases = conformance::plans().map_err(|error| CommandError::input(*error))?;
                let plan = draw(Seed(seed), self.style.unwrap_or(Style::Swarm), &profile, &bases);
                if self.print {
                    return print(&plan);
                }
                vec![plan.case().map_err(|error| CommandError::input(*error))?]
            }
            Err(_) => {
                for (flag, is_given) in [("--style", self.style.is_some()), ("--print", self.print)] {
                    if is_given {
                        return Err(input_error!("{flag} needs a seed, and `{}` is none", self.what));
                    }
                }
                scenario::find(&[PathBuf::from(&self.what)]).map_err(CommandError::input)?
            }
        };
        let implementation = run::implementation(&profile)?;
        let target = Target { profile: &profile, implementation: &*implementation };
        self.run(&cases, target)
    }

    fn run(&self, cases: &[Case], target: Target<'_>) -> Result<ExitStatus, CommandError> {
        let folder = self.report.as_deref().map(output::Folder::create).transpose()?;
        let clock = Clock::real();
        let (mut ended, mut timelines) = (Vec::new(), Vec::new());
        for case in cases {
            let keep = if folder.is_some() { Keep::Timeline } else { Keep::Nothing };
            let mut outcome = run_case(case, target, Seed(1), keep);
            if let Some(why) = &outcome.broken {
                return Err(environment_error!("{why}"));
            }
            outcome.case.replay = format!("capsize replay {}", self.what);
            timelines.push(run::timeline(&mut outcome));
            folder.as_ref().map_or(Ok(()), |folder| folder.history(&outcome))?;
            ended.push(outcome.case);
        }
        let report = Report {
            command: "replay".into(),
            about: vec!["embedded".into()],
            target: format!("{} {}", target.profile.name, target.profile.version),
            lacking_core: target.profile.lacking_core(),
            cases: ended,
            wall: Some(clock.elapsed()),
            ..Report::default()
        };
        folder.as_ref().map_or(Ok(()), |folder| folder.report(&report, &timelines))?;
        output::print(&capsize_report::summary(&report, output::columns()))?;
        self.empty.verdict(report.conforms(), report.untested())
    }
}

fn print(plan: &Plan) -> Result<ExitStatus, CommandError> {
    output::print(&plan.text())?;
    Ok(ExitStatus::Conforms)
}
