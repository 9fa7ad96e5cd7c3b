//! Quantities: amounts with a suffix, such as `500m` and `1Gi`.
//!
//! They are compared by amount, and written in one canonical form.

use serde_json::Value;

/// An amount in billionths, and the family of suffixes with which it was written.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    billionths: i128,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Decimal,
    Binary,
    Exponent,
}

const UNIT: i128 = 1_000_000_000;
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl Quantity {
    /// Parses a quantity; `None` if the text is invalid or the amount is too large.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (form, factor) = suffix_of(suffix)?;
        let billionths = scaled(number, factor)?;
        Some(Self { billionths: if negative { -billionths } else { billionths }, form })
    }

    /// Reads a quantity from an object, which may contain a number.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    /// The amount in billionths.
    #[must_use]
    pub fn amount(self) -> i128 {
        self.billionths
    }
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whole = self.billionths / UNIT;
        let fits_binary = self.billionths % UNIT == 0 && whole.abs() >= 1024;
        if self.form == Form::Binary && fits_binary {
            let (mut number, mut power) = (whole, 0);
            while number % 1024 == 0 && power + 1 < BINARY.len() {
                (number, power) = (number / 1024, power + 1);
            }
            return write!(f, "{number}{}", BINARY[power]);
        }
        if self.billionths == 0 {
            return f.write_str("0");
        }
        let (mut number, mut index) = (self.billionths, 0);
        while number % 1000 == 0 && index + 1 < DECIMAL.len() {
            (number, index) = (number / 1000, index + 1);
        }
        match DECIMAL[index] {
            (_, power) if self.form == Form::Exponent && power != 0 => write!(f, "{number}e{power}"),
            (suffix, _) => write!(f, "{number}{suffix}"),
        }
    }
}

/// The family and the factor of a suffix: a power of ten, or of 1024.
fn suffix_of(suffix: &str) -> Option<(Form, Factor)> {
    if let Some(power) = BINARY.iter().skip(1).position(|known| *known == suffix) {
        return Some((Form::Binary, Factor::Binary(u32::try_from(power + 1).ok()?)));
    }
    if let Some((_, power)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Some((Form::Decimal, Factor::Ten(*power)));
    }
    let power = suffix.strip_prefix(['e', 'E'])?;
    Some((Form::Exponent, Factor::Ten(power.parse().ok()?)))
}

enum Factor {
    Ten(i32),
    Binary(u32),
}

/// A decimal number times a factor, in billionths, rounded up.
fn scaled(number: &str, factor: Factor) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let mantissa: i128 = digits.parse().ok()?;
    let mut ten = 9 - i32::try_from(fraction.len()).ok()?;
    let mut amount = mantissa;
    match factor {
        Factor::Ten(power) => ten = ten.checked_add(power)?,
        Factor::Binary(power) => amount = amount.checked_mul(1024_i128.checked_pow(power)?)?,
    }
    if amount == 0 {
        return Some(0);
    }
    if ten >= 0 {
        return amount.checked_mul(10_i128.checked_pow(ten.unsigned_abs())?);
    }
    let divisor = 10_i128.checked_pow(ten.unsigned_abs()).unwrap_or(i128::MAX);
    Some(amount / divisor + i128::from(amount % divisor != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_has_one_canonical_form() {
        let table = [
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("1024Mi", "1Gi"),
            ("1000Ki", "1000Ki"),
            ("1.5Gi", "1536Mi"),
            ("512Ki", "512Ki"),
            ("1Ki", "1Ki"),
            ("0", "0"),
            ("-1", "-1"),
            ("1e3", "1e3"),
            ("1000k", "1M"),
            ("128974848", "128974848"),
            ("0.5Ki", "512"),
            ("1n", "1n"),
            ("0.1n", "1n"),
        ];
        for (text, canonical) in table {
            assert_eq!(Quantity::parse(text).unwrap().to_string(), canonical, "{text}");
        }
        for bad in ["", "x", "1x", ".", "1.2.3", "1 Gi", "e3", "99999999999999999999999999999999999999E"] {
            assert!(Quantity::parse(bad).is_none(), "{bad}");
        }
        assert_eq!(Quantity::parse("1Gi").unwrap().amount(), Quantity::parse("1024Mi").unwrap().amount());
    }
}
