//! Wrong rules about members: probes, silence, taints.

use std::sync::Arc;
use std::time::Duration;

use capsize_rules::api::{Cluster, ClusterTaintPolicy, ResourceBindingSpec};
use capsize_rules::{
    Heartbeat, ProbeRun, Ready, Refusal, Rules, concerns, heartbeat, keeps_condition, no_execute_taints,
    no_schedule_taints, silence, taints_by_policies,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

mutants! {
    one_failed_probe_is_enough("tainting/blip", "HEALTH-01") {
        fn keeps_condition(
            &self,
            _: Option<ProbeRun>,
            _: ProbeRun,
            _: Option<bool>,
            _: Timestamp,
            _: Duration,
            _: Duration,
        ) -> bool {
            false
        }
    }

    a_dead_member_is_not_avoided("eviction/partition", "TAINT-01") {
        fn no_schedule_taints(&self, ready: Ready<'_>, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
            let mut after = no_schedule_taints(ready, taints, now);
            after.retain(|taint| taints.contains(taint));
            after
        }
    }

    the_eviction_timeout_is_halved("placement/two-of-four-candidates", "TAINT-02") {
        fn no_execute_taints(
            &self,
            ready: Ready<'_>,
            since: Timestamp,
            timeout: Duration,
            taints: &[Taint],
            now: Timestamp,
        ) -> Vec<Taint> {
            no_execute_taints(ready, since, timeout / 2, taints, now)
        }
    }

    the_taint_that_evicts_is_never_taken_away("toleration/recovery-inside-the-toleration", "TAINT-04") {
        fn no_execute_taints(
            &self,
            ready: Ready<'_>,
            since: Timestamp,
            timeout: Duration,
            taints: &[Taint],
            now: Timestamp,
        ) -> Vec<Taint> {
            let mut after = no_execute_taints(ready, since, timeout, taints, now);
            let kept = taints.iter().filter(|taint| taint.effect == "NoExecute" && !after.contains(taint));
            after.extend(kept.cloned().collect::<Vec<_>>());
            after
        }
    }

    leases_are_not_looked_at("membership/pulled", "HEALTH-02") {
        fn heartbeat(
            &self,
            before: Option<&Heartbeat>,
            ready: Option<&Condition>,
            _: Option<Timestamp>,
            created: Timestamp,
            now: Timestamp,
        ) -> Heartbeat {
            heartbeat(before, ready, None, created, now)
        }
    }

    silence_is_not_noticed("tainting/silent-agent", "HEALTH-02") {
        fn silence(
            &self,
            _: &Heartbeat,
            _: Duration,
            _: Duration,
            _: Timestamp,
        ) -> Option<(&'static str, &'static str)> {
            None
        }
    }

    a_silent_agent_is_waited_for("membership/silent-member-deleted", "LIVENESS-05") {
        fn abandons_works(&self, _: &Cluster) -> bool {
            false
        }
    }

    policies_never_take_taints_away("tainting/by-a-policy", "TAINT-08") {
        fn taints_by_policies(
            &self,
            policies: &[&ClusterTaintPolicy],
            cluster: &Cluster,
            now: Timestamp,
        ) -> Vec<Taint> {
            let mut taints = cluster.spec.taints.clone();
            let after = taints_by_policies(self.behaviour().zones, policies, cluster, now);
            taints.extend(after.into_iter().filter(|taint| !cluster.spec.taints.contains(taint)));
            taints
        }
    }

    taints_of_ill_health_stay("eviction/a-zone-is-lost", "TAINT-03") {
        fn no_schedule_taints(&self, ready: Ready<'_>, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
            let mut after = no_schedule_taints(ready, taints, now);
            after.extend(taints.iter().filter(|taint| !after.contains(taint)).cloned().collect::<Vec<_>>());
            after
        }
    }

    a_dead_member_is_only_avoided_where_that_can_be_helped("eviction/partition", "TAINT-01") {
        fn no_schedule_taints(&self, ready: Ready<'_>, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
            let (soft, rest): (Vec<Taint>, Vec<Taint>) =
                taints.iter().cloned().partition(|taint| taint.effect == "PreferNoSchedule");
            let mut after = no_schedule_taints(ready, &rest, now);
            for taint in after.iter_mut().filter(|taint| ready.is_some() && taint.effect == "NoSchedule") {
                let known = soft.iter().find(|soft| soft.key == taint.key).cloned();
                *taint = known.unwrap_or(Taint { effect: "PreferNoSchedule".to_owned(), ..taint.clone() });
            }
            after
        }
    }

    a_dead_member_is_not_ready_and_unreachable_at_once("eviction/partition", "TAINT-05") {
        fn no_schedule_taints(&self, ready: Ready<'_>, taints: &[Taint], now: Timestamp) -> Vec<Taint> {
            let mut after = no_schedule_taints(ready, taints, now);
            let second = after.iter().find(|taint| taint.key.ends_with("/not-ready")).map(|taint| Taint {
                key: taint.key.replace("not-ready", "unreachable"),
                ..taint.clone()
            });
            after.extend(second.filter(|second| after.iter().all(|taint| taint.key != second.key)));
            after
        }
    }

    the_failure_threshold_is_doubled("eviction/partition", "HEALTH-01") {
        fn keeps_condition(
            &self,
            before: Option<ProbeRun>,
            run: ProbeRun,
            current: Option<bool>,
            now: Timestamp,
            success_threshold: Duration,
            failure_threshold: Duration,
        ) -> bool {
            keeps_condition(before, run, current, now, success_threshold, failure_threshold * 2)
        }
    }

    a_member_that_is_back_is_never_reported_ready("eviction/partition", "HEALTH-04") {
        fn keeps_condition(
            &self,
            before: Option<ProbeRun>,
            run: ProbeRun,
            current: Option<bool>,
            now: Timestamp,
            success_threshold: Duration,
            failure_threshold: Duration,
        ) -> bool {
            current == Some(false)
                || keeps_condition(before, run, current, now, success_threshold, failure_threshold)
        }
    }

    the_eviction_timeout_begins_anew_with_every_look("eviction/partition", "TAINT-02") {
        fn no_execute_taints(
            &self,
            ready: Ready<'_>,
            _: Timestamp,
            timeout: Duration,
            taints: &[Taint],
            now: Timestamp,
        ) -> Vec<Taint> {
            no_execute_taints(ready, now, timeout, taints, now)
        }
    }

    silence_is_noticed_twice_as_late("tainting/silent-agent", "HEALTH-02") {
        fn silence(
            &self,
            heartbeat: &Heartbeat,
            grace: Duration,
            startup_grace: Duration,
            now: Timestamp,
        ) -> Option<(&'static str, &'static str)> {
            silence(heartbeat, grace * 2, startup_grace * 2, now)
        }
    }

    a_member_that_is_probed_falls_silent("eviction/partition", "HEALTH-03") {
        fn falls_silent(&self, _: &Cluster) -> bool {
            true
        }
    }

    a_member_is_asked_as_soon_as_it_answers("membership/asked-only-when-ready", "HEALTH-05") {
        fn collects_status(&self, _: bool, answers: bool) -> bool {
            answers
        }
    }

    the_first_word_of_an_agent_is_waited_for_thrice_as_long("membership/agent-never-comes", "HEALTH-06") {
        fn silence(
            &self,
            heartbeat: &Heartbeat,
            grace: Duration,
            startup_grace: Duration,
            now: Timestamp,
        ) -> Option<(&'static str, &'static str)> {
            silence(heartbeat, grace, startup_grace * 3, now)
        }
    }

    unknown_members_evict_nothing("tainting/silent-agent", "TAINT-07") {
        fn no_execute_taints(
            &self,
            ready: Ready<'_>,
            since: Timestamp,
            timeout: Duration,
            taints: &[Taint],
            now: Timestamp,
        ) -> Vec<Taint> {
            if ready == Some("Unknown") {
                return taints.to_vec();
            }
            no_execute_taints(ready, since, timeout, taints, now)
        }
    }

    a_member_that_is_removed_is_chosen("placement/not-chosen-while-removed", "PLACEMENT-06") {
        fn terminating_taints(&self, taints: &[Taint], _: Timestamp) -> Vec<Taint> {
            taints.to_vec()
        }

        fn terminating_filter(&self, _: &Cluster, _: bool) -> Refusal {
            None
        }
    }

    the_end_of_a_member_is_not_noticed("membership/deleted-without-evictions", "LIVENESS-04") {
        fn concerns(
            &self,
            spec: &ResourceBindingSpec,
            before: Option<&Cluster>,
            after: Option<&Cluster>,
        ) -> bool {
            after.is_some() && concerns(self.behaviour().zones, spec, before, after)
        }
    }

    any_workload_keeps_a_member_from_going("membership/member-deleted", "LIVENESS-03") {
        fn holds_up_removal(&self, _: &ResourceBindingSpec, _: &str) -> bool {
            true
        }
    }
}
