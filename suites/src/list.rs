//! `capsize list`: the cases that there are.

use std::path::PathBuf;

use capsize_framework::scenario;
use clap::Args;

use crate::conformance;
use crate::exit::{Trouble, Verdict};
use crate::output;

/// List the cases: group, name, and what each is about
#[derive(Args, Debug)]
pub struct List {
    /// Scenario files, or folders of them; the conformance suite where none is given
    paths: Vec<PathBuf>,
}

impl List {
    /// Writes the list to stdout.
    ///
    /// # Errors
    /// A scenario that is wrong.
    pub fn execute(self) -> Result<Verdict, Trouble> {
        let cases = if self.paths.is_empty() {
            conformance::cases().map_err(|error| Trouble::input(*error))?
        } else {
            scenario::find(&self.paths).map_err(Trouble::input)?
        };
        let width = cases.iter().map(|case| case.id().len()).max().unwrap_or_default();
        let lines = cases.iter().map(|case| format!("{:width$}  {}\n", case.id(), case.scenario.about));
        output::say(&lines.collect::<String>())?;
        Ok(Verdict::Conforms)
    }
}
