//! `capsize diff` on recordings of a real system.

use std::path::{Path, PathBuf};

use capsize::diff::outline;
use capsize_judge::diff::compare;
use capsize_report::{COLUMNS, differences};

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings").join(format!("{name}.jsonl"))
}

#[test]
fn a_recording_does_not_differ_from_itself() {
    let outline = outline(&recording("karmada-1.18.2/duplicated-refused"), None).unwrap();
    let comparison = compare(&outline, &outline);
    assert!(comparison.is_alike(), "{}", differences(&comparison, COLUMNS));
    assert!(comparison.matched > 20, "{}", comparison.matched);
}

#[test]
fn an_outage_differs_from_one_that_is_tolerated() {
    let [refused, tolerated] = ["duplicated-refused", "tolerates-forever"]
        .map(|name| outline(&recording(&format!("karmada-1.18.2/{name}")), None).unwrap());
    assert!(!compare(&refused, &tolerated).is_alike());
}
