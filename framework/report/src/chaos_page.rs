//! The page of a chaos run without an end: what each commit was tried with, and the seeds that fail.

use std::fmt::Write as _;
use std::time::Duration;

use capsize_judge::time_format::span;

use crate::page::escaped;

/// The results of chaos on one commit, with one target and style.
#[derive(Clone, Debug, Default)]
pub struct ChaosResults {
    /// The commit or version that was tested.
    pub commit: String,
    /// The name and the release of the target.
    pub target: String,
    /// The style of the scenarios.
    pub style: String,
    /// How many seeds have a result.
    pub seeds: u64,
    /// The real time that the seeds took.
    pub wall: Duration,
    /// The time that was simulated.
    pub simulated: Duration,
    /// The seeds that fail, in order.
    pub failures: Vec<ChaosFailure>,
}

/// A seed that fails.
#[derive(Clone, Debug)]
pub struct ChaosFailure {
    /// The seed.
    pub seed: u64,
    /// The first violated guarantee, or what the fleet did not come to.
    pub kind: String,
    /// The command that repeats the seed.
    pub replay: String,
}

/// More failures of one commit are counted, but not listed.
const LISTED: usize = 200;

/// The seconds of a year of 365.25 days.
const YEAR: f64 = 31_557_600.0;

const STYLE: &str = "body{font:14px/1.4 system-ui,sans-serif;margin:2rem}table{border-collapse:collapse}\
th,td{border:1px solid #8884;padding:.3rem .6rem;text-align:left}td.number{text-align:right}\
td.failed{background:#c5221f33}:root{color-scheme:light dark}";

/// One page about all results, which needs no network.
#[must_use]
pub fn chaos_page(results: &[&ChaosResults]) -> String {
    let seeds: u64 = results.iter().map(|one| one.seeds).sum();
    let failed: usize = results.iter().map(|one| one.failures.len()).sum();
    let years = years(results.iter().map(|one| one.simulated).sum());
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Chaos</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>Chaos</h1>\n\
         <p>{seeds} seeds, of which {failed} failed. {years} years were simulated.</p>\n<table>\n<thead><tr>"
    );
    for column in
        ["commit", "target", "style", "seeds", "failed", "seeds per minute", "simulated years", "run for"]
    {
        let _ = write!(text, "<th scope=\"col\">{column}</th>");
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    results.iter().for_each(|one| row(&mut text, one));
    text.push_str("</tbody>\n</table>\n");
    results.iter().filter(|one| !one.failures.is_empty()).for_each(|one| failures(&mut text, one));
    text.push_str("</body>\n</html>\n");
    text
}

fn row(text: &mut String, one: &ChaosResults) {
    let minutes = one.wall.as_secs_f64() / 60.0;
    let rate = if minutes > 0.0 { format!("{:.1}", one.seeds as f64 / minutes) } else { String::new() };
    text.push_str("<tr>");
    for name in [&one.commit, &one.target, &one.style] {
        let _ = write!(text, "<td>{}</td>", escaped(name));
    }
    let failed = if one.failures.is_empty() { "number" } else { "number failed" };
    let _ = write!(
        text,
        "<td class=\"number\">{}</td><td class=\"{failed}\">{}</td>",
        one.seeds,
        one.failures.len()
    );
    for value in [rate, years(one.simulated), span(one.wall)] {
        let _ = write!(text, "<td class=\"number\">{}</td>", escaped(&value));
    }
    text.push_str("</tr>\n");
}

fn years(simulated: Duration) -> String {
    format!("{:.3}", simulated.as_secs_f64() / YEAR)
}

/// The seeds that fail on one commit.
fn failures(text: &mut String, one: &ChaosResults) {
    let title = escaped(&format!("{}: {}, {}", one.commit, one.target, one.style));
    let _ = write!(text, "<h2>{title}</h2>\n<table>\n<thead><tr>");
    for column in ["seed", "failure", "repeat it with"] {
        let _ = write!(text, "<th scope=\"col\">{column}</th>");
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for ChaosFailure { seed, kind, replay } in one.failures.iter().take(LISTED) {
        let (kind, replay) = (escaped(kind), escaped(replay));
        let _ = writeln!(
            text,
            "<tr><td class=\"number\">{seed}</td><td>{kind}</td><td><code>{replay}</code></td></tr>"
        );
    }
    text.push_str("</tbody>\n</table>\n");
    if let Some(more) = one.failures.len().checked_sub(LISTED).filter(|more| *more > 0) {
        let _ = writeln!(text, "<p>{more} more failed.</p>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(commit: &str, failures: usize) -> ChaosResults {
        let failure =
            |seed| ChaosFailure { seed, kind: "<B>-01".into(), replay: format!("capsize replay {seed}") };
        ChaosResults {
            commit: commit.into(),
            seeds: 300,
            wall: Duration::from_secs(120),
            simulated: Duration::from_secs(31_557_600),
            failures: (0..failures as u64).map(failure).collect(),
            ..ChaosResults::default()
        }
    }

    #[test]
    fn the_page_has_the_rate_the_years_and_the_failures_of_each_commit() {
        let page = chaos_page(&[&results("a&b", 0), &results("c", 203)]);
        for expected in [
            "600 seeds, of which 203 failed. 2.000 years were simulated.",
            "<td>a&amp;b</td>",
            "<td class=\"number\">150.0</td><td class=\"number\">1.000</td>",
            "<td class=\"number failed\">203</td>",
            "<td class=\"number\">199</td><td>&lt;B&gt;-01</td><td><code>capsize replay 199</code></td>",
            "<p>3 more failed.</p>",
        ] {
            assert!(page.contains(expected), "{expected}: {page}");
        }
        assert!(!page.contains("capsize replay 200<"), "{page}");
    }
}
