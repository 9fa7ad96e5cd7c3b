//! Failover as it happens: members, controllers, default timings, virtual time.

use std::sync::Arc;

use crate::world::{World, one_to_two, two_of_four, world};
use capsize_clusters::{LinkFault, StartUp};
use capsize_controllers::Settings;
use capsize_controllers::rules::{Bug, ReferenceRules, Release, Rules};
use jiff::SignedDuration;
use kube::ResourceExt;

async fn settled(world: &World, placed: &[(&str, i32)]) {
    let placed: Vec<_> = placed.iter().map(|(name, replicas)| ((*name).to_owned(), *replicas)).collect();
    let holds = || async {
        let mut healthy = world.placed().await == placed;
        for (member, _) in &placed {
            healthy &= world.healthy(member).await;
        }
        healthy
    };
    world.until("placed and healthy", 60, holds).await;
}

/// Runs a test in a fleet with a workload that is settled on m1 and m2.
fn on_m1_and_m2<Fut: Future<Output = ()>>(test: impl FnOnce(World) -> Fut + Send) {
    world(7, |world| async move {
        world.deploy(2, two_of_four()).await;
        settled(&world, &[("m1", 2), ("m2", 2)]).await;
        test(world).await;
    });
}

#[test]
fn the_old_copy_is_deleted_only_after_the_spare_has_taken_over() {
    on_m1_and_m2(|world| async move {
        world.member("m3").set_start_up(StartUp::After(std::time::Duration::from_secs(20)));
        let fault = world.member("m2").link().apply(LinkFault::Refuse);

        let not_ready = world
            .until("m2 is not ready", 60, || async { !world.cluster("m2").await.unwrap().is_ready() })
            .await;
        assert!((30.0..41.0).contains(&not_ready), "{not_ready}");
        world
            .until("m2 is tainted", 1, || async { world.taints("m2").await == ["not-ready:NoSchedule"] })
            .await;
        let no_execute = world
            .until("m2 is tainted for eviction", 320, || async { world.taints("m2").await.len() == 2 })
            .await;
        assert!((299.0..311.0).contains(&no_execute), "{no_execute}");
        let evicted = world.until("m2 is evicted", 310, || async { world.leaving().await == ["m2"] }).await;
        assert!((298.0..301.0).contains(&evicted), "{evicted}");

        world.sleep(1).await;
        assert_eq!(world.placed().await, [("m1".to_owned(), 2), ("m3".to_owned(), 2)]);
        while world.work("m2").await.is_some_and(|work| work.metadata.deletion_timestamp.is_none()) {
            world.clock.sleep(std::time::Duration::from_millis(5)).await;
        }
        assert!(world.healthy("m3").await, "the old copy went before the new one was healthy");
        assert!(world.actual_copy("m2").await.is_some(), "an unreachable copy goes on");

        drop(fault);
        let gone = world
            .until("the old copy is gone", 60, || async {
                world.actual_copy("m2").await.is_none() && world.work("m2").await.is_none()
            })
            .await;
        assert!((30.0..42.0).contains(&gone), "{gone}");
        world.until("m2 is clean", 6, || async { world.taints("m2").await.is_empty() }).await;
        assert_eq!(world.placed().await, [("m1".to_owned(), 2), ("m3".to_owned(), 2)]);
    });
}

#[test]
fn the_eviction_waits_until_the_survivor_runs_all_replicas() {
    world(7, |world| async move {
        world.deploy(3, one_to_two()).await;
        settled(&world, &[("m1", 1), ("m2", 2)]).await;
        let _fault = world.member("m1").link().apply(LinkFault::Refuse);
        world.until("m1 is evicted", 700, || async { world.leaving().await == ["m1"] }).await;
        world.until("m1's task ends", 10, || async { world.leaving().await.is_empty() }).await;
        assert_eq!(world.placed().await, [("m2".to_owned(), 3)]);
        let ready = world.actual_copy("m2").await.unwrap().status.unwrap().ready_replicas;
        assert_eq!(ready, Some(3), "the task ended on a report of the schedule before");
    });
}

#[test]
fn a_replacement_that_never_starts_is_waited_for_until_the_timeout() {
    on_m1_and_m2(|world| async move {
        world.member("m3").set_start_up(StartUp::Never);
        let _fault = world.member("m1").link().apply(LinkFault::Refuse);
        world.until("m1 is evicted", 700, || async { world.leaving().await == ["m1"] }).await;
        let waited = world.until("the task ends", 700, || async { world.leaving().await.is_empty() }).await;
        assert!((599.0..601.5).contains(&waited), "{waited}");
    });
}

#[test]
fn an_outage_shorter_than_the_toleration_evicts_nothing() {
    on_m1_and_m2(|world| async move {
        let fault = world.member("m2").link().apply(LinkFault::Refuse);
        world.sleep(560).await;
        assert_eq!(world.taints("m2").await, ["not-ready:NoSchedule", "not-ready:NoExecute"]);
        drop(fault);
        world.sleep(120).await;
        assert_eq!(world.placed().await, [("m1".to_owned(), 2), ("m2".to_owned(), 2)]);
        assert_eq!(
            world.binding().await.unwrap().metadata.generation,
            Some(2),
            "nothing but the first schedule"
        );
    });
}

#[test]
fn a_member_that_never_answers_fails_like_one_that_refuses_and_stalls_no_other() {
    on_m1_and_m2(|world| async move {
        let direction = capsize_clusters::Direction::Both;
        let _fault = world.member("m2").link().apply(LinkFault::BlackHole { direction });
        let not_ready = world
            .until("m2 is not ready", 90, || async { !world.cluster("m2").await.unwrap().is_ready() })
            .await;
        assert!((62.0..86.0).contains(&not_ready), "{not_ready}");
        world
            .until("m2 is replaced", 700, || async {
                world.placed().await == [("m1".to_owned(), 2), ("m3".to_owned(), 2)]
                    && world.healthy("m3").await
            })
            .await;
    });
}

#[test]
fn a_copy_deleted_in_a_member_is_made_again() {
    on_m1_and_m2(|world| async move {
        let before = world.actual_copy("m1").await.unwrap().uid();
        let api = kube::Api::<k8s_openapi::api::apps::v1::Deployment>::namespaced(
            world.member("m1").client(),
            "default",
        );
        api.delete("web", &Default::default()).await.unwrap();
        world
            .until("there is another", 5, || async {
                world.actual_copy("m1").await.is_some_and(|copy| copy.uid() != before)
            })
            .await;
    });
}

#[test]
fn everything_is_deleted_with_its_template() {
    on_m1_and_m2(|world| async move {
        let api =
            kube::Api::<k8s_openapi::api::apps::v1::Deployment>::namespaced(world.client.clone(), "default");
        api.delete("web", &Default::default()).await.unwrap();
        world
            .until("all is gone", 5, || async {
                world.binding().await.is_none()
                    && world.work("m1").await.is_none()
                    && world.actual_copy("m1").await.is_none()
                    && world.actual_copy("m2").await.is_none()
            })
            .await;
    });
}

#[test]
fn a_cluster_that_is_removed_is_replaced_before_it_is_gone() {
    on_m1_and_m2(|world| async move {
        let api = kube::Api::<capsize_controllers::api::Cluster>::all(world.client.clone());
        api.delete("m2", &Default::default()).await.unwrap();
        world.until("m3 is healthy", 10, || async { world.healthy("m3").await }).await;
        assert_eq!(world.placed().await, [("m1".to_owned(), 2), ("m3".to_owned(), 2)]);
        world.until("m2 is gone", 60, || async { world.cluster("m2").await.is_none() }).await;
        assert!(world.actual_copy("m2").await.is_none(), "a member that is there is cleaned up");
    });
}

#[test]
fn a_cluster_is_removed_while_a_deleted_workload_waits_for_another() {
    on_m1_and_m2(|world| async move {
        let _fault = world.member("m1").link().apply(LinkFault::Refuse);
        let deployments =
            kube::Api::<k8s_openapi::api::apps::v1::Deployment>::namespaced(world.client.clone(), "default");
        deployments.delete("web", &Default::default()).await.unwrap();
        let clusters = kube::Api::<capsize_controllers::api::Cluster>::all(world.client.clone());
        clusters.delete("m2", &Default::default()).await.unwrap();
        // The controller checks every ten seconds: once for the workloads, once for the execution namespace.
        world.until("m2 is gone", 21, || async { world.cluster("m2").await.is_none() }).await;
        assert!(world.binding().await.is_some(), "what was written for m1 is waited for still");
    });
}

#[test]
fn controllers_finish_an_eviction_after_a_crash() {
    on_m1_and_m2(|mut world| async move {
        world.member("m3").set_start_up(StartUp::After(std::time::Duration::from_secs(60)));
        let _fault = world.member("m2").link().apply(LinkFault::Refuse);
        world.until("m2 is evicted", 700, || async { world.leaving().await == ["m2"] }).await;
        world.restart();
        world.until("the task ends", 90, || async { world.leaving().await.is_empty() }).await;
        settled(&world, &[("m1", 2), ("m3", 2)]).await;
    });
}

/// The final objects of the control plane, with their versions, which show the order of the writes.
fn end_of_failover(seed: u64) -> String {
    world(seed, |world| async move {
        world.deploy(2, two_of_four()).await;
        world.sleep(20).await;
        let fault = world.member("m2").link().apply(LinkFault::Refuse);
        world.sleep(700).await;
        drop(fault);
        world.sleep(100).await;
        world.all_objects().await
    })
}

#[test]
fn the_same_seed_writes_the_same_and_another_seed_something_else() {
    assert_eq!(end_of_failover(7), end_of_failover(7));
    assert_ne!(end_of_failover(7), end_of_failover(8));
}

#[test]
fn with_too_few_candidates_the_survivor_keeps_its_copy() {
    world(7, |world| async move {
        let mut placement = two_of_four();
        placement["clusterAffinity"]["clusterNames"] = serde_json::json!(["m1", "m2"]);
        world.deploy(2, placement).await;
        settled(&world, &[("m1", 2), ("m2", 2)]).await;
        let fault = world.member("m2").link().apply(LinkFault::Refuse);
        world.until("m2 is evicted", 700, || async { world.leaving().await == ["m2"] }).await;
        world.sleep(300).await;
        assert_eq!(world.placed().await, [("m1".to_owned(), 2)]);
        let status = world.binding().await.unwrap().status.unwrap();
        assert!(!capsize_controllers::api::is_true(&status.conditions, "Scheduled"));
        assert_eq!(world.leaving().await, ["m2"], "nothing stands in for it");
        drop(fault);
        world.sleep(400).await;
        settled(&world, &[("m1", 2), ("m2", 2)]).await;
    });
}

#[test]
fn an_untolerated_taint_evicts_at_once_and_for_good() {
    on_m1_and_m2(|world| async move {
        world.set_taint("m1", Some("NoExecute")).await;
        world.until("m1 is evicted", 1, || async { world.leaving().await == ["m1"] }).await;
        world.until("m1's task ends", 5, || async { world.leaving().await.is_empty() }).await;
        assert_eq!(world.placed().await, [("m2".to_owned(), 2), ("m3".to_owned(), 2)]);
        world.until("the copy is gone", 1, || async { world.actual_copy("m1").await.is_none() }).await;
        world.set_taint("m1", None).await;
        world.sleep(60).await;
        assert_eq!(world.placed().await, [("m2".to_owned(), 2), ("m3".to_owned(), 2)]);
    });
}

#[test]
fn two_members_that_fail_in_turn_are_both_replaced() {
    on_m1_and_m2(|world| async move {
        let _first = world.member("m1").link().apply(LinkFault::Refuse);
        world.sleep(100).await;
        let _second = world.member("m2").link().apply(LinkFault::Refuse);
        world.until("m1 is evicted", 700, || async { world.leaving().await == ["m1"] }).await;
        world
            .until("m2 is evicted", 200, || async { world.leaving().await.contains(&"m2".to_owned()) })
            .await;
        settled(&world, &[("m3", 2), ("m5", 2)]).await;
        world.until("the tasks end", 5, || async { world.leaving().await.is_empty() }).await;
    });
}

#[test]
fn a_workload_is_not_put_back_where_its_toleration_has_run_out() {
    world(7, |world| async move {
        let tolerations =
            serde_json::json!([{"key": "by-hand", "operator": "Exists", "tolerationSeconds": 30}]);
        world.deploy(2, serde_json::json!({"clusterTolerations": tolerations})).await;
        world.sleep(20).await;
        assert_eq!(world.placed().await.len(), 5);
        world.set_taint("m1", Some("NoExecute")).await;
        world.until("m1 is evicted", 31, || async { world.placed().await.len() == 4 }).await;
        world.sleep(100).await;
        assert_eq!(world.placed().await.len(), 4);
        assert!(world.binding().await.unwrap().metadata.generation < Some(10), "it goes there and back");
        world.set_taint("m1", None).await;
        world.until("m1 is back", 5, || async { world.healthy("m1").await }).await;
    });
}

#[test]
fn a_changed_template_reaches_the_targets_but_no_cluster_that_is_being_left() {
    on_m1_and_m2(|world| async move {
        world.member("m3").set_start_up(StartUp::Never);
        let _fault = world.member("m1").link().apply(LinkFault::Refuse);
        world.until("m1 is evicted", 700, || async { world.leaving().await == ["m1"] }).await;
        let before = world.work("m1").await.unwrap().spec;
        world.change_template(&serde_json::json!({"spec": {"replicas": 3, "paused": true}})).await;
        world.sleep(2).await;
        assert_eq!(world.placed().await, [("m2".to_owned(), 3), ("m3".to_owned(), 3)]);
        let spec = world.actual_copy("m2").await.unwrap().spec.unwrap();
        assert_eq!((spec.replicas, spec.paused), (Some(3), Some(true)));
        assert_eq!(world.work("m1").await.unwrap().spec, before);
    });
}

#[test]
fn evictions_follow_the_configured_rate() {
    world(7, |mut world| async move {
        world.restart_with(Settings { resource_eviction_rate: Some(0.5), ..Settings::default() });
        world.configure(9).await;
        world.until("all are placed", 5, || async { world.bound_to("m1").await == 9 }).await;
        world.set_taint("m1", Some("NoExecute")).await;
        world.sleep(1).await;
        // Each of the three workers pauses for two seconds after each binding.
        for left in [6, 3, 0] {
            assert_eq!(world.bound_to("m1").await, left);
            world.sleep(2).await;
        }
    });
}

#[test]
fn repeated_restarts_of_the_controllers_delay_the_no_execute_taint() {
    world(7, |mut world| async move {
        let _fault = world.member("m2").link().apply(LinkFault::Refuse);
        world.until("m2 is tainted", 60, || async { world.taints("m2").await.len() == 1 }).await;
        for _ in 0..3 {
            world.sleep(240).await;
            assert_eq!(world.taints("m2").await, ["not-ready:NoSchedule"]);
            world.restart();
        }
        let left =
            world.until("m2 is tainted for eviction", 320, || async { world.taints("m2").await.len() == 2 });
        let left = left.await;
        assert!((299.0..311.0).contains(&left), "{left}");
    });
}

#[test]
fn members_are_probed_at_the_configured_rate_whatever_is_written() {
    let rows: [(Arc<dyn Rules>, std::ops::Range<usize>); 2] =
        [(Arc::new(ReferenceRules), 6..7), (Arc::new(Release::with(Bug::ReportsBringProbes)), 15..40)];
    for (rules, expected) in rows {
        world(7, |mut world| async move {
            world.restart_with_rules(rules);
            world.sleep(5).await;
            let before = world.probes("m1");
            for round in 0..15 {
                world.set_taint("m1", Some("NoSchedule").filter(|_| round % 2 == 0)).await;
                world.sleep(4).await;
            }
            let asked = world.probes("m1") - before;
            assert!(expected.contains(&asked), "{asked}");
        });
    }
}

#[test]
fn a_member_reports_its_nodes_by_nine_grades() {
    world(7, |world| async move {
        let cluster = world.cluster("m1").await.unwrap();
        let modelings = cluster.status.unwrap().resource_summary.unwrap().allocatable_modelings;
        let counts: Vec<_> = modelings.iter().map(|modeling| modeling.count).collect();
        assert_eq!(counts, [0, 0, 0, 1, 0, 0, 0, 0, 0], "one of 8 CPUs and 32 GiB");
    });
}

#[test]
fn setting_the_clock_does_not_change_how_long_a_member_is_away() {
    for hours in [1, -1] {
        world(7, |world| async move {
            let _fault = world.member("m2").link().apply(LinkFault::Refuse);
            world.sleep(15).await;
            let _wrong = world.clock.set_off(SignedDuration::from_hours(hours));
            let not_ready = || async { !world.cluster("m2").await.unwrap().is_ready() };
            let not_ready = world.until("m2 is not ready", 60, not_ready).await;
            assert!((15.0..26.0).contains(&not_ready), "{not_ready}");
            world.sleep(100).await;
            let _right = world.clock.set_off(SignedDuration::from_hours(-hours));
            let tainted = || async { world.taints("m2").await.len() == 2 };
            let no_execute = world.until("m2 is tainted for eviction", 320, tainted).await;
            assert!((198.0..212.0).contains(&no_execute), "{no_execute}");
            assert!(world.taints("m1").await.is_empty(), "nothing is wrong with m1");
        });
    }
}

#[test]
fn setting_the_clock_moves_the_end_of_a_toleration_at_the_next_check() {
    // A binding that has been looked at waits for a timer, which no setting of the clock moves, and is checked again
    // then.
    for (pause, set, least) in [(5, 0, 293), (5, -100, 393), (5, 100, 293), (0, 100, 198)] {
        on_m1_and_m2(|world| async move {
            let _fault = world.member("m2").link().apply(LinkFault::Refuse);
            world.until("m2 is tainted", 400, || async { world.taints("m2").await.len() == 2 }).await;
            world.sleep(pause).await;
            let _wrong = world.clock.set_off(SignedDuration::from_secs(set));
            let evicted =
                world.until("m2 is evicted", 410, || async { world.leaving().await == ["m2"] }).await;
            let least = f64::from(least);
            assert!((least..least + 3.0).contains(&evicted), "{set}: {evicted}");
        });
    }
}
