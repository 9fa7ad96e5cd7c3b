//! Compares the numbers of two reports: which step of a failover became slower.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use capsize_judge::time_format::span;

use super::layout::Page;

/// The numbers of a report, as `report.json` has them.
#[derive(Debug, Deserialize)]
pub struct ReportNumbers {
    numbers: SheetNumbers,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SheetNumbers {
    /// By milestone, then by the kind of fault; `all` is all kinds together.
    #[serde(default)]
    seconds: BTreeMap<String, BTreeMap<String, SpreadNumbers>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct SpreadNumbers {
    p50: f64,
    p95: f64,
}

/// The comparison of two reports.
#[derive(Debug)]
pub struct Regression {
    /// The comparison as a table.
    pub text: String,
    /// Whether a time became slower by more than the allowed percentage, or is missing now.
    pub is_slower: bool,
    /// Whether there was a time to compare.
    pub is_tested: bool,
}

/// Differences below this are not counted, because times of a run are observed within it.
const SMALLEST: f64 = 0.001;

/// Compares the 95th percentile of each step of a failover with that of `base`.
/// A step fails if it became slower by more than `percent`, or if `now` lacks it.
#[must_use]
pub fn regression(base: &ReportNumbers, now: &ReportNumbers, percent: f64, columns: usize) -> Regression {
    let mut page = Page::new(columns);
    let heads = ("p95 after a member fails", "base", "now", "change");
    page.line(&format!("{:<28} {:>14} {:>14} {:>10}", heads.0, heads.1, heads.2, heads.3));
    let (mut is_slower, mut is_tested) = (false, false);
    for (milestone, spreads) in &base.numbers.seconds {
        let Some(was) = spreads.get("all") else { continue };
        is_tested = true;
        let is = now.numbers.seconds.get(milestone).and_then(|spreads| spreads.get("all"));
        let text = |seconds: f64| span(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        let Some(is) = is else {
            is_slower = true;
            page.line(&format!("  {milestone:<26} {:>14} {:>14}  SLOWER", text(was.p95), "never"));
            continue;
        };
        let change = if was.p95 > 0.0 { 100.0 * (is.p95 - was.p95) / was.p95 } else { 0.0 };
        let exceeds = is.p95 > was.p95 * (1.0 + percent / 100.0) + SMALLEST;
        is_slower |= exceeds;
        let mark = if exceeds { "  SLOWER" } else { "" };
        let (was, is) = (text(was.p95), text(is.p95));
        page.line(&format!("  {milestone:<26} {was:>14} {is:>14} {change:>+9.1}%{mark}"));
    }
    Regression { text: page.finish(), is_slower, is_tested }
}

/// The numbers of a report as a table.
#[must_use]
pub fn report_numbers(numbers: &ReportNumbers, columns: usize) -> String {
    let mut page = Page::new(columns);
    page.line(&format!("{:<28} {:>14} {:>14}", "after a member fails, it is", "p50", "p95"));
    for (milestone, spreads) in &numbers.numbers.seconds {
        let Some(SpreadNumbers { p50, p95 }) = spreads.get("all") else { continue };
        let text = |seconds: f64| span(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        page.line(&format!("  {milestone:<26} {:>14} {:>14}", text(*p50), text(*p95)));
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn numbers(p95: f64) -> ReportNumbers {
        let seconds = json!({"detected": {"all": {"count": 2, "p50": 1.0, "p95": p95, "max": p95}}});
        serde_json::from_value(json!({"numbers": {"seconds": seconds}}))
            .unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_step_that_became_slower_by_more_than_the_percentage_fails() {
        let compared = |was: f64, is: f64| regression(&numbers(was), &numbers(is), 10.0, 80);
        assert!(!compared(10.0, 11.0).is_slower);
        assert!(compared(10.0, 11.1).is_slower && compared(10.0, 11.1).is_tested);
        assert!(!compared(10.0, 5.0).is_slower);
    }

    #[test]
    fn a_step_that_is_missing_now_fails_and_no_step_tests_nothing() {
        let nothing = ReportNumbers { numbers: SheetNumbers { seconds: BTreeMap::new() } };
        assert!(regression(&numbers(10.0), &nothing, 10.0, 80).is_slower);
        assert!(!regression(&nothing, &numbers(10.0), 10.0, 80).is_tested);
    }
}
