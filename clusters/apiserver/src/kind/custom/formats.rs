//! The text formats that schemas can require.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns true if a text has the format. An unknown format accepts every text.
pub(super) fn has_format(text: &str, format: &str) -> bool {
    match format {
        "date-time" => capsize_clock::parse_time(text).is_some(),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => is_duration(text),
        "byte" => is_base64(text),
        "email" => text.split_once('@').is_some_and(|(user, host)| {
            !user.is_empty() && !host.is_empty() && !text.contains([' ', ',', '<']) && !host.contains('@')
        }),
        "hostname" => is_hostname(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uri" => is_uri(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        "bsonobjectid" => text.len() == 24 && is_hex(text),
        "hexcolor" => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            matches!(digits.len(), 3 | 6) && is_hex(digits)
        }
        "rgbcolor" => is_rgb(text),
        "ssn" => is_ssn(text),
        "creditcard" => is_credit_card(text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "k8s-short-name" => crate::validation::metadata::is_dns_label(text) && text.len() <= 63,
        "k8s-long-name" => crate::validation::metadata::is_subdomain(text) && text.len() <= 253,
        _ => true,
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_base64(text: &str) -> bool {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(text).is_ok()
}

/// A duration as Go writes it, such as `1h30m`, or a number and a word, such as `2 days`.
fn is_duration(text: &str) -> bool {
    const UNITS: [&str; 7] = ["ns", "us", "µs", "ms", "s", "m", "h"];
    const WORDS: [&str; 8] = ["ns", "us", "ms", "s", "m", "h", "d", "w"];
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if let Some((number, unit)) = rest.split_once(' ') {
        let unit = unit.trim().to_lowercase();
        let long =
            ["nano", "micro", "milli", "second", "sec", "minute", "min", "hour", "hr", "day", "week", "wk"];
        return is_digits(number)
            && (WORDS.contains(&&*unit) || long.iter().any(|word| unit.starts_with(word)));
    }
    let mut parts = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, next) = tail.split_at(unit_end);
        let days = matches!(unit, "d" | "w");
        if number.parse::<f64>().is_err() || !(UNITS.contains(&unit) || days) {
            return false;
        }
        (rest, parts) = (next, parts + 1);
    }
    parts > 0
}

fn is_hostname(text: &str) -> bool {
    let label = |label: &str| {
        let ends = label.bytes().next().zip(label.bytes().last());
        let word = |byte: u8| byte.is_ascii_alphanumeric();
        ends.is_some_and(|(first, last)| word(first) && word(last))
            && label.len() <= 63
            && label.bytes().all(|byte| word(byte) || byte == b'-')
    };
    text.len() <= 255 && text.strip_suffix('.').unwrap_or(text).split('.').all(label)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    is_digits(bits) && bits.len() <= 3 && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize, counts: &[usize]| {
        let groups: Vec<_> = text.split(separator).collect();
        counts.contains(&groups.len()) && groups.iter().all(|group| group.len() == width && is_hex(group))
    };
    groups(':', 2, &[6, 8, 20]) || groups('-', 2, &[6, 8, 20]) || groups('.', 4, &[3, 4, 10])
}

/// An absolute URI, or a path from the root.
fn is_uri(text: &str) -> bool {
    let clean = !text.is_empty() && !text.chars().any(|c| c.is_control() || c == ' ');
    let scheme = text.split_once(':').is_some_and(|(scheme, _)| {
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(inner)
    });
    clean && (scheme || text.starts_with('/'))
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    let plain: String = text.split('-').collect();
    let dashed: Vec<_> = text.split('-').map(str::len).collect();
    let form = plain.len() == 32 && is_hex(&plain) && (dashed == [8, 4, 4, 4, 12] || dashed == [32]);
    let variant = || plain.chars().nth(16).is_some_and(|c| "89abAB".contains(c));
    form && version
        .is_none_or(|version| plain.chars().nth(12) == Some(version) && (version == '3' || variant()))
}

fn is_rgb(text: &str) -> bool {
    let inner = text.strip_prefix("rgb(").and_then(|text| text.strip_suffix(')'));
    inner.is_some_and(|inner| {
        let parts: Vec<_> = inner.split(',').map(str::trim).collect();
        parts.len() == 3 && parts.iter().all(|part| part.parse::<u8>().is_ok())
    })
}

fn is_ssn(text: &str) -> bool {
    let digits: String = text.chars().filter(|c| !matches!(c, '-' | ' ')).collect();
    let at = |index: usize| text.chars().nth(index).is_some_and(|c| matches!(c, '-' | ' '));
    let separators = text.len() - digits.len();
    is_digits(&digits)
        && digits.len() == 9
        && (separators == 0 || (separators == 2 && at(3) && at(6)) || (separators == 1 && (at(3) || at(5))))
}

fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let known = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | ' '));
    let doubled = |(index, digit): (usize, &u32)| match (index % 2, digit * 2) {
        (0, _) => *digit,
        (_, twice) if twice > 9 => twice - 9,
        (_, twice) => twice,
    };
    let sum: u32 = digits.iter().rev().enumerate().map(doubled).sum();
    known && (13..=19).contains(&digits.len()) && sum.is_multiple_of(10)
}

fn is_isbn10(text: &str) -> bool {
    let text: String = text.chars().filter(|c| !matches!(c, '-' | ' ')).collect();
    let value = |(index, c): (usize, char)| match (index, c) {
        (9, 'X') => Some(10),
        _ => c.to_digit(10),
    };
    let values: Option<Vec<u32>> = text.chars().enumerate().map(value).collect();
    let sum = |values: &[u32]| (1..).zip(values).map(|(weight, value)| weight * value).sum::<u32>();
    values.is_some_and(|values| values.len() == 10 && sum(&values).is_multiple_of(11))
}

fn is_isbn13(text: &str) -> bool {
    let values: Option<Vec<u32>> =
        text.chars().filter(|c| !matches!(c, '-' | ' ')).map(|c| c.to_digit(10)).collect();
    let sum =
        |values: &[u32]| [1, 3].iter().cycle().zip(values).map(|(weight, value)| weight * value).sum::<u32>();
    values.is_some_and(|values| values.len() == 13 && sum(&values).is_multiple_of(10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_checked_against_their_format() {
        let table: [(&str, &[&str], &[&str]); 17] = [
            ("date-time", &["2024-01-02T03:04:05Z", "2024-01-02T03:04:05.5+02:00"], &["2024-01-02", "now"]),
            ("date", &["2024-02-29"], &["2023-02-29", "20240101"]),
            ("duration", &["1h30m", "0", "-1.5s", "2 days", "3d"], &["", "1", "h", "1x"]),
            ("byte", &["aGk=", ""], &["a", "a?=="]),
            ("email", &["a@b.c"], &["a", "@b", "a b@c"]),
            ("hostname", &["a.b-c", "A.b."], &["-a", "a_b", ""]),
            ("ipv4", &["1.2.3.4"], &["1.2.3", "::1", "01.2.3.4"]),
            ("ipv6", &["::1"], &["1.2.3.4", ":::"]),
            ("cidr", &["10.0.0.0/8", "::/0"], &["10.0.0.0", "10.0.0.0/33", "x/8"]),
            ("mac", &["01:23:45:67:89:ab", "0123.4567.89ab"], &["01:23", "zz:23:45:67:89:ab"]),
            ("uri", &["https://a.b/c", "/x"], &["a b", "x", ""]),
            (
                "uuid",
                &["cbcd3e7c-12e4-4d3e-8d57-0f4b4a4c6a6b"],
                &["cbcd3e7c", "cbcd3e7c-12e44d3e-8d57-0f4b4a4c6a6b"],
            ),
            ("uuid4", &["cbcd3e7c-12e4-4d3e-8d57-0f4b4a4c6a6b"], &["cbcd3e7c-12e4-5d3e-8d57-0f4b4a4c6a6b"]),
            ("hexcolor", &["#fff", "00ff00"], &["#ff", "#xyz"]),
            ("rgbcolor", &["rgb(1, 2,3)"], &["rgb(1,2)", "rgb(256,0,0)"]),
            ("isbn", &["0-306-40615-2", "978-3-16-148410-0"], &["0306406153", "x"]),
            ("password", &["anything"], &[]),
        ];
        for (format, good, bad) in table {
            good.iter().for_each(|text| assert!(has_format(text, format), "{format} {text}"));
            bad.iter().for_each(|text| assert!(!has_format(text, format), "{format} {text}"));
        }
    }
}
