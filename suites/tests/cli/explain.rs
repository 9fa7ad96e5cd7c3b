//! `capsize explain` leads from a guarantee to its code, rules, scenarios, mutants and recordings.

use std::path::Path;

use crate::{capsize, text};

/// Guarantees of different groups. Each has a rule, a scenario, a mutant and a recording.
const TRACED: [&str; 7] =
    ["EVICTION-03", "TAINT-02", "PLACEMENT-05", "NODE-07", "REPLICAS-06", "TOLERATION-01", "LIVENESS-02"];

/// The text after a label, up to the next label.
fn labelled<'a>(page: &'a str, label: &str) -> &'a str {
    let start = page.find(&format!("\n    {label:<9} ")).unwrap_or_else(|| panic!("no {label} in\n{page}"));
    let rest = &page[start + 1 + 4 + 10..];
    let end = rest.match_indices("\n    ").find(|(at, _)| !rest[at + 5..].starts_with(' '));
    &rest[..end.map_or(rest.len(), |(at, _)| at)]
}

#[test]
fn a_guarantee_is_followed_with_one_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for id in TRACED {
        let page = text(&capsize(root, &["explain", id]).stdout);
        for label in ["code", "rules", "scenarios", "mutants", "recorded"] {
            assert_ne!(labelled(&page, label).trim(), "none", "{id} has no {label}");
        }
        let (file, line) = labelled(&page, "code").trim().split_once(':').unwrap();
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let declared = text.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap();
        assert!(declared.contains("GuaranteeSpec"), "{file}:{line} is `{declared}`");
    }
}
