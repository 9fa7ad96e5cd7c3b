//! Aggregates the statuses of Works into the statuses of the binding and the template.

use std::sync::Arc;

use kube::api::ApiResource;
use serde_json::{Map, Value, json};

use crate::api::{AggregatedStatus, CONDITION_FULLY_APPLIED, Work, set_condition};
use crate::machinery::{Binding, Context, Error, dynamic_api, erase, put_status};

/// The aggregated status of a binding.
pub(super) struct Report {
    pub(super) by_cluster: Vec<AggregatedStatus>,
    /// The change to the status of the binding; `None` where nothing changes.
    pub(super) change: Option<Value>,
}

impl Report {
    pub(super) fn of(context: &Context, binding: &impl Binding, works: &[Arc<Work>]) -> Self {
        let before = binding.status().cloned().unwrap_or_default();
        let reports = context.rules.aggregated_status(works);
        let by_cluster = context.rules.replacing_reports(&before.aggregated_status, reports);
        let applied =
            context.rules.fully_applied(&context.rules.clusters_with_work(binding.spec()), &by_cluster);
        let (reason, message) = if applied {
            ("FullyAppliedSuccess", "All works have been successfully applied")
        } else {
            ("FullyAppliedFailed", "Failed to apply all works, see status.aggregatedStatus for details")
        };
        let mut conditions = before.conditions.clone();
        let now = context.clock.now_in_seconds();
        set_condition(&mut conditions, CONDITION_FULLY_APPLIED, applied, reason, message, now);
        let is_new = by_cluster != before.aggregated_status || conditions != before.conditions;
        let change = is_new.then(|| {
            let aggregated = (!by_cluster.is_empty()).then_some(&by_cluster);
            json!({ "aggregatedStatus": aggregated, "conditions": conditions })
        });
        Self { by_cluster, change }
    }
}

/// Writes the aggregated status to the template, if it differs.
/// No other controller writes the status of a template. Returns whether the template was up to date already.
pub(super) async fn report_on_template(
    context: &Context,
    kind: &ApiResource,
    template: &Value,
    reports: &[AggregatedStatus],
) -> Result<bool, Error> {
    let now = context.clock.now_in_seconds();
    let Some(wanted) = context.rules.template_status(&kind.kind, template, reports, now) else {
        return Ok(true);
    };
    let nothing = Map::new();
    let present = template.get("status").and_then(Value::as_object).unwrap_or(&nothing);
    if *present == wanted {
        return Ok(true);
    }
    let mut change = wanted;
    erase(present, &mut change);
    let text = |field: &str| template["metadata"][field].as_str().unwrap_or_default();
    let api = dynamic_api(context.client.clone(), text("namespace"), kind);
    put_status(&api, text("name"), &change).await?;
    Ok(false)
}
