//! How times are written, everywhere.

use std::time::Duration;

/// A time of a history, as minutes, seconds and tenths: `08:42.0`.
#[must_use]
pub fn clock(at: Duration) -> String {
    let tenths = at.as_millis() / 100;
    format!("{:02}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
}

/// A length of time, as a person says it: `8 min 38.8 s`, `0.09 s`.
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

/// Without zeros at the end.
fn trimmed(number: &str) -> &str {
    number.trim_end_matches('0').trim_end_matches('.')
}
