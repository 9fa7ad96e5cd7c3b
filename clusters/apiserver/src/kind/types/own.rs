//! Types with their own readers and writers in Go, such as times and quantities.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use super::table::Own;
use capsize_cel::Quantity;

/// The name of the type of a JSON value in messages of Go.
pub(crate) fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn no_text(value: &Value) -> String {
    format!("json: cannot unmarshal {} into Go value of type string", json_type_name(value))
}

/// Checks a value of such a type, and converts it to its canonical form. The caller checks schemas.
///
/// # Errors
/// The message of Go.
pub(super) fn canonicalize(own: Own, value: &mut Value) -> Result<(), String> {
    match own {
        Own::Quantity => {
            if !value.is_string() {
                *value = value.to_string().into();
            }
            let text = value.as_str().unwrap_or_default();
            check_quantity(text)?;
            // An amount that is too large for a `Quantity` stays as it is.
            let canonical = Quantity::parse(text).map(|quantity| quantity.to_string());
            if let Some(canonical) = canonical.filter(|canonical| canonical != text) {
                *value = canonical.into();
            }
        }
        Own::Time | Own::MicroTime => {
            let text = value.as_str().ok_or_else(|| no_text(value))?;
            if let Some(written) = time(text, own == Own::MicroTime)? {
                *value = written.into();
            }
        }
        Own::IntOrString => {
            let whole = value.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
            if !whole && !value.is_string() {
                let shown = match &*value {
                    Value::Number(number) => format!("number {number}"),
                    other => json_type_name(other).to_owned(),
                };
                return Err(format!("json: cannot unmarshal {shown} into Go value of type int32"));
            }
        }
        Own::Duration => drop(value.as_str().ok_or_else(|| no_text(value))?),
        Own::Raw | Own::SchemaOrArray | Own::SchemaOrBool | Own::SchemaOrStrings => {}
    }
    Ok(())
}

/// Returns the message of Go for text that is not a quantity.
fn check_quantity(text: &str) -> Result<(), String> {
    const FORMAT: &str = "quantities must match the regular expression \
                          '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    const SUFFIXES: [&str; 16] =
        ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (number, suffix) =
        unsigned.split_at(unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len()));
    let fits = number.bytes().any(|byte| byte.is_ascii_digit()) && number.matches('.').count() < 2;
    if !fits || !suffix.chars().all(|c| "eEinumkKMGTP+-0123456789".contains(c)) {
        return Err(FORMAT.into());
    }
    let exponent = || suffix.strip_prefix(['e', 'E']).is_some_and(|exponent| exponent.parse::<i32>().is_ok());
    if SUFFIXES.contains(&suffix) || exponent() {
        Ok(())
    } else {
        Err("unable to parse quantity's suffix".into())
    }
}

/// The canonical form of a time; `None` if `text` has that form.
fn time(text: &str, micro: bool) -> Result<Option<String>, String> {
    let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    let refused = |rest: &str, part: &str| {
        format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}")
    };
    let strict = text.len() >= 20 && text.is_ascii() && matches!(text.as_bytes()[10], b'T');
    let at: Timestamp = text.parse().ok().filter(|_| strict).ok_or_else(|| refused(text, "2006"))?;
    let fraction =
        text[19..].strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    if micro && fraction != 6 {
        return Err(refused(&text[19..], ".000000"));
    }
    let written = self::written(at, micro);
    Ok((written != text).then_some(written))
}

/// A time in the format of objects: in UTC, in seconds or microseconds.
pub(super) fn written(at: Timestamp, micro: bool) -> String {
    if micro { format!("{at:.6}") } else { capsize_clock::whole_seconds(at).to_string() }
}

/// Checks bytes, which JSON represents as base64 text.
///
/// # Errors
/// The message of Go for text that is not base64.
pub(super) fn check_base64(text: &str) -> Result<(), String> {
    use base64::DecodeError::{InvalidByte, InvalidLastSymbol};
    let stripped: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    STANDARD.decode(&stripped).map(drop).map_err(|error| {
        let at = match error {
            InvalidByte(at, _) | InvalidLastSymbol(at, _) => at,
            _ => stripped.len() / 4 * 4,
        };
        format!("illegal base64 data at input byte {at}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn own_types_accept_the_same_values_as_go_and_write_one_form() {
        let table = [
            (Own::Quantity, json!(2), json!("2")),
            (Own::Quantity, json!("0.5Gi"), json!("512Mi")),
            (Own::Quantity, json!("-1e3"), json!("-1e3")),
            (Own::Time, json!("2026-01-02T03:04:05Z"), json!("2026-01-02T03:04:05Z")),
            (Own::Time, json!("2026-01-02T03:04:05.678+01:00"), json!("2026-01-02T02:04:05Z")),
            (Own::MicroTime, json!("2026-01-02T03:04:05.678000Z"), json!("2026-01-02T03:04:05.678000Z")),
            (Own::MicroTime, json!("2026-01-02T03:04:05.678000+01:00"), json!("2026-01-02T02:04:05.678000Z")),
            (Own::IntOrString, json!(5), json!(5)),
            (Own::IntOrString, json!("25%"), json!("25%")),
            (Own::Raw, json!({"a": [1]}), json!({"a": [1]})),
        ];
        for (own, mut given, expected) in table {
            canonicalize(own, &mut given).unwrap();
            assert_eq!(given, expected);
        }
    }

    #[test]
    fn own_types_refuse_with_the_messages_of_go() {
        let table = [
            (Own::Quantity, json!("x"), "quantities must match"),
            (Own::Quantity, json!({}), "quantities must match"),
            (Own::Quantity, json!("1.2.3"), "quantities must match"),
            (Own::Quantity, json!("1kk"), "unable to parse quantity's suffix"),
            (Own::Time, json!(5), "json: cannot unmarshal number into Go value of type string"),
            (
                Own::Time,
                json!("soon"),
                r#"parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006""#,
            ),
            (Own::MicroTime, json!("2026-01-02T03:04:05Z"), r#"cannot parse "Z" as ".000000""#),
            (Own::IntOrString, json!(true), "json: cannot unmarshal bool into Go value of type int32"),
            (Own::IntOrString, json!(1.5), "json: cannot unmarshal number 1.5 into Go value of type int32"),
        ];
        for (own, mut given, expected) in table {
            let refusal = canonicalize(own, &mut given).unwrap_err();
            assert!(refusal.contains(expected), "{refusal}");
        }
        assert_eq!(check_base64("YWJj"), Ok(()));
        assert_eq!(check_base64("!!!"), Err("illegal base64 data at input byte 0".into()));
    }
}
