//! Formats times for all reports.

use std::time::Duration;

use jiff::SignedDuration;

/// Formats a time of a history as minutes, seconds and tenths: `08:42.0`.
#[must_use]
pub fn clock(at: Duration) -> String {
    let tenths = at.as_millis() / 100;
    format!("{:02}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
}

/// Formats a length of time for people: `8 min 38.8 s`, `0.09 s`.
#[must_use]
pub fn span(time: Duration) -> String {
    let (minutes, seconds) = (time.as_secs() / 60, time.as_secs() % 60);
    let millis = time.subsec_millis();
    let fine = match millis {
        0 => format!("{seconds} s"),
        _ if time < Duration::from_secs(1) => format!("{} s", trimmed(&format!("0.{millis:03}"))),
        _ => format!("{} s", trimmed(&format!("{seconds}.{}", millis / 100))),
    };
    match (minutes, seconds, millis) {
        (0, ..) => fine,
        (60.., ..) => format!("{} h {} min", minutes / 60, minutes % 60),
        (_, 0, 0) => format!("{minutes} min"),
        _ => format!("{minutes} min {fine}"),
    }
}

/// Removes zeros at the end.
fn trimmed(number: &str) -> &str {
    number.trim_end_matches('0').trim_end_matches('.')
}

/// Formats a length of time that may be negative.
#[must_use]
pub fn signed(time: SignedDuration) -> String {
    let sign = if time.is_negative() { "-" } else { "" };
    format!("{sign}{}", span(time.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_written_for_people() {
        let cases = [
            (0, "0 s"),
            (90, "0.09 s"),
            (999, "0.999 s"),
            (1_000, "1 s"),
            (1_590, "1.5 s"),
            (60_000, "1 min"),
            (518_800, "8 min 38.8 s"),
            (600_000, "10 min"),
            (41_880_000, "11 h 38 min"),
        ];
        for (millis, text) in cases {
            assert_eq!(span(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn a_time_of_a_history_is_minutes_seconds_and_tenths() {
        assert_eq!(clock(Duration::from_millis(522_049)), "08:42.0");
        assert_eq!(clock(Duration::from_secs(6_000)), "100:00.0");
    }
}
