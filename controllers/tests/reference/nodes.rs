//! The node controllers on a simulated cluster, in cases that no recording of a real one shows.

use capsize_clusters::NodeFault;
use capsize_controllers::rules::node::NodeBug;
use jiff::SignedDuration;
use serde_json::json;

use crate::node_cluster::node_cluster;

/// The longest time from a node's silence to its taint: a heartbeat, the grace period and two checks.
const NOTICE_SECONDS: u64 = 72;

#[test]
fn a_workload_moves_when_its_node_is_silent_for_longer_than_it_tolerates() {
    let (marked, moved, back) = node_cluster(&[3], &[], |mut cluster| async move {
        cluster.workload("Deployment", 3).await;
        cluster.pass(10).await;
        cluster.silence(&["a1"]);
        cluster.pass(NOTICE_SECONDS).await;
        let marked = cluster.pod_states().await;
        cluster.pass(310).await;
        let moved = cluster.pod_states().await;
        cluster.heal(&["a1"]);
        cluster.pass(20).await;
        (marked, moved, cluster.pod_states().await)
    });
    let on =
        |pods: &[(String, String, bool, bool)], node: &str| pods.iter().filter(|pod| pod.1 == node).count();
    assert_eq!(
        marked.iter().map(|pod| (pod.1.as_str(), pod.2)).filter(|pod| !pod.1).collect::<Vec<_>>(),
        [("a1", false)]
    );
    assert_eq!(
        (moved.len(), on(&moved, "a1")),
        (4, 1),
        "the old pod stays until its kubelet reports: {moved:?}"
    );
    assert!(moved.iter().all(|pod| pod.3 == (pod.1 == "a1") && pod.2 == (pod.1 != "a1")), "{moved:?}");
    assert_eq!((back.len(), on(&back, "a1")), (3, 0), "{back:?}");
}

#[test]
fn a_silent_node_and_each_of_its_pods_get_one_event() {
    let (reported, pods) = node_cluster(&[3], &[], |mut cluster| async move {
        cluster.workload("Deployment", 3).await;
        cluster.pass(10).await;
        cluster.silence(&["a1"]);
        cluster.pass(NOTICE_SECONDS).await;
        (cluster.objects_with_event("NodeNotReady").await, cluster.pod_states().await)
    });
    let of_pods = pods.iter().filter(|pod| pod.1 == "a1").map(|pod| ("Pod".to_owned(), pod.0.clone()));
    let mut expected: Vec<_> = of_pods.chain([("Node".to_owned(), "a1".to_owned())]).collect();
    expected.sort();
    let mut reported = reported;
    reported.sort();
    assert_eq!(reported, expected);
}

#[test]
fn a_pod_of_a_stateful_set_is_replaced_only_when_its_node_is_back_or_deleted() {
    for deleted in [false, true] {
        let (away, after) = node_cluster(&[3], &[], |mut cluster| async move {
            cluster.workload("StatefulSet", 3).await;
            cluster.pass(10).await;
            cluster.silence(&["a1"]);
            cluster.pass(NOTICE_SECONDS + 310).await;
            let away = cluster.pod_states().await;
            if deleted {
                cluster.delete_node("a1").await;
            } else {
                cluster.heal(&["a1"]);
            }
            cluster.pass(90).await;
            (away, cluster.pod_states().await)
        });
        assert_eq!(away.iter().filter(|pod| pod.2).count(), 2, "{away:?}");
        assert_eq!(after.iter().filter(|pod| pod.2 && !pod.3).count(), 3, "{deleted} {after:?}");
    }
}

#[test]
fn pods_keep_away_from_nodes_under_pressure_and_from_cordoned_ones() {
    let nodes = node_cluster(&[3], &[], |mut cluster| async move {
        cluster.fail(&["a1"], &NodeFault::Pressure("MemoryPressure".into()));
        cluster.patch_node("a2", json!({"spec": {"unschedulable": true}})).await;
        cluster.pass(11).await;
        cluster.workload("Deployment", 3).await;
        cluster.pass(10).await;
        cluster.pod_states().await.into_iter().map(|pod| (pod.1, pod.2)).collect::<Vec<_>>()
    });
    assert_eq!(nodes, vec![("a3".to_owned(), true); 3]);
}

#[test]
fn nodes_are_tainted_one_every_ten_seconds() {
    let counts = node_cluster(&[9], &[], |mut cluster| async move {
        cluster.silence(&["a1", "a2", "a3", "a4"]);
        let mut counts = Vec::new();
        cluster.pass(NOTICE_SECONDS - 1).await;
        for _ in 0..4 {
            counts.push(cluster.evicted().await);
            cluster.pass(10).await;
        }
        counts
    });
    assert!(counts.windows(2).all(|pair| pair[1] - pair[0] <= 1), "{counts:?}");
    assert_eq!(counts.last(), Some(&4), "{counts:?}");
}

#[test]
fn a_small_zone_that_is_partly_gone_is_left_alone_while_another_goes_on() {
    let tainted = node_cluster(&[5, 4], &[], |mut cluster| async move {
        cluster.silence(&["a1", "a2", "a3", "b1"]);
        cluster.pass(NOTICE_SECONDS + 600).await;
        cluster.tainted("/unreachable:NoExecute").await
    });
    assert!(tainted.contains(&"b1".to_owned()), "{tainted:?}");
    // Some of the three may have been tainted before the third was noticed.
    assert!(tainted.len() <= 3, "{tainted:?}");
}

#[test]
fn no_node_is_tainted_while_all_are_silent_and_later_one_after_the_other() {
    let (frozen, soon, later) = node_cluster(&[2, 2], &[], |mut cluster| async move {
        cluster.silence(&["a1", "a2", "b1", "b2"]);
        cluster.pass(NOTICE_SECONDS + 300).await;
        let frozen = (cluster.evicted().await, cluster.tainted("/unreachable:NoSchedule").await.len());
        cluster.heal(&["a1"]);
        cluster.pass(15).await;
        let soon = cluster.evicted().await;
        cluster.pass(30).await;
        (frozen, soon, cluster.evicted().await)
    });
    assert_eq!(frozen, (0, 4));
    assert!(soon <= 2, "{soon}");
    assert_eq!(later, 3);
}

#[test]
fn a_restart_removes_no_taints_and_restarts_no_toleration() {
    let run = |bugs: &[NodeBug]| {
        node_cluster(&[4, 4], bugs, |mut cluster| async move {
            cluster.pod("old", "a1", 100).await;
            cluster.pass(5).await;
            cluster.silence(&["a1", "a2"]);
            cluster.pass(NOTICE_SECONDS + 12).await;
            let before = cluster.evicted().await;
            cluster.restart();
            cluster.pass(2).await;
            let after = cluster.evicted().await;
            cluster.pass(98).await;
            (before, after, cluster.pod_states().await[0].3)
        })
    };
    assert_eq!(run(&[]), (2, 2, true));
    let (before, after, gone) = run(&[NodeBug::StartUntaints, NodeBug::StartRestartsTolerations]);
    assert_eq!((before, gone), (2, false));
    assert!(after < 2, "{after}");
}

#[test]
fn a_node_that_fails_again_is_tainted_again() {
    for (bugs, expected) in [(&[][..], 1), (&[NodeBug::TaintedOnce], 0)] {
        let again = node_cluster(&[3], bugs, |mut cluster| async move {
            cluster.silence(&["a1"]);
            cluster.pass(NOTICE_SECONDS).await;
            cluster.patch_node("a1", json!({"spec": {"taints": null}})).await;
            cluster.pass(20).await;
            cluster.evicted().await
        });
        assert_eq!(again, expected, "{bugs:?}");
    }
}

#[test]
fn a_zone_in_which_no_node_counts_keeps_its_rate() {
    let in_nine_seconds = |bugs: &[NodeBug]| {
        node_cluster(&[6], bugs, |mut cluster| async move {
            for number in 1..=6 {
                let label = json!({"metadata": {"labels": {"node.kubernetes.io/exclude-disruption": ""}}});
                cluster.patch_node(&format!("a{number}"), label).await;
            }
            cluster.silence(&["a1", "a2", "a3", "a4"]);
            let mut counts = Vec::new();
            for _ in 0..NOTICE_SECONDS {
                cluster.pass(1).await;
                counts.push(cluster.evicted().await);
            }
            counts.windows(10).map(|counts| counts[9] - counts[0]).max()
        })
    };
    assert_eq!(in_nine_seconds(&[]), Some(1));
    assert_eq!(in_nine_seconds(&[NodeBug::UncountedZonesForgotten]), Some(2));
}

#[test]
fn a_kubelet_clock_ahead_changes_nothing_and_one_behind_renews_nothing() {
    for (hours, expected) in [(48, 0), (-48, 1)] {
        let most = node_cluster(&[3], &[], |mut cluster| async move {
            cluster.fail(&["a1"], &NodeFault::Skew(SignedDuration::from_hours(hours)));
            let mut most = 0;
            for _ in 0..300 {
                cluster.pass(1).await;
                most = most.max(cluster.tainted("/unreachable:NoSchedule").await.len());
            }
            most
        });
        assert_eq!(most, expected, "{hours}");
    }
}

#[test]
fn no_node_counts_as_silent_because_the_clock_of_the_controllers_is_set() {
    for minutes in [10, -10] {
        let most = node_cluster(&[3], &[], |cluster| async move {
            let (mut most, mut guards) = (0, Vec::new());
            for set in [minutes, -minutes] {
                guards.push(cluster.clock.set_off(SignedDuration::from_mins(set)));
                for _ in 0..100 {
                    cluster.pass(1).await;
                    most = most.max(cluster.tainted("/unreachable:NoSchedule").await.len());
                }
            }
            most
        });
        assert_eq!(most, 0, "{minutes}");
    }
}

#[test]
fn a_toleration_ends_on_time_whatever_happens_to_the_clock() {
    for minutes in [0, 10, -10] {
        let left = node_cluster(&[3], &[], |mut cluster| async move {
            cluster.workload("Deployment", 3).await;
            cluster.pass(10).await;
            cluster.silence(&["a1"]);
            cluster.pass(NOTICE_SECONDS).await;
            let _wrong = cluster.clock.set_off(SignedDuration::from_mins(minutes));
            let mut leaving = Vec::new();
            for _ in 0..32 {
                cluster.pass(10).await;
                leaving.push(cluster.pod_states().await.iter().filter(|pod| pod.3).count());
            }
            leaving.iter().position(|count| *count > 0)
        });
        assert!((20..31).contains(&left.unwrap()), "{minutes}: {left:?}");
    }
}

#[test]
fn a_node_that_is_not_ready_is_tainted_at_once_and_its_taint_is_swapped_after_silence() {
    let (reported, silent) = node_cluster(&[3], &[], |mut cluster| async move {
        cluster.fail(&["a1"], &NodeFault::NotReady);
        cluster.pass(17).await;
        let reported =
            (cluster.tainted("/not-ready:NoExecute").await, cluster.tainted("/not-ready:NoSchedule").await);
        cluster.silence(&["a1"]);
        cluster.pass(NOTICE_SECONDS).await;
        (
            reported,
            (cluster.tainted("/not-ready:NoExecute").await, cluster.tainted("/unreachable:NoExecute").await),
        )
    });
    let a1 = vec!["a1".to_owned()];
    assert_eq!(reported, (a1.clone(), a1.clone()));
    assert_eq!(silent, (vec![], a1));
}

#[test]
fn silence_that_is_shorter_than_the_grace_period_is_not_noticed_however_often() {
    let tainted = node_cluster(&[3], &[], |mut cluster| async move {
        let mut most = 0;
        for _ in 0..10 {
            cluster.silence(&["a1"]);
            cluster.pass(30).await;
            most = most.max(cluster.tainted("").await.len());
            cluster.heal(&["a1"]);
            cluster.pass(15).await;
        }
        most
    });
    assert_eq!(tainted, 0);
}

#[test]
fn a_pod_that_comes_to_a_node_that_is_not_ready_is_marked() {
    for (bugs, ready) in [(&[][..], false), (&[NodeBug::NewcomersDropped], true)] {
        let reported = node_cluster(&[3], bugs, |mut cluster| async move {
            cluster.pod("late", "a1", 3000).await;
            cluster.pass(5).await;
            cluster.stop();
            cluster.silence(&["a1"]);
            cluster.patch_status_unknown("a1").await;
            cluster.restart();
            cluster.pass(3).await;
            cluster.pod_states().await[0].2
        });
        assert_eq!(reported, ready, "{bugs:?}");
    }
}

#[test]
fn a_silent_node_is_counted_in_its_zone() {
    let counted = node_cluster(&[4, 2], &[], |mut cluster| async move {
        cluster.silence(&["a1", "a2"]);
        cluster.pass(NOTICE_SECONDS + 20).await;
        cluster.metrics.text()
    });
    for line in [
        "node_collector_zone_size{zone=\":\0:a\"} 4",
        "node_collector_zone_health{zone=\":\0:a\"} 50",
        "node_collector_unhealthy_nodes_in_zone{zone=\":\0:a\"} 2",
        "node_collector_evictions_total{zone=\":\0:a\"} 2",
        "node_collector_evictions_total{zone=\":\0:b\"} 0",
    ] {
        assert!(counted.contains(line), "{line}\n{counted}");
    }
}

#[test]
fn an_evicted_pod_is_counted_with_its_delay() {
    let counted = node_cluster(&[2], &[], |mut cluster| async move {
        cluster.pod("web", "a1", 30).await;
        cluster.pass(10).await;
        cluster.silence(&["a1"]);
        cluster.pass(NOTICE_SECONDS + 40).await;
        cluster.metrics.text()
    });
    for line in [
        "taint_eviction_controller_pod_deletions_total 1",
        "taint_eviction_controller_pod_deletion_duration_seconds_bucket{le=\"0.1\"} 1",
    ] {
        assert!(counted.contains(line), "{line}\n{counted}");
    }
}

#[test]
fn a_node_that_shuts_down_reports_it_at_once_and_rejects_new_pods() {
    let (tainted, later, rejected) = node_cluster(&[3], &[], |mut cluster| async move {
        cluster.workload("Deployment", 3).await;
        cluster.pass(10).await;
        cluster.fail(&["a1"], &NodeFault::ShuttingDown);
        cluster.pass(1).await;
        let tainted = cluster.tainted("/not-ready:NoSchedule").await;
        cluster.pod("late", "a1", 60).await;
        cluster.pass(4).await;
        let late = cluster.pods().get("late").await.unwrap().status.unwrap();
        (tainted, cluster.pod_states().await, (late.phase, late.reason))
    });
    assert_eq!(tainted, ["a1"]);
    let ready: Vec<&str> = later.iter().filter(|pod| pod.2).map(|pod| pod.1.as_str()).collect();
    assert_eq!((ready.len(), ready.contains(&"a1")), (3, false), "{later:?}");
    assert_eq!(rejected, (Some("Failed".to_owned()), Some("NodeShutdown".to_owned())));
}
