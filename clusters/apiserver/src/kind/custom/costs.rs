//! The limits on the estimated costs of the rules of a schema.

use crate::http::failure::Cause;

/// What one rule may cost (`StaticEstimatedCostLimit`).
const ONE_RULE: u64 = 10_000_000;

/// What all rules of a schema may cost together (`StaticEstimatedCRDCostLimit`).
const ALL_RULES: u64 = 100_000_000;

/// How many of the most expensive rules are named where all together cost too much.
const MOST_NAMED: usize = 4;

/// What the rules of a schema cost by their estimates.
#[derive(Debug, Default)]
pub(super) struct Costs(Vec<(u64, String)>);

impl Costs {
    /// Notes what the expression at `path` costs, which is in that field of a rule; refuses one that costs too much.
    pub(super) fn add(&mut self, path: String, field: &str, cost: u64) -> Option<Cause> {
        let problem = (cost > ONE_RULE).then(|| {
            Cause::forbidden(path.clone(), &exceeds(&format!("estimated {field} cost"), cost, ONE_RULE))
        });
        self.0.push((cost, path));
        problem
    }

    /// Refuses rules that cost too much together.
    pub(super) fn check(mut self, path: &str, causes: &mut Vec<Cause>) {
        let total = self.0.iter().fold(0_u64, |sum, (cost, _)| sum.saturating_add(*cost));
        if total <= ALL_RULES {
            return;
        }
        self.0.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        let detail =
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        causes.extend(self.0.into_iter().take(MOST_NAMED).map(|(_, path)| Cause::forbidden(path, detail)));
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        causes.push(Cause::forbidden(path, &exceeds(name, total, ALL_RULES)));
    }
}

/// Says by how much a cost is too high.
#[expect(clippy::cast_precision_loss, reason = "the factor is rounded to one digit")]
fn exceeds(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        factor if factor > 100.0 => "more than 100x".to_owned(),
        factor if factor < 1.5 => format!("{factor:.6}x"),
        factor => format!("{factor:.1}x"),
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_costs_too_much_is_told_by_which_factor() {
        let told = |cost: u64| Costs::default().add("p".into(), "rule", cost).map(|cause| cause.message);
        assert_eq!(told(10_000_000), None);
        let factor = |cost: u64| {
            told(cost).unwrap().split(" of ").nth(1).unwrap().split(" (").next().unwrap().to_owned()
        };
        assert_eq!(factor(10_000_001), "1.000000x");
        assert_eq!(factor(25_000_000), "2.5x");
        assert_eq!(factor(u64::MAX), "more than 100x");
    }

    #[test]
    fn rules_that_cost_too_much_together_are_named() {
        let mut costs = Costs::default();
        for rule in 0..11 {
            assert!(costs.add(format!("p{rule}"), "rule", 10_000_000 - rule).is_none());
        }
        let mut causes = Vec::new();
        costs.check("s", &mut causes);
        let fields: Vec<_> = causes.iter().map(|cause| cause.field.as_str()).collect();
        assert_eq!(fields, ["p0", "p1", "p2", "p3", "s"]);
    }
}
