//! The node controllers on a simulated cluster, in cases that no recording of a real one shows.

use capsize_clusters::NodeFault;
use capsize_controllers::rules::node::NodeBug;
use jiff::SignedDuration;
use serde_json::json;

mod site;

use site::site;

/// The longest time from a node's silence to its taint: a heartbeat, the grace period and two checks.
const NOTICED: u64 = 72;

#[test]
fn a_workload_moves_when_its_node_is_silent_for_longer_than_it_tolerates() {
    let (marked, moved, back) = site(&[3], &[], |mut site| async move {
        site.workload("Deployment", 3).await;
        site.pass(10).await;
        site.silence(&["a1"]);
        site.pass(NOTICED).await;
        let marked = site.there().await;
        site.pass(310).await;
        let moved = site.there().await;
        site.heal(&["a1"]);
        site.pass(20).await;
        (marked, moved, site.there().await)
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
        "the old pod stays until its kubelet is heard: {moved:?}"
    );
    assert!(moved.iter().all(|pod| pod.3 == (pod.1 == "a1") && pod.2 == (pod.1 != "a1")), "{moved:?}");
    assert_eq!((back.len(), on(&back, "a1")), (3, 0), "{back:?}");
}

#[test]
fn a_node_that_falls_silent_and_each_of_its_pods_are_told_of_once() {
    let (told, pods) = site(&[3], &[], |mut site| async move {
        site.workload("Deployment", 3).await;
        site.pass(10).await;
        site.silence(&["a1"]);
        site.pass(NOTICED).await;
        (site.told("NodeNotReady").await, site.there().await)
    });
    let of_pods = pods.iter().filter(|pod| pod.1 == "a1").map(|pod| ("Pod".to_owned(), pod.0.clone()));
    let mut expected: Vec<_> = of_pods.chain([("Node".to_owned(), "a1".to_owned())]).collect();
    expected.sort();
    let mut told = told;
    told.sort();
    assert_eq!(told, expected);
}

#[test]
fn a_pod_with_a_number_comes_again_only_when_its_node_is_back_or_gone() {
    for deleted in [false, true] {
        let (away, after) = site(&[3], &[], |mut site| async move {
            site.workload("StatefulSet", 3).await;
            site.pass(10).await;
            site.silence(&["a1"]);
            site.pass(NOTICED + 310).await;
            let away = site.there().await;
            if deleted {
                site.delete_node("a1").await;
            } else {
                site.heal(&["a1"]);
            }
            site.pass(90).await;
            (away, site.there().await)
        });
        assert_eq!(away.iter().filter(|pod| pod.2).count(), 2, "{away:?}");
        assert_eq!(after.iter().filter(|pod| pod.2 && !pod.3).count(), 3, "{deleted} {after:?}");
    }
}

#[test]
fn pods_keep_away_from_nodes_under_pressure_and_from_cordoned_ones() {
    let nodes = site(&[3], &[], |mut site| async move {
        site.fail(&["a1"], &NodeFault::Pressure("MemoryPressure".into()));
        site.patch_node("a2", json!({"spec": {"unschedulable": true}})).await;
        site.pass(11).await;
        site.workload("Deployment", 3).await;
        site.pass(10).await;
        site.there().await.into_iter().map(|pod| (pod.1, pod.2)).collect::<Vec<_>>()
    });
    assert_eq!(nodes, vec![("a3".to_owned(), true); 3]);
}

#[test]
fn nodes_are_tainted_one_every_ten_seconds() {
    let counts = site(&[9], &[], |mut site| async move {
        site.silence(&["a1", "a2", "a3", "a4"]);
        let mut counts = Vec::new();
        site.pass(NOTICED - 1).await;
        for _ in 0..4 {
            counts.push(site.evicted().await);
            site.pass(10).await;
        }
        counts
    });
    assert!(counts.windows(2).all(|pair| pair[1] - pair[0] <= 1), "{counts:?}");
    assert_eq!(counts.last(), Some(&4), "{counts:?}");
}

#[test]
fn a_small_zone_that_is_partly_gone_is_left_alone_while_another_goes_on() {
    let tainted = site(&[5, 4], &[], |mut site| async move {
        site.silence(&["a1", "a2", "a3", "b1"]);
        site.pass(NOTICED + 600).await;
        site.tainted("/unreachable:NoExecute").await
    });
    assert!(tainted.contains(&"b1".to_owned()), "{tainted:?}");
    // Some of the three may have been tainted before the third was noticed.
    assert!(tainted.len() <= 3, "{tainted:?}");
}

#[test]
fn where_everything_is_silent_nothing_is_evicted_and_then_one_after_the_other() {
    let (frozen, soon, later) = site(&[2, 2], &[], |mut site| async move {
        site.silence(&["a1", "a2", "b1", "b2"]);
        site.pass(NOTICED + 300).await;
        let frozen = (site.evicted().await, site.tainted("/unreachable:NoSchedule").await.len());
        site.heal(&["a1"]);
        site.pass(15).await;
        let soon = site.evicted().await;
        site.pass(30).await;
        (frozen, soon, site.evicted().await)
    });
    assert_eq!(frozen, (0, 4));
    assert!(soon <= 2, "{soon}");
    assert_eq!(later, 3);
}

#[test]
fn a_start_takes_no_taints_away_and_begins_no_toleration_anew() {
    let run = |bugs: &[NodeBug]| {
        site(&[4, 4], bugs, |mut site| async move {
            site.pod("old", "a1", 100).await;
            site.pass(5).await;
            site.silence(&["a1", "a2"]);
            site.pass(NOTICED + 12).await;
            let before = site.evicted().await;
            site.restart();
            site.pass(2).await;
            let after = site.evicted().await;
            site.pass(98).await;
            (before, after, site.there().await[0].3)
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
        let again = site(&[3], bugs, |mut site| async move {
            site.silence(&["a1"]);
            site.pass(NOTICED).await;
            site.patch_node("a1", json!({"spec": {"taints": null}})).await;
            site.pass(20).await;
            site.evicted().await
        });
        assert_eq!(again, expected, "{bugs:?}");
    }
}

#[test]
fn a_zone_in_which_no_node_counts_keeps_its_rate() {
    let in_nine_seconds = |bugs: &[NodeBug]| {
        site(&[6], bugs, |mut site| async move {
            for number in 1..=6 {
                let label = json!({"metadata": {"labels": {"node.kubernetes.io/exclude-disruption": ""}}});
                site.patch_node(&format!("a{number}"), label).await;
            }
            site.silence(&["a1", "a2", "a3", "a4"]);
            let mut counts = Vec::new();
            for _ in 0..NOTICED {
                site.pass(1).await;
                counts.push(site.evicted().await);
            }
            counts.windows(10).map(|counts| counts[9] - counts[0]).max()
        })
    };
    assert_eq!(in_nine_seconds(&[]), Some(1));
    assert_eq!(in_nine_seconds(&[NodeBug::UncountedZonesForgotten]), Some(2));
}

#[test]
fn a_clock_that_is_wrong_changes_nothing_but_one_that_is_set_back_renews_nothing() {
    for (hours, expected) in [(48, 0), (-48, 1)] {
        let most = site(&[3], &[], |mut site| async move {
            site.fail(&["a1"], &NodeFault::Skew(SignedDuration::from_hours(hours)));
            let mut most = 0;
            for _ in 0..300 {
                site.pass(1).await;
                most = most.max(site.tainted("/unreachable:NoSchedule").await.len());
            }
            most
        });
        assert_eq!(most, expected, "{hours}");
    }
}

#[test]
fn nobody_is_missed_because_the_clock_of_the_controllers_is_set() {
    for minutes in [10, -10] {
        let most = site(&[3], &[], |site| async move {
            let (mut most, mut guards) = (0, Vec::new());
            for set in [minutes, -minutes] {
                guards.push(site.clock.set_off(SignedDuration::from_mins(set)));
                for _ in 0..100 {
                    site.pass(1).await;
                    most = most.max(site.tainted("/unreachable:NoSchedule").await.len());
                }
            }
            most
        });
        assert_eq!(most, 0, "{minutes}");
    }
}

#[test]
fn what_a_pod_tolerates_is_over_in_its_time_whatever_becomes_of_the_clock_meanwhile() {
    for minutes in [0, 10, -10] {
        let left = site(&[3], &[], |mut site| async move {
            site.workload("Deployment", 3).await;
            site.pass(10).await;
            site.silence(&["a1"]);
            site.pass(NOTICED).await;
            let _wrong = site.clock.set_off(SignedDuration::from_mins(minutes));
            let mut leaving = Vec::new();
            for _ in 0..32 {
                site.pass(10).await;
                leaving.push(site.there().await.iter().filter(|pod| pod.3).count());
            }
            leaving.iter().position(|count| *count > 0)
        });
        assert!((20..31).contains(&left.unwrap()), "{minutes}: {left:?}");
    }
}

#[test]
fn a_kubelet_that_says_that_it_is_not_ready_is_believed_at_once_and_swapped_for_silence_later() {
    let (told, silent) = site(&[3], &[], |mut site| async move {
        site.fail(&["a1"], &NodeFault::NotReady);
        site.pass(17).await;
        let told = (site.tainted("/not-ready:NoExecute").await, site.tainted("/not-ready:NoSchedule").await);
        site.silence(&["a1"]);
        site.pass(NOTICED).await;
        (told, (site.tainted("/not-ready:NoExecute").await, site.tainted("/unreachable:NoExecute").await))
    });
    let a1 = vec!["a1".to_owned()];
    assert_eq!(told, (a1.clone(), a1.clone()));
    assert_eq!(silent, (vec![], a1));
}

#[test]
fn silence_that_is_shorter_than_the_grace_period_is_not_noticed_however_often() {
    let tainted = site(&[3], &[], |mut site| async move {
        let mut most = 0;
        for _ in 0..10 {
            site.silence(&["a1"]);
            site.pass(30).await;
            most = most.max(site.tainted("").await.len());
            site.heal(&["a1"]);
            site.pass(15).await;
        }
        most
    });
    assert_eq!(tainted, 0);
}

#[test]
fn a_pod_that_comes_to_a_node_that_is_not_ready_is_marked() {
    for (bugs, ready) in [(&[][..], false), (&[NodeBug::NewcomersDropped], true)] {
        let told = site(&[3], bugs, |mut site| async move {
            site.pod("late", "a1", 3000).await;
            site.pass(5).await;
            site.stop();
            site.silence(&["a1"]);
            site.patch_status_unknown("a1").await;
            site.restart();
            site.pass(3).await;
            site.there().await[0].2
        });
        assert_eq!(told, ready, "{bugs:?}");
    }
}

#[test]
fn a_node_that_falls_silent_is_counted_where_it_stands() {
    let counted = site(&[4, 2], &[], |mut site| async move {
        site.silence(&["a1", "a2"]);
        site.pass(NOTICED + 20).await;
        site.metrics.text()
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
fn a_pod_that_a_taint_drives_out_is_counted_with_how_late_it_went() {
    let counted = site(&[2], &[], |mut site| async move {
        site.pod("web", "a1", 30).await;
        site.pass(10).await;
        site.silence(&["a1"]);
        site.pass(NOTICED + 40).await;
        site.metrics.text()
    });
    for line in [
        "taint_eviction_controller_pod_deletions_total 1",
        "taint_eviction_controller_pod_deletion_duration_seconds_bucket{le=\"0.1\"} 1",
    ] {
        assert!(counted.contains(line), "{line}\n{counted}");
    }
}
