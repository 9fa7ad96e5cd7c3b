//! Quantities of resources, in thousandths.

use std::borrow::Cow;
use std::collections::BTreeMap;

use capsize_sorted::CollectSorted;

use crate::format::Tree;

/// The factor of each suffix, in thousandths.
const SUFFIXES: [(&str, f64); 13] = [
    ("Ki", 1_024e3),
    ("Mi", 1_048_576e3),
    ("Gi", 1_073_741_824e3),
    ("Ti", 1_099_511_627_776e3),
    ("n", 1e-6),
    ("u", 1e-3),
    ("m", 1.0),
    ("k", 1e6),
    ("M", 1e9),
    ("G", 1e12),
    ("T", 1e15),
    ("P", 1e18),
    ("", 1e3),
];

/// Reads a quantity as the Kubernetes API writes it (`2`, `500m`, `1.5Gi`), and rounds it down.
/// Returns `None` if the value is not a quantity or is negative.
#[must_use]
pub fn milli(value: &Tree<'_>) -> Option<u64> {
    let text = value.as_str().map(str::to_owned).or_else(|| value.as_number().map(ToString::to_string))?;
    let (number, each) = SUFFIXES
        .iter()
        .find_map(|(suffix, each)| Some((text.strip_suffix(suffix)?.parse::<f64>().ok()?, *each)))?;
    let amount = number * each;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
    (amount >= 0.0).then_some((amount + 1e-6) as u64)
}

/// The quantities of an object, by resource.
#[must_use]
pub fn quantities(value: &Tree<'_>) -> BTreeMap<String, u64> {
    let amount = |(resource, amount): &(Cow<'_, str>, Tree<'_>)| Some((resource.to_string(), milli(amount)?));
    value.fields().iter().filter_map(amount).collect_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_the_api_writes_them() {
        let cases = [
            (r#""2""#, Some(2_000)),
            (r#""500m""#, Some(500)),
            (r#""1.5""#, Some(1_500)),
            ("3", Some(3_000)),
            (r#""1Gi""#, Some(1_073_741_824_000)),
            (r#""1e3""#, Some(1_000_000)),
            (r#""4k""#, Some(4_000_000)),
            (r#""much""#, None),
            (r#""-1""#, None),
            ("null", None),
        ];
        for (text, milli_units) in cases {
            assert_eq!(milli(&Tree::read(text)), milli_units, "{text}");
        }
    }
}
