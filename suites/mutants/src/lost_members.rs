//! Declares wrong rules about lost members and about moves.
//! The guarantees for these rules are those that any implementation may promise.

use std::sync::Arc;

use capsize_rules::api::{AggregatedStatus, Cluster, TargetCluster};
use capsize_rules::{
    CopyRemoval, EvictionTime, Heartbeat, Ready, Rules, copy_removal, eviction_due, heartbeat,
    no_schedule_taints,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Taint, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

mutants! {
    the_first_report_after_a_silence_does_not_end_it("tainting/silent-agent", "HEALTH-09") {
        fn heartbeat(
            &self,
            before: Option<&Heartbeat>,
            ready: Option<&Condition>,
            renewed: Option<Timestamp>,
            created: Timestamp,
            now: Timestamp,
        ) -> Heartbeat {
            let mut after = heartbeat(before, ready, renewed, created, now);
            let silence = SignedDuration::from_secs(40);
            if let Some(before) = before.filter(|before| after.probed.duration_since(before.probed) > silence) {
                after.probed = before.probed;
            }
            after
        }
    }

    health_taints_bear_an_earlier_time("eviction/partition", "TAINT-11") {
        fn no_schedule_taints(&self, ready: Ready<'_>, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
            no_schedule_taints(ready, taints, now - SignedDuration::from_secs(60))
        }
    }

    no_toleration_counts_if_the_member_is_lost("eviction/none-is-ready", "EVICTION-17") {
        fn eviction_due(&self, taints: &[Taint], tolerations: &[Toleration]) -> EvictionTime {
            let is_lost = taints.iter().any(|taint| taint.key.starts_with("cluster.karmada.io/"));
            eviction_due(taints, if is_lost { &[] } else { tolerations })
        }
    }

    a_move_does_not_wait_for_the_new_copy("eviction/taint-by-a-person", "AVAILABILITY-01") {
        fn is_replaced(&self, scheduled: bool, _: &[TargetCluster], _: &[AggregatedStatus]) -> bool {
            scheduled
        }
    }

    a_copy_is_forgotten_while_its_member_is_away("eviction/partition", "AVAILABILITY-02") {
        fn copy_removal(&self, cluster: Option<&Cluster>) -> CopyRemoval {
            match copy_removal(cluster) {
                CopyRemoval::Wait => CopyRemoval::Abandon,
                otherwise => otherwise,
            }
        }
    }
}
