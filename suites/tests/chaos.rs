//! What chaos once found, and that what it finds can be found again.

use std::path::{Path, PathBuf};

use capsize::chaos::try_plan;
use capsize::reference::Reference;
use capsize::{conformance, targets};
use capsize_clock::Seed;
use capsize_framework::chaos::{Style, draw};
use capsize_framework::report::{self, Status};
use capsize_framework::run::{Target, run_case};
use capsize_framework::scenario;

#[test]
fn what_chaos_once_found_is_found_no_more() {
    let profile = targets::find("reference").unwrap();
    let target = Target { profile: &profile, implementation: &Reference::default() };
    let corpus: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("chaos/corpus");
    for case in scenario::find(&[corpus]).unwrap() {
        let outcome = run_case(&case, target, Seed(1), false);
        assert_eq!(outcome.broken, None);
        assert!(outcome.case.status == Status::Passed, "{}", report::failure(&outcome.case));
    }
}

#[test]
fn a_seed_is_the_same_run_again() {
    let profile = targets::find("reference").unwrap();
    let target = Target { profile: &profile, implementation: &Reference::default() };
    let bases = conformance::plans().unwrap();
    for style in Style::ALL {
        for seed in 0..2 {
            let trial = try_plan(&draw(Seed(seed), style, &profile, &bases), target, true);
            assert_eq!((trial.broken, trial.differs), (None, None), "{style}-{seed}");
        }
    }
}
