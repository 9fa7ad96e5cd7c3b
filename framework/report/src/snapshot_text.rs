//! The state of a running fleet as text.

use super::Page;
use super::snapshot::{MemberState, PlaceState, Snapshot, TaintState};

/// The state of a fleet as text of at most so many columns.
#[must_use]
pub fn snapshot_text(snapshot: &Snapshot, columns: usize) -> String {
    let mut page = Page::new(columns);
    page.line(&heading(snapshot));
    for fault in &snapshot.faults {
        page.wrapped("  fault ", fault);
    }
    let width = snapshot.members.iter().map(|member| member.name.chars().count()).max().unwrap_or_default();
    for member in &snapshot.members {
        page.wrapped(&format!("  {:<width$} ", member.name), &member_line(member));
    }
    for workload in &snapshot.workloads {
        page.line(&format!("{} {}/{} ready", workload.name, workload.ready, workload.requested));
        for place in &workload.places {
            page.wrapped(&format!("  {:<width$} ", place.member), &place_line(place));
        }
    }
    page.finish()
}

/// `up for 00:01:40, 12:00:01 UTC, speed 60`; a case of a run is named before it.
pub(super) fn heading(snapshot: &Snapshot) -> String {
    let seconds = snapshot.at_seconds as u64;
    let case = snapshot.case.as_ref().map(|case| format!("{case}, ")).unwrap_or_default();
    format!(
        "{case}up for {:02}:{:02}:{:02}, {} UTC, speed {}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        snapshot.time,
        snapshot.speed
    )
}

/// `NotReady, not-ready:NoExecute evicts in 4 min 12 s, fault refuse since 00:03.0`.
pub(super) fn member_line(member: &MemberState) -> String {
    let health = if member.health.is_empty() { "not reported yet" } else { &member.health };
    let taints = member.taints.iter().map(taint_text);
    let faults = member.faults.iter().map(|fault| format!("fault {fault}"));
    std::iter::once(health.to_owned()).chain(taints).chain(faults).collect::<Vec<_>>().join(", ")
}

/// `not-ready:NoExecute evicts in 252 s`.
pub(super) fn taint_text(taint: &TaintState) -> String {
    match taint.left_seconds {
        Some(left) if left > 0.0 => format!("{} evicts in {left:.0} s", taint.name),
        Some(_) => format!("{} evicts now", taint.name),
        None => taint.name.clone(),
    }
}

/// `2 assigned, 2 ready, evicting: TaintUntolerated, timeout in 600 s`.
pub(super) fn place_line(place: &PlaceState) -> String {
    let assigned =
        place.assigned.map_or_else(|| "not assigned".to_owned(), |count| format!("{count} assigned"));
    let mut line = format!("{assigned}, {} ready", place.ready);
    if let Some(reason) = &place.eviction {
        line.push_str(", evicting: ");
        line.push_str(reason);
    }
    if let Some(left) = place.timeout_seconds {
        line.push_str(&format!(", timeout in {left:.0} s"));
    }
    line
}
