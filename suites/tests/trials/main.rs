//! The tests whose number, or whether they are possible here, is known at run time only.
//!
//! Some wait for programs outside of this process, and the others compute. In one program, the others use the processors while
//! these tests wait. `cargo test -p capsize --test trials NAME::` runs the tests of the module `NAME` alone.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod cases;
#[path = "../live/command.rs"]
mod command;
mod docker;
#[expect(dead_code, reason = "only a part is needed here")]
#[path = "../live/fleet.rs"]
mod fleet;
mod mutants;
mod page;
mod process;
mod stage;
mod stand_in_hub;

use std::env;
use std::process::ExitCode;

use capsize::conformance;
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The other tests obey this variable without further code.
    arguments.test_threads =
        arguments.test_threads.or_else(|| env::var("RUST_TEST_THREADS").ok()?.parse().ok());
    let mut waiting = [docker::trials(), process::trials(), page::trials()].into_iter().flatten();
    let suite = conformance::cases().expect("the suite has no mistakes");
    let of_hub = stand_in_hub::trials(&suite);
    let of_mutants = mutants::trials(suite, arguments.filter.is_some());
    let computing = [of_mutants, of_hub, cases::trials()].into_iter().flatten();
    // The tests begin in this order.
    let mut trials: Vec<Trial> =
        computing.flat_map(|trial| waiting.next().into_iter().chain([trial])).collect();
    trials.extend(waiting);
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A test that fails by a panic. It is listed as ignored if what it needs is missing here.
fn trial(name: &str, is_missing: bool, test: impl FnOnce() + Send + 'static) -> Trial {
    let test = move || {
        test();
        Ok(())
    };
    Trial::test(name, test).with_ignored_flag(is_missing)
}
