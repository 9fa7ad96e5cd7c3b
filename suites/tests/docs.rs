//! Checks that the pages that are generated from the catalogue are up to date.

use std::path::Path;
use std::{env, fs};

use capsize::traces::traces;
use capsize_report::Traces;

#[test]
fn the_pages_of_the_guarantees_and_features_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let pages = [
        ("guarantees.md", capsize_report::guarantees_page(&traces())),
        // `suites/traces.json` has the traces for programs.
        ("guarantees.json", capsize_report::guarantees_json(&Traces::new())),
        ("features.md", capsize_report::features_page()),
    ];
    for (name, page) in pages {
        let path = folder.join(name);
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &page).unwrap();
        }
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(there == page, "docs/{name} is old: run UPDATE_DOCS=1 cargo test -p capsize --test docs");
    }
}
