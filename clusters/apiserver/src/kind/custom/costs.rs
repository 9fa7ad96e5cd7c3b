//! The limits on the estimated costs of the rules of a schema.

use crate::http::failure::Cause;

/// The cost limit of one rule (`StaticEstimatedCostLimit`).
const ONE_RULE: u64 = 10_000_000;

/// The cost limit of all rules of a schema (`StaticEstimatedCRDCostLimit`).
const ALL_RULES: u64 = 100_000_000;

/// The number of the most expensive rules that are named if the total cost is too high.
const MOST_NAMED: usize = 4;

/// The estimated costs of the rules of a schema.
#[derive(Debug, Default)]
pub(super) struct Costs(Vec<(u64, String)>);

impl Costs {
    /// Adds the cost of the expression at `path`, which is in the field `field` of a rule.
    /// Refuses an expression above the limit.
    pub(super) fn add(&mut self, path: String, field: &str, cost: u64) -> Option<Cause> {
        let problem = (cost > ONE_RULE).then(|| {
            Cause::forbidden(path.clone(), &exceeds(&format!("estimated {field} cost"), cost, ONE_RULE))
        });
        self.0.push((cost, path));
        problem
    }

    /// Refuses rules whose total cost is above the limit.
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

/// The message for a cost above a limit.
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
    fn a_rule_that_costs_too_much_is_refused_with_the_factor() {
        let message_for =
            |cost: u64| Costs::default().add("p".into(), "rule", cost).map(|cause| cause.message);
        assert_eq!(message_for(10_000_000), None);
        let factor = |cost: u64| {
            message_for(cost).unwrap().split(" of ").nth(1).unwrap().split(" (").next().unwrap().to_owned()
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
