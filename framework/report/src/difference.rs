//! Formats the differences between two histories: for people, and for programs.

use std::time::Duration;

use serde_json::{Value, json};

use super::layout::Page;
use capsize_judge::diff::{Comparison, Difference};
use capsize_judge::time_format::span;

/// For people, in lines of `columns` columns.
#[must_use]
pub fn differences(comparison: &Comparison, columns: usize) -> String {
    let Comparison { titles: [first, second], names, renamed_members, matched, differences } = comparison;
    let [one, other] = names;
    let mut page = Page::new(columns);
    page.wrapped("1: ", first);
    page.wrapped("2: ", second);
    for (member, other_member) in renamed_members {
        page.line(&format!("{other_member} in {other} corresponds to {member} in {one}"));
    }
    for difference in differences {
        page.blank();
        add(&mut page, names, difference);
    }
    page.blank();
    page.line(&match differences.len() {
        0 => format!("no difference: {matched} things happened in both, at the same times"),
        1 => format!("1 difference; {matched} things happened in both"),
        count => format!("{count} differences; {matched} things happened in both"),
    });
    page.finish()
}

fn add(page: &mut Page, [one, other]: &[String; 2], difference: &Difference) {
    let Difference { track, what, at, allowed } = difference;
    page.line(&format!("{track} {what}"));
    let since = |at: Option<Duration>| match at {
        Some(at) => format!("{} after the first disturbance", span(at)),
        None => "never".to_owned(),
    };
    let apart = match at {
        [Some(_), Some(_)] => format!("; they may be {} apart", span(*allowed)),
        [None, None] => return,
        _ => String::new(),
    };
    page.wrapped(&format!("  {one}: "), &since(at[0]));
    page.wrapped(&format!("  {other}: "), &(since(at[1]) + &apart));
}

/// For programs.
#[must_use]
pub fn differences_json(comparison: &Comparison) -> String {
    let seconds = |at: &Option<Duration>| at.map(|at| at.as_secs_f64());
    let differences = comparison.differences.iter().map(|Difference { track, what, at, allowed }| {
        json!({
            "member": track.member,
            "workload": track.workload.as_ref().map(ToString::to_string),
            "what": what.to_string(),
            "at": at.iter().map(seconds).collect::<Vec<_>>(),
            "allowed": allowed.as_secs_f64(),
        })
    });
    let document = json!({
        "diff": "v1",
        "titles": comparison.titles,
        "names": comparison.names,
        "parts": comparison.renamed_members,
        "alike": comparison.matched,
        "differences": differences.collect::<Vec<Value>>(),
    });
    format!("{document:#}\n")
}
