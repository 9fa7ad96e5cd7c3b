//! The budget of the expressions of one request.

/// What one evaluation may cost: `PerCallLimit` in `apiserver/pkg/apis/cel/config.go`.
const ONE_CALL: u64 = 1_000_000;

/// What evaluations may still cost.
#[derive(Debug)]
pub(crate) struct Budget {
    left: u64,
}

/// Why an expression came to no value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EvaluationError {
    /// The evaluation failed, in the words of a real server.
    Failed(String),
    /// The evaluation alone costs more than one may.
    CallLimit,
    /// All evaluations together cost more than they may.
    BudgetSpent,
}

impl Budget {
    /// What the rules may cost that one object is validated with (`RuntimeCELCostBudget`).
    pub(crate) fn of_object() -> Self {
        Self { left: 10_000_000 }
    }

    /// What the match conditions of one webhook may cost (`RuntimeCELCostBudgetMatchConditions`).
    pub(crate) fn of_conditions() -> Self {
        Self { left: 2_500_000 }
    }

    /// What the next evaluation may cost.
    pub(super) fn limit(&self) -> u64 {
        ONE_CALL
    }

    /// Takes what an evaluation has cost; whether there was enough.
    pub(super) fn take(&mut self, cost: u64) -> bool {
        let enough = cost <= self.left;
        self.left = self.left.saturating_sub(cost);
        enough
    }
}
