//! How long members in containers, and such as are processes, take to be there.
//! It needs Docker with the image of this program, and the programs of `--provider process`.

use std::time::Duration;

use capsize_clock::{Seed, live};
use capsize_clusters::{MemberSpec, Provider, ProviderError};
use capsize_real::{Assets, Containers, Image, Processes};

use super::command::{Row, now, row};
use crate::cleanup;
use crate::exit::{CommandError, environment_error};
use crate::providers::starter;

/// The rows.
pub(crate) const ROWS: [Row; 2] = [
    row("three members in containers, ready", "at most 3 s", containers),
    row("three members of processes, ready", "at most 10 s", processes),
];

/// How often it is measured; the best counts, as machines are noisy.
const ROUNDS: usize = 3;

/// The figure where there is nothing to start.
const UNMEASURED: &str = "not measured";

fn containers() -> Result<String, CommandError> {
    let unreadable = |error| environment_error!("cannot read this program: {error}");
    ready(&Containers::of(cleanup::journal()?, Image::of_this_program().map_err(unreadable)?))
}

fn processes() -> Result<String, CommandError> {
    let Ok(assets) = Assets::find() else { return Ok(UNMEASURED.into()) };
    ready(&Processes::of(cleanup::journal()?, assets, starter()?))
}

fn ready(provider: &dyn Provider) -> Result<String, CommandError> {
    let measured = live(Seed(1), 1.0, |run| async move {
        let specs = ["m1", "m2", "m3"].map(MemberSpec::named);
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let start = now();
            let _members = provider.start(run, &specs).await?;
            best = best.min(start.elapsed());
        }
        Ok::<_, ProviderError>(best)
    });
    let measured = measured.map_err(|error| environment_error!("cannot start: {error}"))?;
    Ok(measured.map_or(UNMEASURED.into(), |best| format!("{:.2} s", best.as_secs_f64())))
}
