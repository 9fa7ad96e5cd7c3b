//! Filters that refuse clusters for a workload, and the score of a cluster.
//!
//! karmada-io/karmada `pkg/scheduler/framework/plugins/*`. Each filter returns the reason why the cluster is refused,
//! or `None`.

use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Toleration;

use crate::api::{
    CONDITION_COMPLETE_APIS, Cluster, ClusterAffinity, GracefulEvictionTask, NO_EXECUTE, NO_SCHEDULE,
    ObjectReference, SpreadConstraint, TargetCluster, is_true,
};
use crate::{
    EvictionTime, Removal, UnservedTargets, Zones, affinity_matches, eviction_due, field_values, tolerates,
};

/// The reason why a cluster was refused, as text.
/// In a large fleet most clusters are refused for the same few reasons, so the text is borrowed where possible.
pub type Refusal = Option<Cow<'static, str>>;

/// `ClusterAffinity`: the placement must match the cluster, whether or not it is a target already.
#[must_use]
pub fn affinity_filter(zones: Zones, affinity: Option<&ClusterAffinity>, cluster: &Cluster) -> Refusal {
    let meant = affinity.is_none_or(|affinity| affinity_matches(zones, affinity, cluster));
    (!meant).then(|| "cluster(s) did not match the placement cluster affinity constraint".into())
}

/// Refuses a new target whose taints are not all tolerated (`TaintToleration`).
/// The taints of effect NoSchedule and NoExecute must be tolerated, for however short a time. A present target stays a
/// target (#2449). Unlike in any release, a toleration that has expired by `now` does not count for a new target. With
/// such a toleration, the workload would be evicted at once and placed there again. This would go on as long as nothing
/// but this taint excludes the cluster.
#[must_use]
pub fn taint_filter(
    tolerations: &[Toleration],
    cluster: &Cluster,
    is_target: bool,
    now: Timestamp,
) -> Refusal {
    let overdue =
        matches!(eviction_due(&cluster.spec.taints, tolerations), EvictionTime::At(end) if end <= now);
    if overdue && !is_target {
        return Some("cluster(s) had a taint whose toleration has run out".into());
    }
    let repels = |effect: &str| effect == NO_SCHEDULE || effect == NO_EXECUTE;
    let tolerated = |taint| tolerations.iter().any(|toleration| tolerates(toleration, taint));
    let mut taints = cluster.spec.taints.iter().filter(|taint| !is_target && repels(&taint.effect));
    taints.find(|taint| !tolerated(taint)).map(|taint| {
        let value = taint.value.iter().filter(|value| !value.is_empty()).map(|value| format!("={value}"));
        let value: String = value.collect();
        format!("cluster(s) had untolerated taint {{{}{value}:{}}}", taint.key, taint.effect).into()
    })
}

/// `APIEnablement`: a new target's API server must serve the kind.
/// For a present target, `unserved` decides.
#[must_use]
pub fn api_filter(
    unserved: UnservedTargets,
    resource: &ObjectReference,
    cluster: &Cluster,
    is_target: bool,
) -> Refusal {
    let stays = || match unserved {
        UnservedTargets::Stay => true,
        UnservedTargets::StayInDoubt => {
            let status = cluster.status.as_ref();
            !status.is_some_and(|status| is_true(&status.conditions, CONDITION_COMPLETE_APIS))
        }
        UnservedTargets::Leave => false,
    };
    let may_stay = is_target && stays();
    (!may_stay && !serves(cluster, resource)).then(|| "cluster(s) did not have the API resource".into())
}

/// Whether a cluster begins to serve the kind of a workload.
/// The real scheduler does not check this: there, a workload that fits nowhere waits for the next change of a cluster's
/// labels or spec.
#[must_use]
pub fn begins_to_serve(
    resource: &ObjectReference,
    before: Option<&Cluster>,
    after: Option<&Cluster>,
) -> bool {
    let serves = |cluster: &Cluster| serves(cluster, resource);
    after.is_some_and(serves) && !before.is_some_and(serves)
}

fn serves(cluster: &Cluster, resource: &ObjectReference) -> bool {
    let enablements = cluster.status.iter().flat_map(|status| &status.api_enablements);
    enablements
        .filter(|enablement| enablement.group_version == resource.api_version)
        .flat_map(|enablement| &enablement.resources)
        .any(|served| served.kind == resource.kind)
}

/// `ClusterEviction`: a cluster that the workload is leaving is not chosen again, as from 1.6 (#3469).
#[must_use]
pub fn eviction_filter(tasks: &[GracefulEvictionTask], cluster: &str) -> Refusal {
    let leaving = tasks.iter().any(|task| task.from_cluster == cluster);
    leaving.then(|| "cluster(s) is in the process of eviction".into())
}

/// Refuses a cluster without a field that the workload is spread over (`SpreadConstraint`).
/// If a workload is spread over regions, zones or providers, the cluster must have that field. This holds whether or
/// not the cluster is a target already.
#[must_use]
pub fn spread_filter(constraints: &[SpreadConstraint], cluster: &Cluster) -> Refusal {
    let missing = ["provider", "region", "zone"].into_iter().find(|field| {
        constraints.iter().any(|constraint| constraint.spread_by_field == *field)
            && field_values(cluster, field).is_empty()
    });
    missing.map(|field| format!("cluster(s) did not have {field} property").into())
}

/// Refuses a cluster that is being removed as a new target.
/// A present target is refused too where removal is the scheduler's task, as from 1.14
/// (`pkg/scheduler/core/generic_scheduler.go`).
#[must_use]
pub fn terminating_filter(removal: Removal, cluster: &Cluster, is_target: bool) -> Refusal {
    let refused = cluster.metadata.deletion_timestamp.is_some();
    let stays = is_target && removal == Removal::Tainting;
    (refused && !stays).then(|| "cluster(s) is being removed".into())
}

/// `ClusterLocality`: a target scores 100, any other cluster 0, also if no target has replicas (#3290).
#[must_use]
pub fn locality_score(targets: &[TargetCluster], cluster: &str) -> i64 {
    if targets.iter().any(|target| target.name == cluster) { 100 } else { 0 }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Taint;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::json;

    use super::*;
    use crate::api::{TAINT_NOT_READY, set_condition};
    use crate::test_values::{at, from_json};

    fn tainted(effect: &str) -> Cluster {
        let mut cluster = Cluster::new("m1", Default::default());
        cluster.spec.taints =
            vec![Taint { key: TAINT_NOT_READY.into(), effect: effect.into(), ..Taint::default() }];
        cluster
    }

    #[test]
    fn taints_keep_new_work_away_and_leave_old_work_alone() {
        let brief: Toleration = from_json(
            json!({"key": TAINT_NOT_READY, "operator": "Exists", "effect": NO_EXECUTE, "tolerationSeconds": 1}),
        );
        let cases = [
            ("NoSchedule repels", NO_SCHEDULE, false, false),
            ("NoExecute tolerated for a second passes", NO_EXECUTE, false, true),
            ("a target stays", NO_SCHEDULE, true, true),
            ("PreferNoSchedule does not matter", "PreferNoSchedule", false, true),
        ];
        for (about, effect, is_target, passes) in cases {
            let refusal = taint_filter(
                std::slice::from_ref(&brief),
                &tainted(effect),
                is_target,
                Timestamp::UNIX_EPOCH,
            );
            assert_eq!(refusal.is_none(), passes, "{about}: {refusal:?}");
        }
    }

    #[test]
    fn a_refusal_names_the_taint_with_its_value() {
        let refusal = |value: Option<&str>| {
            let mut cluster = tainted(NO_SCHEDULE);
            cluster.spec.taints[0].value = value.map(str::to_owned);
            taint_filter(&[], &cluster, false, Timestamp::UNIX_EPOCH).unwrap_or_default().into_owned()
        };
        for (value, shown) in [(None, ""), (Some(""), ""), (Some("a"), "=a")] {
            let taint = format!("{TAINT_NOT_READY}{shown}:NoSchedule");
            assert_eq!(refusal(value), format!("cluster(s) had untolerated taint {{{taint}}}"));
        }
    }

    #[test]
    fn a_toleration_that_has_run_out_keeps_new_work_away() {
        let brief: Toleration = from_json(
            json!({"key": TAINT_NOT_READY, "operator": "Exists", "effect": NO_EXECUTE, "tolerationSeconds": 5}),
        );
        let mut cluster = tainted(NO_EXECUTE);
        cluster.spec.taints[0].time_added = Some(Time(Timestamp::UNIX_EPOCH));
        let refused = |second, is_target| {
            let now = at(second);
            taint_filter(std::slice::from_ref(&brief), &cluster, is_target, now).is_some()
        };
        assert_eq!([refused(4, false), refused(5, false), refused(5, true)], [false, true, false]);
    }

    #[test]
    fn a_kind_must_be_served_where_it_goes_and_may_vanish_where_it_is() {
        let mut cluster = Cluster::new("m1", Default::default());
        cluster.status = from_json(json!({"apiEnablements": [
            {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}
        ]}));
        let resource = |version: &str, kind: &str| ObjectReference {
            api_version: version.into(),
            kind: kind.into(),
            ..ObjectReference::default()
        };
        let passes = |unserved, resource: &ObjectReference, is_target| {
            api_filter(unserved, resource, &cluster, is_target).is_none()
        };
        let (served, unserved) = (resource("apps/v1", "Deployment"), resource("apps/v1", "StatefulSet"));
        for release in [UnservedTargets::Stay, UnservedTargets::StayInDoubt, UnservedTargets::Leave] {
            assert!(passes(release, &served, false));
            assert!(!passes(release, &unserved, false));
            assert!(!passes(release, &resource("v1", "Deployment"), false));
        }
        assert!(passes(UnservedTargets::Stay, &unserved, true));
        assert!(passes(UnservedTargets::StayInDoubt, &unserved, true));
        assert!(!passes(UnservedTargets::Leave, &unserved, true));
        let conditions = &mut cluster.status.get_or_insert_default().conditions;
        set_condition(conditions, CONDITION_COMPLETE_APIS, true, "Complete", "", Timestamp::UNIX_EPOCH);
        assert!(api_filter(UnservedTargets::StayInDoubt, &unserved, &cluster, true).is_some());
        assert!(api_filter(UnservedTargets::Stay, &unserved, &cluster, true).is_none());
    }

    #[test]
    fn a_kind_that_was_not_served_before_begins_to_be() {
        let serving = |kinds: &[&str]| {
            let resources: Vec<_> = kinds.iter().map(|kind| json!({"name": "", "kind": kind})).collect();
            let enablements = json!([{"groupVersion": "apps/v1", "resources": resources}]);
            let mut cluster = Cluster::new("m1", Default::default());
            cluster.status = from_json(json!({"apiEnablements": enablements}));
            cluster
        };
        let (all, others) = (serving(&["DaemonSet", "Deployment"]), serving(&["DaemonSet"]));
        let kind = |kind: &str| ObjectReference {
            api_version: "apps/v1".into(),
            kind: kind.into(),
            ..ObjectReference::default()
        };
        let begins = |of: &str, before, after| begins_to_serve(&kind(of), before, after);
        assert!(begins("Deployment", Some(&others), Some(&all)));
        assert!(begins("Deployment", None, Some(&all)));
        assert!(!begins("DaemonSet", Some(&others), Some(&all)), "it was served");
        assert!(!begins("Deployment", Some(&all), Some(&others)), "it is served no more");
        assert!(!begins("Deployment", Some(&all), None));
    }

    #[test]
    fn a_cluster_under_eviction_is_not_chosen_again() {
        let task = GracefulEvictionTask { from_cluster: "m1".into(), ..GracefulEvictionTask::default() };
        assert!(eviction_filter(std::slice::from_ref(&task), "m1").is_some());
        assert!(eviction_filter(&[task], "m2").is_none());
    }

    #[test]
    fn a_cluster_without_a_region_is_of_no_use_where_regions_count() {
        let mut cluster = Cluster::new("m1", Default::default());
        cluster.spec.zones = vec!["z1".into()];
        let by =
            |field: &str| [SpreadConstraint { spread_by_field: field.into(), ..SpreadConstraint::default() }];
        assert_eq!(spread_filter(&by("zone"), &cluster), None);
        assert_eq!(spread_filter(&by("cluster"), &cluster), None);
        let missing = Some("cluster(s) did not have region property".into());
        assert_eq!(spread_filter(&by("region"), &cluster), missing);
    }

    #[test]
    fn a_cluster_that_is_being_removed_takes_nothing_and_may_lose_what_it_has() {
        let mut cluster = Cluster::new("m1", Default::default());
        let refused =
            |cluster: &Cluster, removal, is_target| terminating_filter(removal, cluster, is_target).is_some();
        assert!(!refused(&cluster, Removal::Scheduling, false));
        cluster.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        let cases = [
            (Removal::Tainting, false, true),
            (Removal::Tainting, true, false),
            (Removal::Scheduling, false, true),
            (Removal::Scheduling, true, true),
        ];
        for (removal, is_target, expected) in cases {
            assert_eq!(refused(&cluster, removal, is_target), expected, "{removal:?}, target: {is_target}");
        }
    }

    #[test]
    fn targets_rank_first_with_and_without_replicas() {
        for replicas in [0, 2] {
            let targets = [TargetCluster { name: "m1".into(), replicas }];
            assert_eq!(["m1", "m2"].map(|cluster| locality_score(&targets, cluster)), [100, 0], "{replicas}");
        }
        assert_eq!(locality_score(&[], "m1"), 0);
    }
}
