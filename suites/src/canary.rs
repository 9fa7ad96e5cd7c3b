//! The canary: a case that must fail, and so shows that failures are reported. It is in no list.

use capsize_clock::Seed;
use capsize_history::dialect::DialectKind;
use capsize_report::Report;
use capsize_runner::run::{Keep, Target, run_case};
use capsize_runner::scenario::Case;

use crate::exit::{CommandError, environment_error};
use crate::output;

/// For fleets, and for clusters with nodes.
const TEXTS: [(&str, &str); 2] = [
    ("canary.yaml", include_str!("../canary.yaml")),
    ("canary-nodes.yaml", include_str!("../canary-nodes.yaml")),
];

/// Runs the canary against `target`, and returns how the canary failed.
/// The function `judged` judges the canary as it judges every other case.
///
/// # Errors
/// When it survives, or the run itself broke: a run that reports no failure then says nothing.
pub fn run(target: Target<'_>, seed: Seed, judged: impl Fn(Report) -> bool) -> Result<String, CommandError> {
    let (file, text) = match target.profile.dialect {
        DialectKind::Karmada | DialectKind::Data(_) => TEXTS[0],
        DialectKind::Nodes => TEXTS[1],
    };
    let case = Case::from_text("canary", file, text).map_err(|error| CommandError::input(*error))?;
    let outcome = run_case(&case, target, seed, Keep::Nothing);
    if let Some(broken) = outcome.broken {
        return Err(environment_error!("{broken}"));
    }
    let failures = outcome.case.failures.iter().map(|failure| failure.seen.clone()).collect::<Vec<_>>();
    let report = Report {
        command: "run".into(),
        target: target.profile.name.clone(),
        cases: vec![outcome.case],
        ..Report::default()
    };
    if judged(report) {
        let help = "a failure would go unnoticed: do not trust that the other cases pass";
        return Err(environment_error!(help = help, "the canary passed, which it must not"));
    }
    let mut page = output::page();
    page.line(&format!("canary: failed, as it must ({})", failures.join("; ")));
    Ok(page.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Reference;
    use crate::targets;

    fn sung(judged: impl Fn(Report) -> bool) -> Result<String, CommandError> {
        let profile = targets::find("reference").expect("it is shipped");
        run(Target { profile: &profile, implementation: &Reference::default() }, Seed(1), judged)
    }

    #[test]
    fn the_canary_fails_as_every_case_fails() {
        let line = sung(|report| report.conforms()).expect("it must fail");
        assert!(line.contains("0 of 1 ready"), "{line}");
    }

    #[test]
    fn a_run_that_would_report_no_failure_ends_with_an_error() {
        assert!(matches!(sung(|_| true), Err(CommandError::Environment(_))));
    }
}
