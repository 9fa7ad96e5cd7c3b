//! The time line of a case for a terminal: a picture of its lanes, and its events.

use std::time::Duration;

use capsize_judge::time_format::{clock, span};
use jiff::Timestamp;

use super::builder::CaseTimeline;
use super::data::{CaseData, FaultBand, Micros, Steps, WorkloadLane};
use crate::layout::Page;

/// The columns of the names of the lanes.
const NAMES: usize = 24;

/// The columns of a picture in a wide terminal.
const WIDEST: usize = 120;

const LEGEND: &str = "members: ━ Ready, x NotReady, ? Unknown; E, S: taint NoExecute, NoSchedule; ! fault. workloads: ready \
                      replicas in members that answer (+ for ten and more); = assigned, e evicting, - only a manifest";

impl CaseTimeline {
    /// The time line as text: a picture of the members and workloads, and all events.
    #[must_use]
    pub fn text(&self, title: &str, columns: usize) -> String {
        let data = &self.data;
        let mut page = Page::new(columns);
        let start = data.wall_start.and_then(|start| Timestamp::from_millisecond(start).ok());
        let began = start.map(|start| format!(", begun at {}", start.strftime("%Y-%m-%d %H:%M:%S UTC")));
        let length = span(Duration::from_micros(data.span));
        page.line(&format!("{title} · {length}{}", began.unwrap_or_default()));
        let picture = TextLanes { data, width: columns.min(WIDEST).saturating_sub(NAMES).max(20) };
        picture.draw(&mut page);
        page.line(LEGEND);
        page.blank();
        events(&mut page, data, start);
        page.finish()
    }
}

/// The lanes as lines, one character for each part of the time.
struct TextLanes<'a> {
    data: &'a CaseData,
    width: usize,
}

impl TextLanes<'_> {
    fn draw(&self, page: &mut Page) {
        let end = clock(Duration::from_micros(self.data.span));
        let gap = self.width.saturating_sub(clock(Duration::ZERO).len());
        page.lines(&format!("{:NAMES$}{}{end:>gap$}\n", "", clock(Duration::ZERO)));
        if self.data.faults.iter().any(|fault| fault.member.is_none()) {
            self.faults(page, "control plane", None);
        }
        for member in &self.data.members {
            self.lane(page, &member.name, |at| match member.health.at(at) {
                Some(&"Ready") => '━',
                Some(&"NotReady") => 'x',
                Some(&"Unknown") => '?',
                _ => ' ',
            });
            let has = |at, effect| {
                let mut of = member.taints.iter().filter(|taint| taint.effect == effect);
                of.any(|taint| taint.present.at(at) == Some(&true))
            };
            if !member.taints.is_empty() {
                self.lane(page, "  taints", |at| match (has(at, "NoExecute"), has(at, "NoSchedule")) {
                    (true, _) => 'E',
                    (false, true) => 'S',
                    _ => ' ',
                });
            }
            if self.data.faults.iter().any(|fault| fault.member.as_ref() == Some(&member.name)) {
                self.faults(page, "  faults", Some(&member.name));
            }
        }
        self.data.workloads.iter().for_each(|workload| self.workload(page, workload));
    }

    fn workload(&self, page: &mut Page, workload: &WorkloadLane) {
        let has_replicas = workload.replicas.values().any(|(asked, ready, _)| asked + ready > 0);
        self.lane(page, &workload.name, |at| match workload.replicas.at(at) {
            Some((_, _, reachable)) if has_replicas => {
                u32::try_from(*reachable).ok().and_then(|ready| char::from_digit(ready, 10)).unwrap_or('+')
            }
            _ => ' ',
        });
        if workload.lost >= 0.5 {
            page.line(&format!("  lost {:.0} replica-seconds", workload.lost));
        }
        for place in &workload.places {
            let assigned = |at| place.assigned.at(at).is_some_and(Option::is_some);
            let task = |at| place.task.at(at).is_some_and(Option::is_some);
            self.lane(page, &format!("  {}", place.member), |at| match (task(at), assigned(at)) {
                (true, _) => 'e',
                (false, true) => '=',
                _ if place.manifest.at(at).is_some_and(|manifest| !manifest.is_empty()) => '-',
                _ => ' ',
            });
        }
    }

    fn faults(&self, page: &mut Page, name: &str, member: Option<&str>) {
        let hits = |fault: &&FaultBand| fault.member.as_deref() == member;
        let is_hit = |at: Micros| {
            let mut faults = self.data.faults.iter().filter(hits);
            faults.any(|fault| fault.from <= at && fault.to.is_none_or(|to| at < to))
        };
        self.lane(page, name, |at| if is_hit(at) { '!' } else { ' ' });
    }

    /// One lane. A name that is too long is cut off.
    fn lane(&self, page: &mut Page, name: &str, symbol: impl Fn(Micros) -> char) {
        let name: String = name.chars().take(NAMES - 1).collect();
        let width = self.width as u64;
        let middle = |column: u64| self.data.span.saturating_mul(2 * column + 1) / (2 * width);
        let lane: String = (0..width).map(|column| symbol(middle(column))).collect();
        page.lines(&format!("{}\n", format!("{name:NAMES$}{lane}").trim_end()));
    }
}

impl<Value> Steps<Value> {
    /// The value at a time; `None` before the first.
    fn at(&self, at: Micros) -> Option<&Value> {
        let steps = self.steps();
        let place = steps.partition_point(|(time, _)| *time <= at);
        place.checked_sub(1).map(|place| &steps[place].1)
    }

    fn values(&self) -> impl Iterator<Item = &Value> {
        self.steps().iter().map(|(_, value)| value)
    }
}

/// All events, each with the time of the history, and the time of day if it is known.
fn events(page: &mut Page, data: &CaseData, start: Option<Timestamp>) {
    for event in data.events() {
        let day = start.and_then(|start| start.checked_add(Duration::from_micros(event.at)).ok());
        let day = day.map(|day| day.strftime("%H:%M:%S  ").to_string()).unwrap_or_default();
        let about = event.about.map(|about| format!("{about}: ")).unwrap_or_default();
        page.wrapped(
            &format!("{}  {day}", clock(Duration::from_micros(event.at))),
            &format!("{about}{}", event.text),
        );
    }
}
