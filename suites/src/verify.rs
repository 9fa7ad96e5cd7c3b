//! `capsize verify`: whether the claim of a conformance report stands.

use std::path::PathBuf;

use capsize_report::{ClaimDifference, ConformanceReport, Report, claim_differences};
use capsize_runner::run::Outcome;
use clap::Args;

use crate::attached::{AttachedReport, parse_command};
use crate::exit::{CommandError, ExitStatus, input_error};
use crate::output;
use crate::run::{digest_of_file, suite};

/// Verify a conformance report.
/// Simulated runs are run again, the attached histories are judged again, and the results are compared
#[derive(Args, Debug)]
pub struct Verify {
    /// Reports, or the folders that `run --report` wrote
    #[arg(required = true, value_name = "REPORT")]
    reports: Vec<PathBuf>,
}

/// The result of the verification of one report.
#[derive(Debug, Default)]
pub struct Verification {
    /// The differences between the report and the facts. The claim stands if there is none.
    pub differences: Vec<ClaimDifference>,
    /// The facts that the verification relies on, one sentence each.
    pub notes: Vec<String>,
}

impl Verify {
    /// Verifies the reports, and prints the result of each.
    ///
    /// # Errors
    /// When a report, or a file beside it, cannot be read. When a report is of another version of the suite.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let mut status = ExitStatus::Conforms;
        for path in &self.reports {
            let attached = AttachedReport::read(path)?;
            let verification = verify(&attached)?;
            let mut page = output::page();
            let name = attached.claim.name();
            let verdict = if verification.differences.is_empty() {
                format!("the claim stands, and the implementation {}", attached.claim.verdict())
            } else {
                "THE CLAIM DOES NOT STAND".to_owned()
            };
            page.line(&format!("{}: {name}: {verdict}", path.display()));
            for note in &verification.notes {
                page.line(&format!("  {note}"));
            }
            for difference in &verification.differences {
                page.line(&format!("  {}", sentence(difference)));
                status = ExitStatus::Violated;
            }
            output::show(page)?;
        }
        Ok(status)
    }
}

/// Runs a simulated command of `capsize run` again, and calls `ended` with the outcome of each case.
/// Returns the conformance report of the run, and the report that the conformance report sums up.
///
/// # Errors
/// When the command is wrong, or its run is not simulated.
pub fn run_again(
    command: &str,
    ended: impl FnMut(&Outcome),
) -> Result<(ConformanceReport, Report), CommandError> {
    let run = parse_command(command).map_err(|why| input_error!("{command}: {why}"))?;
    if !run.is_simulated()? {
        return Err(input_error!("{command}: this run is not simulated"));
    }
    run.again(ended)
}

fn verify(attached: &AttachedReport) -> Result<Verification, CommandError> {
    let own = suite();
    let claimed = &attached.claim.suite;
    if (&claimed.version, &claimed.digest) != (&own.version, &own.digest) {
        let help = "verify the report with the version of Capsize that it names";
        let (field, theirs, ours) = if claimed.version == own.version {
            ("digest", &claimed.digest, &own.digest)
        } else {
            ("version", &claimed.version, &own.version)
        };
        return Err(input_error!(
            help = help,
            "suite.{field}: the report has {theirs}, and this program has {ours}"
        ));
    }
    let mut verification =
        if attached.local_run().is_simulated()? { again(attached)? } else { rejudged(attached)? };
    let trusted = [
        ("date", attached.claim.date.as_deref()),
        ("commit of the suite", claimed.commit.as_deref()),
        ("provider", (!attached.claim.run.simulated).then_some(attached.claim.run.provider.as_str())),
    ];
    for (name, value) in trusted {
        let note = value.map(|value| format!("taken on trust: the {name}, {value}"));
        verification.notes.extend(note);
    }
    Ok(verification)
}

/// Runs the cases again, and compares the reports and the attached histories, if there are any.
fn again(attached: &AttachedReport) -> Result<Verification, CommandError> {
    let (mut found, _) = attached.local_run().again(|_| {})?;
    trust(&attached.claim, &mut found);
    let mut differences = claim_differences(&attached.claim, &found);
    let mut notes = vec![format!("{} cases were run again", found.cases.len())];
    if attached.has_histories() {
        notes.push(format!("{} attached histories were compared", attached.claim.cases.len()));
        differences.extend(attached.claim.cases.iter().filter_map(|case| {
            let attached = attached.history(case).as_deref().map(digest_of_file);
            (attached.as_ref() != Some(&case.history)).then(|| ClaimDifference {
                place: format!("the attached history of {}", case.id),
                claimed: Some(case.history.clone()),
                found: attached,
            })
        }));
    }
    Ok(Verification { differences, notes })
}

/// Judges the attached histories again, and compares the reports.
fn rejudged(attached: &AttachedReport) -> Result<Verification, CommandError> {
    let rejudged = attached.rejudged(false)?;
    let mut found = attached.claim_of(&rejudged)?;
    trust(&attached.claim, &mut found);
    let mut differences = claim_differences(&attached.claim, &found);
    differences.extend(rejudged.missing.iter().map(|id| ClaimDifference {
        place: format!("cases.{id}"),
        claimed: None,
        found: Some("a case of this run".to_owned()),
    }));
    let mut notes = vec![format!("{} attached histories were judged again", found.cases.len())];
    if !rejudged.trusted.is_empty() {
        notes.push(format!("taken on trust: the reason why {} was skipped", rejudged.trusted.join(", ")));
    }
    Ok(Verification { differences, notes })
}

/// Takes over what nothing attached can prove.
/// The command was read from the claim, and may name a profile by a path of another machine.
fn trust(claim: &ConformanceReport, found: &mut ConformanceReport) {
    found.run.command.clone_from(&claim.run.command);
    found.date.clone_from(&claim.date);
    found.suite.commit.clone_from(&claim.suite.commit);
}

/// A difference as a sentence.
fn sentence(difference: &ClaimDifference) -> String {
    let ClaimDifference { place, claimed, found } = difference;
    match (claimed, found) {
        (Some(claimed), Some(found)) => {
            format!("{place}: the report has {claimed}, but the facts are {found}")
        }
        (Some(claimed), None) => format!("{place}: the report has {claimed}, but nothing shows it"),
        (None, Some(found)) => format!("{place}: the report lacks {found}"),
        (None, None) => place.clone(),
    }
}
