//! Writes the page of all features that a target profile can promise.

use std::fmt::Write as _;

use capsize_history::dialect::DialectKind;
use capsize_judge::guarantee::Catalogue;
use capsize_judge::profile::Feature;
use schemars::schema_for;
use serde_json::Value;

/// Returns the page of all features.
/// The page shows the meaning of each feature, the dialects in which the feature is core, and the guarantees that need
/// it.
#[must_use]
pub fn features_page() -> String {
    let mut page = "# Features\n\n\
        A target profile lists the features that its implementation promises ([targets.md](targets.md)). A guarantee is judged if\n\
        the target promises all features that the guarantee needs. Guarantees without a feature are judged for every target. This\n\
        page is generated from the code.\n\n\
        | feature | meaning | core for | guarantees that need it |\n|---|---|---|---|\n"
        .to_owned();
    let specs = Catalogue::specs();
    for (name, meaning) in meanings() {
        let needs = |feature: &Feature| format!("{feature:?}") == name;
        let guarantees = specs.iter().filter(|spec| spec.features.iter().any(needs));
        let guarantees: Vec<&str> = guarantees.map(|spec| spec.id).collect();
        let core = [("karmada", DialectKind::Karmada), ("nodes", DialectKind::Nodes)];
        let core = core.into_iter().filter(|(_, dialect)| Feature::core(dialect).iter().any(needs));
        let core: Vec<&str> = core.map(|(dialect, _)| dialect).collect();
        let _ = writeln!(page, "| `{name}` | {meaning} | {} | {} |", core.join(", "), guarantees.join(", "));
    }
    page
}

/// The name and the meaning of each feature, from its JSON Schema.
fn meanings() -> Vec<(String, String)> {
    let schema = schema_for!(Feature).to_value();
    let text = |value: &Value| value.as_str().unwrap_or_default().replace('\n', " ");
    let variants = schema["oneOf"].as_array().into_iter().flatten();
    variants.map(|variant| (text(&variant["const"]), text(&variant["description"]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_of_a_guarantee_is_on_the_page_with_its_meaning() {
        let meanings = meanings();
        for spec in Catalogue::specs() {
            for feature in spec.features {
                let found = meanings.iter().find(|(name, _)| *name == format!("{feature:?}"));
                assert!(found.is_some_and(|(_, meaning)| meaning.ends_with('.')), "{feature:?}");
            }
        }
    }
}
