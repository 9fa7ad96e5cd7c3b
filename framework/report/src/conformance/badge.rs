//! Draws the badge of a conformance report: as SVG, and as the JSON that shields.io reads.

use serde_json::json;

use super::claim::ConformanceReport;

/// The left half of the badge.
const LABEL: &str = "failover conformance";

/// The width of a character of the font, about, and the space at both ends of a half.
const CHARACTER: usize = 7;
const PADDING: usize = 10;

/// The right half of the badge, and its colour.
fn message(report: &ConformanceReport) -> (String, &'static str) {
    let totals = report.totals();
    match (report.conforms, totals.failed) {
        (true, _) => (format!("{} cases passed", totals.passed), "brightgreen"),
        (false, 0) => ("core features are missing".to_owned(), "orange"),
        (false, 1) => ("1 case failed".to_owned(), "red"),
        (false, failed) => (format!("{failed} cases failed"), "red"),
    }
}

/// The badge as the endpoint of shields.io reads it.
///
/// # Panics
/// Never: texts are always JSON.
#[must_use]
pub fn badge_json(report: &ConformanceReport) -> String {
    let (message, colour) = message(report);
    let badge = json!({"schemaVersion": 1, "label": LABEL, "message": message, "color": colour});
    serde_json::to_string_pretty(&badge).expect("texts are always JSON") + "\n"
}

/// The badge as a picture.
#[must_use]
pub fn badge_svg(report: &ConformanceReport) -> String {
    let (message, colour) = message(report);
    let colour = match colour {
        "brightgreen" => "#2ea44f",
        "orange" => "#c26a00",
        _ => "#c5221f",
    };
    let width = |text: &str| text.chars().count() * CHARACTER + 2 * PADDING;
    let (left, right) = (width(LABEL), width(&message));
    let (all, label_at, message_at) = (left + right, left / 2, left + right / 2);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{all}" height="20" role="img" aria-label="{LABEL}: {message}">
  <title>{LABEL}: {message}</title>
  <rect width="{all}" height="20" rx="3" fill="#444"/>
  <path d="M{left} 0h{right}v20h-{right}z" fill="{colour}"/>
  <g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
    <text x="{label_at}" y="14">{LABEL}</text>
    <text x="{message_at}" y="14">{message}</text>
  </g>
</svg>
"##
    )
}
