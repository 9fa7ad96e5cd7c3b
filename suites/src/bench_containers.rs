//! How long members in containers take to be there. It needs Docker, and the image of this program.

use std::time::Duration;

use capsize_clock::{Seed, live};
use capsize_clusters::{MemberSpec, Provider};
use capsize_real::{Containers, Image};
use miette::miette;

use crate::bench::{Row, now};
use crate::exit::Trouble;
use crate::heal;

/// The row.
pub(crate) const ROW: Row =
    Row { what: "three members in containers, ready", promise: "at most 3 s", alone: false, measure: ready };

/// How often it is measured; the best counts, as machines are noisy.
const ROUNDS: usize = 3;

fn ready() -> Result<String, Trouble> {
    let unreadable = |error| Trouble::Environment(miette!("cannot read this program: {error}"));
    let containers = Containers::of(heal::journal()?, Image::of_this_program().map_err(unreadable)?);
    let measured = live(Seed(1), 1.0, |run| async move {
        let specs = ["m1", "m2", "m3"].map(MemberSpec::named);
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let start = now();
            let _members = containers.start(run, &specs).await?;
            best = best.min(start.elapsed());
        }
        Ok::<_, capsize_clusters::ProviderError>(best)
    });
    let measured = measured.map_err(|error| Trouble::Environment(miette!("cannot start: {error}")))?;
    Ok(measured.map_or("not measured".into(), |best| format!("{:.2} s", best.as_secs_f64())))
}
