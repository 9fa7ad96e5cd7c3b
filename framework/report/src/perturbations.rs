//! Formats how many perturbed histories were detected: for people, and for programs.

use serde_json::{Value, json};

use super::layout::Page;

/// How many perturbed histories of one class were detected, and named by the right guarantee.
#[derive(Clone, Debug)]
pub struct PerturbationRate {
    /// The name of the class.
    pub class: String,
    /// The way in which its behaviour is wrong.
    pub wrong: String,
    /// The guarantees that name it.
    pub named_by: Vec<String>,
    /// How many perturbed histories were judged.
    pub applied: usize,
    /// How many were detected by any guarantee.
    pub detected: usize,
    /// How many were detected by a guarantee that names the class.
    pub named: usize,
}

/// A share in percent, with one digit after the point. It is rounded down, so that 100.0 means all.
fn percent(part: usize, whole: usize) -> f64 {
    (part * 1000).checked_div(whole).unwrap_or_default() as f64 / 10.0
}

/// For people, in lines of `columns` columns.
#[must_use]
pub fn perturbations(rates: &[PerturbationRate], columns: usize) -> String {
    let mut page = Page::new(columns);
    page.line(&format!("{:<44}{:>9}{:>10}{:>9}", "class", "applied", "detected", "named"));
    for rate in rates {
        let below = if rate.applied > rate.named { "  <" } else { "" };
        page.line(&format!(
            "{:<44}{:>9}{:>10}{:>9}{below}",
            rate.class, rate.applied, rate.detected, rate.named
        ));
    }
    let sum = |count: fn(&PerturbationRate) -> usize| rates.iter().map(count).sum::<usize>();
    let (applied, detected) = (sum(|rate| rate.applied), sum(|rate| rate.detected));
    let named = sum(|rate| rate.named);
    page.blank();
    page.line(&format!(
        "{applied} perturbed histories: {:.1} % detected, {:.1} % named rightly",
        percent(detected, applied),
        percent(named, applied)
    ));
    let unused: Vec<&str> =
        rates.iter().filter(|rate| rate.applied == 0).map(|rate| rate.class.as_str()).collect();
    if !unused.is_empty() {
        page.wrapped("no place for: ", &unused.join(", "));
    }
    page.finish()
}

/// For programs.
#[must_use]
pub fn perturbations_json(rates: &[PerturbationRate]) -> String {
    let classes = rates.iter().map(|rate| {
        json!({
            "class": rate.class,
            "wrong": rate.wrong,
            "namedBy": rate.named_by,
            "applied": rate.applied,
            "detected": rate.detected,
            "named": rate.named,
        })
    });
    let document = json!({"perturb": "v1", "classes": classes.collect::<Vec<Value>>()});
    format!("{document:#}\n")
}

/// The classes with the guarantees that name them, in lines of `columns` columns.
#[must_use]
pub fn perturbation_classes(rates: &[PerturbationRate], columns: usize) -> String {
    let mut page = Page::new(columns);
    for rate in rates {
        page.wrapped(
            &format!("{:<44}", rate.class),
            &format!("{}: {}", rate.wrong, rate.named_by.join(", ")),
        );
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(class: &str, applied: usize, detected: usize, named: usize) -> PerturbationRate {
        let (wrong, named_by) = ("lost".to_owned(), vec!["EVICTION-02".to_owned()]);
        PerturbationRate { class: class.to_owned(), wrong, named_by, applied, detected, named }
    }

    #[test]
    fn each_class_is_a_line_of_eighty_columns_and_the_sum_comes_last() {
        let text =
            perturbations(&[rate("task-lost", 3, 2, 1), rate("copy-lost", 0, 0, 0)], super::super::COLUMNS);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.ends_with(
            "3 perturbed histories: 66.6 % detected, 33.3 % named rightly\nno place for: copy-lost\n"
        ));
    }
}
