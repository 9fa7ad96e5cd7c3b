//! `capsize replay`: one seed of chaos again, or a scenario that it saved.

use std::path::PathBuf;

use capsize_clock::{Clock, Seed};
use capsize_report::Report;
use capsize_runner::chaos::{Plan, Style, draw};
use capsize_runner::run::{Target, run_case};
use capsize_runner::scenario::{self, Case};
use clap::Args;

use crate::exit::{Trouble, Verdict};
use crate::{conformance, output, run, targets};

/// Run a seed of `chaos` again, or scenarios that it saved
#[derive(Args, Debug)]
pub struct Replay {
    /// A seed, or the file of a scenario
    #[arg(value_name = "SEED|FILE")]
    what: String,
    /// The style that the seed was drawn in
    #[arg(long, default_value_t = Style::Swarm)]
    style: Style,
    /// Whose promises count, and who is started: a profile that comes with Capsize, or a file
    #[arg(long, default_value = "reference")]
    target: String,
    /// Only print the scenario
    #[arg(long)]
    print: bool,
    /// Write the report and the history into this folder
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
}

impl Replay {
    /// Runs it, tells, and says whether all is well.
    ///
    /// # Errors
    /// A target or scenario that is wrong, a report that cannot be written, a run that broke.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        let profile = targets::find(&self.target).map_err(Trouble::input)?;
        let cases = match self.what.parse() {
            Ok(seed) => {
                let bases = conformance::plans().map_err(|error| Trouble::input(*error))?;
                let plan = draw(Seed(seed), self.style, &profile, &bases);
                if self.print {
                    return print(&plan);
                }
                vec![plan.case().map_err(|error| Trouble::input(*error))?]
            }
            Err(_) => scenario::find(&[PathBuf::from(&self.what)]).map_err(Trouble::input)?,
        };
        let implementation = run::implementation(&profile)?;
        let target = Target { profile: &profile, implementation: &*implementation };
        self.run(&cases, target)
    }

    fn run(&self, cases: &[Case], target: Target<'_>) -> Result<Verdict, Trouble> {
        let folder = self.report.as_deref().map(output::Folder::create).transpose()?;
        let clock = Clock::real();
        let mut told = Vec::new();
        for case in cases {
            let mut outcome = run_case(case, target, Seed(1), folder.is_some());
            if let Some(why) = &outcome.broken {
                return Err(Trouble::Environment(miette::miette!("{why}")));
            }
            outcome.case.replay = format!("capsize replay {}", self.what);
            folder.as_ref().map_or(Ok(()), |folder| folder.history(&outcome))?;
            told.push(outcome.case);
        }
        let report = Report {
            command: "replay".into(),
            about: vec!["embedded".into()],
            target: format!("{} {}", target.profile.name, target.profile.version),
            cases: told,
            wall: Some(clock.elapsed()),
        };
        folder.as_ref().map_or(Ok(()), |folder| folder.report(&report))?;
        output::say(&capsize_report::summary(&report))?;
        Ok(if report.conforms() { Verdict::Conforms } else { Verdict::Violated })
    }
}

fn print(plan: &Plan) -> Result<Verdict, Trouble> {
    output::say(&plan.text())?;
    Ok(Verdict::Conforms)
}
