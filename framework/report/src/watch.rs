//! Draws the state of a running fleet over the whole terminal.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Wrap};

use super::snapshot::{MemberState, PlaceState, Snapshot, WorkloadState};
use super::snapshot_text::{heading, place_line, taint_text};

/// The lines of the list of events, with its frame.
const EVENT_LINES: u16 = 8;

/// Draws `snapshot`.
/// The first `skipped` lines of the state are left out, because a reader has moved down.
pub fn draw_watch(frame: &mut Frame<'_>, snapshot: &Snapshot, skipped: u16) {
    let parts =
        [Constraint::Length(1), Constraint::Min(3), Constraint::Length(EVENT_LINES), Constraint::Length(1)];
    let [head, state, events, keys] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(heading(snapshot)).style(Modifier::BOLD), head);
    let lines = state_lines(snapshot);
    frame.render_widget(
        Paragraph::new(lines).scroll((skipped, 0)).block(Block::bordered().title("members and workloads")),
        state,
    );
    let shown = usize::from(EVENT_LINES.saturating_sub(2));
    let from = snapshot.events.len().saturating_sub(shown);
    let latest: Vec<Line<'_>> =
        snapshot.events[from..].iter().map(|event| Line::raw(event.as_str())).collect();
    let latest = Paragraph::new(latest).wrap(Wrap { trim: false });
    frame.render_widget(latest.block(Block::bordered().title("events")), events);
    frame.render_widget(Paragraph::new("q quits, arrows move"), keys);
}

/// The number of lines of the state, by which a reader can move.
#[must_use]
pub fn watch_lines(snapshot: &Snapshot) -> u16 {
    u16::try_from(state_lines(snapshot).len()).unwrap_or(u16::MAX)
}

fn state_lines(snapshot: &Snapshot) -> Vec<Line<'_>> {
    let width = snapshot.members.iter().map(|member| member.name.chars().count()).max().unwrap_or_default();
    let mut lines: Vec<Line<'_>> =
        snapshot.faults.iter().map(|fault| failing(format!("fault {fault}"))).collect();
    lines.extend(snapshot.members.iter().map(|member| member_line(member, width)));
    for workload in &snapshot.workloads {
        lines.push(workload_line(workload));
        lines.extend(workload.places.iter().map(|place| placed(place, width)));
    }
    lines
}

fn member_line(member: &MemberState, width: usize) -> Line<'_> {
    let (health, colour) = match member.health.as_str() {
        "" => ("not reported yet", Color::DarkGray),
        "Ready" => ("Ready", Color::Green),
        "NotReady" => ("NotReady", Color::Red),
        other => (other, Color::Yellow),
    };
    let mut spans = vec![Span::raw(format!("{:<width$} ", member.name)), Span::styled(health, colour)];
    for taint in &member.taints {
        let style = if taint.evicts { Style::from(Color::Red) } else { Style::from(Color::Yellow) };
        spans.push(Span::styled(format!(", {}", taint_text(taint)), style));
    }
    for fault in &member.faults {
        spans.push(Span::styled(format!(", fault {fault}"), Modifier::REVERSED));
    }
    Line::from(spans)
}

fn workload_line(workload: &WorkloadState) -> Line<'_> {
    let colour = if workload.ready < workload.requested { Color::Red } else { Color::Green };
    let count = format!(" {}/{} ready", workload.ready, workload.requested);
    Line::from(vec![Span::styled(workload.name.as_str(), Modifier::BOLD), Span::styled(count, colour)])
}

fn placed(place: &PlaceState, width: usize) -> Line<'_> {
    let colour = if place.eviction.is_some() { Color::Yellow } else { Color::Reset };
    Line::styled(format!("  {:<width$} {}", place.member, place_line(place)), colour)
}

fn failing(text: String) -> Line<'static> {
    Line::styled(text, Modifier::REVERSED)
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::TaintState;

    fn snapshot() -> Snapshot {
        let taint =
            TaintState { name: "not-ready:NoExecute".into(), evicts: true, left_seconds: Some(252.0) };
        let broken = MemberState {
            name: "member1".into(),
            health: "NotReady".into(),
            taints: vec![taint],
            faults: vec!["refuse since 00:03.0".into()],
        };
        let whole = MemberState { name: "member2".into(), health: "Ready".into(), ..MemberState::default() };
        let leaving = PlaceState {
            member: "member1".into(),
            ready: 2,
            eviction: Some("TaintUntolerated".into()),
            timeout_seconds: Some(600.0),
            ..PlaceState::default()
        };
        let workload = WorkloadState {
            name: "Deployment default/web".into(),
            requested: 4,
            ready: 2,
            places: vec![leaving],
        };
        Snapshot {
            case: None,
            at_seconds: 100.0,
            time: "12:00:01".into(),
            speed: 60.0,
            members: vec![broken, whole],
            workloads: vec![workload],
            events: vec!["01:30.0 member1 NotReady".into()],
            ..Snapshot::default()
        }
    }

    #[test]
    fn the_view_shows_members_taints_evictions_and_events() {
        let mut terminal = Terminal::new(TestBackend::new(80, 20)).unwrap();
        let snapshot = snapshot();
        terminal.draw(|frame| draw_watch(frame, &snapshot, 0)).unwrap();
        let lines: Vec<String> = format!("{}", terminal.backend()).lines().map(str::to_owned).collect();
        let has = |text: &str| lines.iter().any(|line| line.contains(text));
        for text in [
            "up for 00:01:40, 12:00:01 UTC, speed 60",
            "member1 NotReady, not-ready:NoExecute evicts in 252 s, fault refuse since",
            "member2 Ready",
            "Deployment default/web 2/4 ready",
            "member1 not assigned, 2 ready, evicting: TaintUntolerated, timeout in 600 s",
            "01:30.0 member1 NotReady",
            "q quits",
        ] {
            assert!(has(text), "{text}: {lines:#?}");
        }
    }

    #[test]
    fn a_small_terminal_shows_the_lines_that_a_reader_moves_to() {
        let mut terminal = Terminal::new(TestBackend::new(40, 14)).unwrap();
        let snapshot = snapshot();
        terminal.draw(|frame| draw_watch(frame, &snapshot, watch_lines(&snapshot) - 1)).unwrap();
        let shown = format!("{}", terminal.backend());
        assert!(shown.contains("member1 not assigned") && !shown.contains("member2"), "{shown}");
    }
}
