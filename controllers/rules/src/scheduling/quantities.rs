//! Sums of quantities, as in a member's capacity.
//!
//! Notation: k8s.io/apimachinery `pkg/api/resource/quantity.go`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Adds an amount of a resource to the sum.
/// The sum is written in the canonical form. The form has powers of two if the amount or the sum before has powers of
/// two. An invalid quantity counts as nothing.
pub fn add_quantities(sums: &mut BTreeMap<String, Quantity>, resource: &str, amount: &Quantity) {
    let Some((milli, binary)) = milli_units(&amount.0) else { return };
    let sum = sums.entry(resource.to_owned()).or_insert_with(|| Quantity("0".into()));
    let (before, binary_before) = milli_units(&sum.0).unwrap_or((0, false));
    *sum = Quantity(written(before.saturating_add(milli), binary || binary_before));
}

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
const DECIMAL: [(&str, u32); 6] = [("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// The amount in thousandths, rounded up; `None` for an invalid quantity.
#[must_use]
pub fn milli(amount: &Quantity) -> Option<i128> {
    milli_units(&amount.0).map(|(milli, _)| milli)
}

/// The amount in thousandths, rounded up, and whether it is written in powers of two.
fn milli_units(text: &str) -> Option<(i128, bool)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, suffix) = text.split_at(digits);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let parts = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let number: i128 = format!("{whole}{fraction}").parse().ok()?;
    let binary = BINARY.iter().find(|(unit, _)| *unit == suffix);
    let decimal = DECIMAL.iter().find(|(unit, _)| *unit == suffix);
    let unit = match (suffix, binary, decimal) {
        ("", ..) => 1000,
        ("m", ..) => 1,
        (_, Some((_, power)), _) => 1000 << power,
        (_, _, Some((_, power))) => 1000 * 10_i128.pow(*power),
        _ => return None,
    };
    let amount = number.checked_mul(unit)?;
    Some((amount / parts + i128::from(amount % parts != 0), binary.is_some()))
}

/// The canonical form: the largest unit without a remainder.
fn written(milli: i128, binary: bool) -> String {
    if milli % 1000 != 0 {
        return format!("{milli}m");
    }
    let whole = milli / 1000;
    let units: Vec<(&str, i128)> = if binary {
        BINARY.iter().map(|(unit, power)| (*unit, 1 << power)).collect()
    } else {
        DECIMAL.iter().map(|(unit, power)| (*unit, 10_i128.pow(*power))).collect()
    };
    let fitting = units.into_iter().rev().find(|(_, size)| whole != 0 && whole % size == 0);
    fitting.map_or_else(|| whole.to_string(), |(unit, size)| format!("{}{unit}", whole / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_add_up_in_canonical_form() {
        let cases: [(&[&str], &str); 11] = [
            (&["0.5", "1.5"], "2"),
            (&["1.5Gi"], "1536Mi"),
            (&["0.0001"], "1m"),
            (&["4", "4"], "8"),
            (&["500m", "500m"], "1"),
            (&["1500m", "1"], "2500m"),
            (&["8Gi", "8Gi"], "16Gi"),
            (&["512Mi", "1Gi"], "1536Mi"),
            (&["1k", "1"], "1001"),
            (&["110", "nonsense"], "110"),
            (&["0"], "0"),
        ];
        for (amounts, expected) in cases {
            let mut sums = BTreeMap::new();
            for amount in amounts {
                add_quantities(&mut sums, "cpu", &Quantity((*amount).into()));
            }
            assert_eq!(sums["cpu"].0, expected, "{amounts:?}");
        }
    }
}
