//! The conformance report of a run: the facts about it, and the run again for `capsize verify`.

use capsize_clock::{Interrupt, Seed};
use capsize_judge::profile::{Feature, Profile, Start};
use capsize_report::{
    CaseRecord, CaseTimeline, ConformanceReport, Report, RunClaim, RunFacts, SuiteClaim, conformance,
};
use capsize_runner::run::{CasesInProgress, Keep, Outcome};
use capsize_runner::scenario::Case;

use super::Run;
use super::digest::{digest_of_file, digest_of_profile};
use super::parties::{TestedImplementation, is_live};
use super::selection::{SelectedCases, Shard};
use crate::exit::{CommandError, environment_error, input_error};
use crate::providers::ProviderName;
use crate::{attached, output};

/// A case that was run.
pub(super) struct FinishedCase {
    pub(super) outcome: Outcome,
    pub(super) timeline: Option<CaseTimeline>,
    pub(super) record: CaseRecord,
}

/// The facts about a case that was run which its outcome does not keep.
pub(super) fn record(case: &Case, outcome: &Outcome, seed: Seed, profile: &Profile) -> CaseRecord {
    CaseRecord {
        id: case.id(),
        seed: seed.0,
        target: profile.name.clone(),
        features: case.scenario.features.clone(),
        scenario: digest_of_file(case.text.as_bytes()),
        history: outcome.history.as_deref().map(digest_of_file),
    }
}

/// The suite of this program.
pub(crate) fn suite() -> SuiteClaim {
    SuiteClaim {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("CAPSIZE_COMMIT").map(str::to_owned),
        digest: crate::conformance::digest(),
    }
}

/// Facts about a run that its command does not contain.
#[derive(Clone, Debug)]
pub(crate) struct RunPlace {
    /// The place where the members ran.
    pub(crate) provider: String,
    /// The day of the run.
    pub(crate) date: Option<String>,
    /// The seeds, in order.
    pub(crate) seeds: Vec<u64>,
    /// Whether the run is simulated.
    pub(crate) simulated: bool,
}

impl Run {
    /// Writes the conformance report, and the profiles that `capsize verify` and `capsize merge` need.
    pub(super) fn write_claim(
        &self,
        writer: &output::Folder,
        report: &Report,
        parties: &[TestedImplementation],
        (records, seeds): (&[CaseRecord], Vec<u64>),
    ) -> Result<(), CommandError> {
        let profiles: Vec<&Profile> = parties.iter().map(|party| &party.profile).collect();
        let date = self.date(is_live(parties))?;
        let provider = self.members.described()?;
        let place = RunPlace { provider, date, seeds, simulated: !is_live(parties) };
        writer.claim(&self.claim(report, &profiles, records, place), &profiles)
    }

    /// The conformance report of this run with these results, on targets with these profiles.
    pub(crate) fn claim(
        &self,
        report: &Report,
        profiles: &[&Profile],
        records: &[CaseRecord],
        place: RunPlace,
    ) -> ConformanceReport {
        let facts = RunFacts {
            suite: suite(),
            date: place.date,
            run: RunClaim {
                command: self.command(),
                seeds: place.seeds,
                shard: self.selection.shard().map(|shard| shard.to_string()),
                selection: self.selection.described(),
                provider: place.provider,
                simulated: place.simulated,
            },
            targets: profiles.iter().map(|profile| (*profile, digest_of_profile(profile))).collect(),
            cases: records,
        };
        conformance(report, facts)
    }

    /// The selected cases.
    pub(crate) fn selected(&self) -> Result<Vec<SelectedCases>, CommandError> {
        self.selection.select()
    }

    /// Returns true if the options leave out cases of the suite.
    pub(crate) fn is_selection(&self) -> bool {
        self.selection.described().is_some()
    }

    /// The shard, if the run is one.
    pub(crate) fn shard(&self) -> Option<Shard> {
        self.selection.shard()
    }

    /// The same run with the cases of all shards.
    pub(crate) fn whole(&self) -> Self {
        let mut whole = self.clone();
        whole.selection = self.selection.whole();
        whole
    }

    /// Refuses to run the failed cases of a run of another target.
    pub(super) fn check_earlier(&self, parties: &[TestedImplementation]) -> Result<(), CommandError> {
        let Some(folder) = self.selection.earlier() else { return Ok(()) };
        let earlier = attached::read_claim(folder)?;
        let names: Vec<&str> = earlier.targets.iter().map(|target| target.name.as_str()).collect();
        if parties.iter().map(|party| party.profile.name.as_str()).eq(names.iter().copied()) {
            return Ok(());
        }
        let help = "give the same --target as in that run";
        let (folder, names) = (folder.display(), names.join(", "));
        Err(input_error!(help = help, "{folder} is a report of the target {names}"))
    }

    /// Returns true if the run is simulated: it starts no program and no member outside of this process.
    ///
    /// # Errors
    /// As [`Run::profiles`].
    pub(crate) fn is_simulated(&self) -> Result<bool, CommandError> {
        let is_reference = self.profiles()?.iter().all(|profile| profile.start == Start::Reference);
        Ok(is_reference && self.members.provider == ProviderName::Embedded)
    }

    /// Runs the cases again, and returns the conformance report and the report that it sums up.
    /// Nothing is written.
    ///
    /// # Errors
    /// As [`Run::execute`].
    pub(crate) fn again(
        &self,
        ended: impl FnMut(&Outcome),
    ) -> Result<(ConformanceReport, Report), CommandError> {
        let parties = self.parties(&Interrupt::default(), &CasesInProgress::default())?;
        let selected = self.selection.select()?;
        let seeds = selected.iter().map(|selected| selected.seed.0).collect();
        let mut again = self.perform(&parties, selected, Keep::History, ended)?;
        if let Some(why) = again.iter_mut().find_map(|ran| ran.outcome.broken.take()) {
            return Err(environment_error!("{why}"));
        }
        let (cases, records): (Vec<_>, Vec<_>) =
            again.into_iter().map(|ran| (ran.outcome.case, ran.record)).unzip();
        let profiles: Vec<&Profile> = parties.iter().map(|party| &party.profile).collect();
        let report = Report {
            command: "run".into(),
            about: Vec::new(),
            target: String::new(),
            lacking_core: lacking_core(&profiles),
            is_selection: self.is_selection(),
            is_live: false,
            cases,
            wall: None,
        };
        let place = RunPlace { provider: self.members.described()?, date: None, seeds, simulated: true };
        Ok((self.claim(&report, &profiles, &records, place), report))
    }
}

/// The core features that a target lacks.
pub(crate) fn lacking_core(profiles: &[&Profile]) -> Vec<Feature> {
    profiles.iter().flat_map(|profile| profile.lacking_core()).collect()
}
