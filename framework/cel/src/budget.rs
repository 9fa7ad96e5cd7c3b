//! The budget of the expressions of one request.

/// The cost limit of one evaluation: `PerCallLimit` in `apiserver/pkg/apis/cel/config.go`.
const ONE_CALL: u64 = 1_000_000;

/// The remaining cost budget of evaluations.
#[derive(Debug)]
pub struct Budget {
    left: u64,
}

/// The reason why an expression has no value.
#[derive(Debug, PartialEq, Eq)]
pub enum EvaluationError {
    /// The evaluation failed; the text is the message of a real server.
    Failed(String),
    /// The evaluation exceeded the limit of one evaluation.
    CallLimit,
    /// All evaluations together exceeded the budget.
    BudgetSpent,
}

impl Budget {
    /// The budget of the rules for the validation of one object (`RuntimeCELCostBudget`).
    pub fn of_object() -> Self {
        Self { left: 10_000_000 }
    }

    /// The budget of the match conditions of one webhook (`RuntimeCELCostBudgetMatchConditions`).
    pub fn of_conditions() -> Self {
        Self { left: 2_500_000 }
    }

    /// The budget of expressions that only the limit of one evaluation bounds.
    #[must_use]
    pub fn of_dialect() -> Self {
        Self { left: u64::MAX }
    }

    /// The cost limit of the next evaluation.
    pub(crate) fn limit(&self) -> u64 {
        ONE_CALL
    }

    /// Subtracts the cost of an evaluation. Returns false if the budget was too small.
    pub(crate) fn take(&mut self, cost: u64) -> bool {
        let enough = cost <= self.left;
        self.left = self.left.saturating_sub(cost);
        enough
    }
}
