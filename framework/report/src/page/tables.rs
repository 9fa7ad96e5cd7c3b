//! The events of a case as an HTML table, for readers without JavaScript.

use std::fmt::Write;
use std::time::Duration;

use capsize_judge::time_format::clock;

use super::data::CaseData;

/// The table of a case contains this many events at most, so that the page stays small.
const MOST_EVENTS: usize = 400;

/// Text as HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The problems and the first events of a case.
pub(super) fn events(data: &CaseData) -> String {
    let mut html = String::new();
    for problem in &data.problems {
        let _ = write!(html, "<p><b>{}</b> {}</p><ul>", escaped(&problem.title), escaped(&problem.sentence));
        for line in &problem.lines {
            let _ = write!(html, "<li>{} {}", line.label, escaped(&line.text));
        }
        html.push_str("</ul>");
    }
    html.push_str("<table>");
    let all = data.events.at.len();
    for event in data.events().take(MOST_EVENTS) {
        let about = event.about.map(escaped).unwrap_or_default();
        let time = clock(Duration::from_micros(event.at));
        let _ = writeln!(html, "<tr><td>{time}<td>{about}<td>{}", escaped(event.text));
    }
    html.push_str("</table>");
    if let more @ 1.. = all.saturating_sub(MOST_EVENTS) {
        let _ = write!(html, "<p>{more} more events are in the time line only.</p>");
    }
    html
}
