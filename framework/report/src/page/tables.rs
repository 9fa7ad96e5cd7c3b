//! The events of a case as an HTML table, for readers without JavaScript.

use std::fmt::Write;
use std::time::Duration;

use capsize_judge::text::clock;

use super::data::CaseData;

/// The table of a case contains this many events at most, so that the page stays small.
const MOST_EVENTS: usize = 400;

/// Text as HTML.
pub(super) fn escaped(text: &str) -> String {
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
    let mut at = 0;
    let events = &data.events;
    let shown = events.at.len().min(MOST_EVENTS);
    for place in 0..shown {
        at += events.at[place];
        let index = |column: &[i64]| usize::try_from(column[place]).ok();
        let workload = index(&events.workload).and_then(|index| data.workloads.get(index));
        let member = index(&events.member).and_then(|index| data.members.get(index));
        let about = workload.map(|lane| &lane.name).or(member.map(|lane| &lane.name));
        let about = about.map(|name| escaped(name)).unwrap_or_default();
        let text = escaped(&data.texts[events.text[place]]);
        let _ = writeln!(html, "<tr><td>{}<td>{about}<td>{text}", clock(Duration::from_micros(at)));
    }
    html.push_str("</table>");
    if events.at.len() > shown {
        let _ = write!(html, "<p>{} more events are in the time line only.</p>", events.at.len() - shown);
    }
    html
}
