//! Formats the numbers for an operator: as text, and as a part of the JSON document.

use std::collections::BTreeMap;
use std::time::Duration;

use capsize_sorted::CollectSorted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Report;
use super::layout::Page;
use capsize_judge::numbers::{Numbers, Outage, Percentiles, Summary, WorkloadEffect, WorkloadNumbers};
use capsize_judge::time_format::{clock, span};

/// The numbers of all cases together: the sheet of a release.
pub(super) fn sheet(report: &Report) -> Summary {
    let mut sheet = Summary::default();
    for judgement in report.cases.iter().filter_map(|case| case.judgement.as_ref()) {
        sheet.add(&judgement.numbers.summary);
    }
    sheet
}

/// A table, and what is not a length of time; nothing where there was no outage.
pub(super) fn add(page: &mut Page, sheet: &Summary) {
    if sheet.outages == 0 {
        return;
    }
    let heads = ("after a member fails, it is", "times", "p50", "p95", "max");
    page.line(&format!("{:<28} {:>6} {:>14} {:>14} {:>14}", heads.0, heads.1, heads.2, heads.3, heads.4));
    for (milestone, Percentiles { count, p50, p95, max }) in sheet.overall() {
        let (p50, p95, max) = (span(p50), span(p95), span(max));
        page.line(&format!("  {:<26} {count:>6} {p50:>14} {p95:>14} {max:>14}", milestone.name()));
    }
    let outages = |count: u64| if count == 1 { "1 outage".to_owned() } else { format!("{count} outages") };
    if sheet.undetected > 0 {
        let longest = span(sheet.longest_undetected);
        page.line(&format!("{} ended unnoticed, the longest of {longest}", outages(sheet.undetected)));
    }
    let copies = copies(&sheet.workloads);
    if !copies.is_empty() {
        page.wrapped("", &copies);
    }
}

/// The numbers about copies of workloads, without those that are zero.
fn copies(copies: &WorkloadNumbers) -> String {
    let replica_seconds = |what: &str, number: f64| {
        let number = number.round();
        (number > 0.0).then(|| format!("{what} {number} replica-seconds"))
    };
    let count = |number: u64, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{number} {many}")),
    };
    let time = |what: &str, time: Duration| (!time.is_zero()).then(|| format!("{what} for {}", span(time)));
    let parts = [
        replica_seconds("lost", copies.lost_replica_seconds),
        replica_seconds("ran twice for", copies.double_run_seconds),
        time("ready nowhere", copies.zero_run),
        time("only out of reach", copies.out_of_reach),
        count(copies.extra_evictions, "extra eviction", "extra evictions"),
        count(copies.undone_moves, "move undone", "moves undone"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Every outage of one history, and what it did to each workload.
pub(super) fn outages(page: &mut Page, numbers: &Numbers) {
    for outage in &numbers.outages {
        let Outage { member, fault, began, .. } = outage;
        let lasted = outage.lasted.map_or("to the end".to_owned(), |lasted| format!("for {}", span(lasted)));
        let noticed = match outage.detected {
            Some(detected) => format!("detected after {}", span(detected)),
            None => "unnoticed".to_owned(),
        };
        let tainted = outage.tainted.map(|tainted| format!(", tainted after {}", span(tainted)));
        let tainted = tainted.unwrap_or_default();
        page.line(&format!("  {fault} {member} at {} {lasted}: {noticed}{tainted}", clock(*began)));
        for each in outage.moves.iter().filter(|each| each.evicted.is_some()) {
            let steps = milestones(each).filter_map(|(name, time)| Some(format!("{name} {}", span(time?))));
            page.line(&format!("    {}: {}", each.workload, steps.collect::<Vec<_>>().join(", ")));
        }
    }
}

fn milestones(each: &WorkloadEffect) -> impl Iterator<Item = (&'static str, Option<Duration>)> {
    let WorkloadEffect { evicted, placed, served, gone, .. } = each;
    [("evicted", *evicted), ("placed", *placed), ("served", *served), ("gone", *gone)].into_iter()
}

/// The sheet, as JSON has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SheetJson {
    pub(super) outages: u64,
    undetected: u64,
    longest_undetected_seconds: f64,
    /// By milestone, then by the kind of fault; `all` is all kinds together.
    pub(super) seconds: BTreeMap<String, BTreeMap<String, SpreadJson>>,
    #[serde(flatten)]
    copies: CopiesJson,
}

/// The distribution of durations, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct SpreadJson {
    pub(super) count: u64,
    pub(super) p50: f64,
    pub(super) p95: f64,
    pub(super) max: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CopiesJson {
    double_run_replica_seconds: f64,
    lost_replica_seconds: f64,
    zero_run_seconds: f64,
    out_of_reach_seconds: f64,
    evictions: u64,
    extra_evictions: u64,
    undone_moves: u64,
}

/// The numbers of one case, as JSON has them.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NumbersJson {
    outages: Vec<OutageJson>,
    workloads: BTreeMap<String, CopiesJson>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OutageJson {
    member: String,
    fault: String,
    began_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lasted_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detected_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tainted_seconds: Option<f64>,
    /// By workload, then by milestone; those that were not evicted are left out.
    moved_seconds: BTreeMap<String, BTreeMap<&'static str, f64>>,
}

impl From<&Summary> for SheetJson {
    fn from(sheet: &Summary) -> Self {
        let mut seconds: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (milestone, spread) in sheet.overall() {
            seconds.entry(milestone.name().to_owned()).or_default().insert("all".to_owned(), spread.into());
        }
        for (milestone, fault, spread) in sheet.by_fault() {
            seconds.entry(milestone.name().to_owned()).or_default().insert(fault.to_owned(), spread.into());
        }
        Self {
            outages: sheet.outages,
            undetected: sheet.undetected,
            longest_undetected_seconds: sheet.longest_undetected.as_secs_f64(),
            seconds,
            copies: (&sheet.workloads).into(),
        }
    }
}

impl From<Percentiles> for SpreadJson {
    fn from(Percentiles { count, p50, p95, max }: Percentiles) -> Self {
        Self { count, p50: p50.as_secs_f64(), p95: p95.as_secs_f64(), max: max.as_secs_f64() }
    }
}

impl From<&WorkloadNumbers> for CopiesJson {
    fn from(copies: &WorkloadNumbers) -> Self {
        Self {
            double_run_replica_seconds: copies.double_run_seconds,
            lost_replica_seconds: copies.lost_replica_seconds,
            zero_run_seconds: copies.zero_run.as_secs_f64(),
            out_of_reach_seconds: copies.out_of_reach.as_secs_f64(),
            evictions: copies.evictions,
            extra_evictions: copies.extra_evictions,
            undone_moves: copies.undone_moves,
        }
    }
}

impl From<&Numbers> for NumbersJson {
    fn from(numbers: &Numbers) -> Self {
        let outages = numbers.outages.iter().map(OutageJson::from).collect();
        let workloads = numbers.workloads.iter();
        let workloads = workloads.map(|(key, copies)| (key.to_string(), copies.into())).collect_sorted();
        Self { outages, workloads }
    }
}

impl From<&Outage> for OutageJson {
    fn from(outage: &Outage) -> Self {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let moved = outage.moves.iter().filter(|each| each.evicted.is_some()).map(|each| {
            let steps = milestones(each).filter_map(|(name, time)| Some((name, time?.as_secs_f64())));
            (each.workload.to_string(), steps.collect_sorted())
        });
        Self {
            member: outage.member.clone(),
            fault: outage.fault.clone(),
            began_seconds: outage.began.as_secs_f64(),
            lasted_seconds: seconds(outage.lasted),
            detected_seconds: seconds(outage.detected),
            tainted_seconds: seconds(outage.tainted),
            moved_seconds: moved.collect_sorted(),
        }
    }
}
