//! Labels of a node: its zone, and operating system and architecture in two forms.
//!
//! kubernetes/kubernetes `pkg/controller/nodelifecycle/node_lifecycle_controller.go` (`reconcileNodeLabels`),
//! `staging/src/k8s.io/component-helpers/node/topology`.

use std::collections::BTreeMap;

use capsize_sorted::CollectSorted;

use super::names::{MIRRORED_LABELS, REGION_LABELS, ZONE_LABELS};

type Labels = BTreeMap<String, String>;

/// Returns the zone of a node as one text.
/// The text contains the region and the zone, either of which may be missing. The text is empty if both are missing.
#[must_use]
pub fn zone_of(labels: &Labels) -> String {
    let first = |keys: [&str; 2]| {
        let found = keys.iter().find_map(|key| labels.get(*key).filter(|value| !value.is_empty()));
        found.map(String::as_str).unwrap_or_default()
    };
    match (first(REGION_LABELS), first(ZONE_LABELS)) {
        ("", "") => String::new(),
        // No label contains a zero byte, so that different pairs are different texts.
        (region, zone) => format!("{region}:\0:{zone}"),
    }
}

/// Returns the labels to write, so that the stable labels and the beta labels are equal.
/// These are the labels of operating system and architecture. The leading label is copied to the other label, and no
/// label is removed.
#[must_use]
pub fn mirrored_labels(labels: &Labels, stable_lead: bool) -> Labels {
    let pairs =
        MIRRORED_LABELS.map(|(stable, beta)| if stable_lead { (stable, beta) } else { (beta, stable) });
    let copied = pairs.into_iter().filter_map(|(leads, follows)| {
        let value = labels.get(leads)?;
        (labels.get(follows) != Some(value)).then(|| (follows.to_owned(), value.clone()))
    });
    copied.collect_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_zone_is_its_region_and_its_name_in_whichever_labels_they_stand() {
        let (region, zone) = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone");
        let old = "failure-domain.beta.kubernetes.io/zone";
        let cases: [(&[(&str, &str)], &str); 6] = [
            (&[], ""),
            (&[(region, "r")], "r:\0:"),
            (&[(zone, "z")], ":\0:z"),
            (&[(region, "r"), (zone, "z")], "r:\0:z"),
            (&[(old, "old"), (zone, "z")], ":\0:old"),
            (&[(old, ""), (zone, "z")], ":\0:z"),
        ];
        for (pairs, expected) in cases {
            assert_eq!(zone_of(&labels(pairs)), expected, "{pairs:?}");
        }
    }

    type Pairs<'a> = &'a [(&'a str, &'a str)];

    #[test]
    fn the_stable_labels_are_copied_to_the_beta_ones_and_before_1_18_back() {
        let (os, beta_os) = ("kubernetes.io/os", "beta.kubernetes.io/os");
        let (arch, beta_arch) = ("kubernetes.io/arch", "beta.kubernetes.io/arch");
        let cases: [(Pairs<'_>, bool, Pairs<'_>); 6] = [
            (&[], true, &[]),
            (&[(os, "linux"), (arch, "arm64")], true, &[(beta_os, "linux"), (beta_arch, "arm64")]),
            (&[(os, "linux"), (beta_os, "windows")], true, &[(beta_os, "linux")]),
            (&[(os, "linux"), (beta_os, "linux")], true, &[]),
            (&[(beta_os, "linux")], true, &[]),
            (&[(beta_os, "linux"), (arch, "arm64")], false, &[(os, "linux")]),
        ];
        for (before, stable_lead, expected) in cases {
            assert_eq!(mirrored_labels(&labels(before), stable_lead), labels(expected), "{before:?}");
        }
    }
}
