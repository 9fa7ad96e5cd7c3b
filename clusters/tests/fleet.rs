//! The simulated workloads of a member, observed directly and by the control plane over the link.

#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use std::time::Duration;

use capsize_clock::{Seed, Simulation, simulate};
use capsize_clusters::{ErrorStatus, Fleet, FleetSpec, LinkFault, MemberSpec, ServerFault, StartUp};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

const MOMENT: Duration = Duration::from_millis(10);
const SECOND: Duration = Duration::from_secs(1);

fn fleet(run: Simulation, start_up: StartUp) -> Fleet {
    let member = MemberSpec { start_up, ..MemberSpec::named("m1") };
    Fleet::embedded(run, &FleetSpec { members: vec![member] }, None)
}

fn deployments(fleet: &Fleet) -> Api<Deployment> {
    Api::namespaced(fleet.member("m1").unwrap().remote_client(), "default")
}

async fn deploy(api: &Api<Deployment>, replicas: i32) {
    let web = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web" },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
            },
        },
    });
    api.create(&PostParams::default(), &serde_json::from_value(web).unwrap()).await.unwrap();
}

async fn status(api: &Api<Deployment>) -> DeploymentStatus {
    api.get_status("web").await.unwrap().status.unwrap_or_default()
}

#[test]
fn the_control_plane_alone_sees_the_trouble_of_an_api_server() {
    simulate(Seed(1), |run| async move {
        let fleet = fleet(run, StartUp::After(SECOND));
        let (api, member) = (deployments(&fleet), fleet.member("m1").unwrap());
        deploy(&api, 1).await;
        let _fault = member.api_faults().apply(ServerFault::Fail {
            status: ErrorStatus::InternalError,
            every: 1,
            verb: None,
        });
        assert!(api.get("web").await.is_err());
        run.clock.sleep(2 * SECOND).await;
        let inside: Api<Deployment> = Api::namespaced(member.client(), "default");
        assert_eq!(status(&inside).await.ready_replicas, Some(1));
    });
}

#[test]
fn replicas_are_seen_at_once_and_ready_after_their_start_up_time() {
    simulate(Seed(1), |run| async move {
        let fleet = fleet(run, StartUp::After(Duration::from_millis(1500)));
        let api = deployments(&fleet);
        deploy(&api, 2).await;
        run.clock.sleep(Duration::from_millis(100) + MOMENT).await;
        let seen = status(&api).await;
        assert_eq!(
            (seen.observed_generation, seen.replicas, seen.unavailable_replicas),
            (Some(1), Some(2), Some(2))
        );
        assert_eq!(seen.ready_replicas, None);
        run.clock.sleep(Duration::from_millis(1500) - 2 * MOMENT).await;
        assert_eq!(status(&api).await.ready_replicas, None);
        run.clock.sleep(2 * MOMENT).await;
        let ready = status(&api).await;
        assert_eq!(
            (ready.ready_replicas, ready.available_replicas, ready.unavailable_replicas),
            (Some(2), Some(2), None)
        );
    });
}

#[test]
fn replicas_that_are_ready_stay_so_while_others_come_up() {
    simulate(Seed(1), |run| async move {
        let fleet = fleet(run, StartUp::After(Duration::from_secs(10)));
        let api = deployments(&fleet);
        deploy(&api, 2).await;
        run.clock.sleep(Duration::from_secs(20)).await;
        let scale = |replicas: i32| Patch::Merge(json!({ "spec": { "replicas": replicas } }));
        api.patch("web", &PatchParams::default(), &scale(3)).await.unwrap();
        run.clock.sleep(Duration::from_secs(5)).await;
        let growing = status(&api).await;
        assert_eq!((growing.observed_generation, growing.replicas), (Some(2), Some(3)));
        assert_eq!((growing.ready_replicas, growing.unavailable_replicas), (Some(2), Some(1)));
        api.patch("web", &PatchParams::default(), &scale(1)).await.unwrap();
        run.clock.sleep(Duration::from_secs(5)).await;
        let shrunk = status(&api).await;
        assert_eq!(
            (shrunk.replicas, shrunk.ready_replicas, shrunk.unavailable_replicas),
            (Some(1), Some(1), None)
        );
    });
}

#[test]
fn replicas_that_never_start_get_another_chance_when_the_setting_changes() {
    simulate(Seed(1), |run| async move {
        let fleet = fleet(run, StartUp::Never);
        let api = deployments(&fleet);
        deploy(&api, 2).await;
        run.clock.sleep(Duration::from_secs(86_400)).await;
        assert_eq!(status(&api).await.ready_replicas, None);
        fleet.member("m1").unwrap().set_start_up(StartUp::After(Duration::from_secs(1)));
        run.clock.sleep(Duration::from_secs(2)).await;
        assert_eq!(status(&api).await.ready_replicas, Some(2));
    });
}

#[test]
fn start_up_times_are_drawn_from_the_range_and_differ_by_seed() {
    let ready_after = |seed| {
        simulate(Seed(seed), |run| async move {
            let fleet = fleet(run, StartUp::Between(Duration::from_secs(2), Duration::from_secs(40)));
            let api = deployments(&fleet);
            deploy(&api, 1).await;
            while status(&api).await.ready_replicas.is_none() {
                run.clock.sleep(MOMENT).await;
            }
            run.clock.elapsed()
        })
    };
    let times: Vec<Duration> = (0..8).map(ready_after).collect();
    assert!(times.iter().all(|time| (2..=41).contains(&time.as_secs())), "{times:?}");
    assert_ne!(times[0], times[1]);
    assert_eq!(times[0], ready_after(0));
}

#[test]
fn the_inside_goes_on_behind_a_broken_link() {
    simulate(Seed(1), |run| async move {
        let fleet = fleet(run, StartUp::After(Duration::from_secs(10)));
        let api = deployments(&fleet);
        deploy(&api, 2).await;
        let member = fleet.member("m1").unwrap();
        let guard = member.link().apply(LinkFault::Refuse);
        run.clock.sleep(Duration::from_secs(20)).await;
        assert!(api.get("web").await.is_err());
        let truth: Api<Deployment> = Api::namespaced(member.client(), "default");
        assert_eq!(status(&truth).await.ready_replicas, Some(2));
        drop(guard);
        assert_eq!(status(&api).await.ready_replicas, Some(2));
    });
}

#[test]
fn nodes_have_capacity_and_a_lease_that_is_renewed() {
    simulate(Seed(1), |run| async move {
        let fleet = fleet(run, StartUp::Never);
        let client = fleet.member("m1").unwrap().remote_client();
        run.clock.sleep(Duration::from_secs(3605)).await;
        let nodes = Api::<Node>::all(client.clone()).list(&ListParams::default()).await.unwrap();
        let status = nodes.items[0].status.clone().unwrap();
        assert_eq!(nodes.items[0].spec.clone().unwrap_or_default().taints, None);
        assert!(status.allocatable.unwrap().contains_key("cpu"));
        assert!(status.conditions.unwrap().iter().any(|one| one.type_ == "Ready" && one.status == "True"));
        let lease = Api::<Lease>::namespaced(client, "kube-node-lease").get("m1-node-1").await.unwrap();
        let age = run.clock.now().duration_since(lease.spec.unwrap().renew_time.unwrap().0);
        assert!(age.as_secs() < 10, "{age}");
    });
}

#[test]
fn a_member_that_is_restored_goes_on_from_what_it_held() {
    simulate(Seed(1), |run| async move {
        let fleet = fleet(run, StartUp::After(SECOND));
        let (api, member) = (deployments(&fleet), fleet.member("m1").unwrap());
        deploy(&api, 2).await;
        let backup = member.backup().unwrap();
        run.clock.sleep(2 * SECOND).await;
        assert_eq!(status(&api).await.ready_replicas, Some(2));
        member.restore(&backup);
        assert_eq!(status(&api).await.ready_replicas, None);
        run.clock.sleep(2 * SECOND).await;
        assert_eq!(status(&api).await.ready_replicas, Some(2));
        // Later changes are handled as well.
        let more = Patch::Merge(json!({"spec": {"replicas": 3}}));
        api.patch("web", &PatchParams::default(), &more).await.unwrap();
        run.clock.sleep(2 * SECOND).await;
        assert_eq!(status(&api).await.ready_replicas, Some(3));
    });
}

#[test]
fn a_member_that_has_lost_all_comes_back_with_its_nodes() {
    simulate(Seed(1), |run| async move {
        let fleet = fleet(run, StartUp::After(SECOND));
        let (api, member) = (deployments(&fleet), fleet.member("m1").unwrap());
        let nodes = Api::<Node>::all(member.client());
        let count = async || nodes.list(&ListParams::default()).await.unwrap().items.len();
        deploy(&api, 2).await;
        run.clock.sleep(2 * SECOND).await;
        assert_eq!(count().await, 1);
        let off = member.shut_off();
        member.lose_all();
        run.clock.sleep(60 * SECOND).await;
        let inside = member.client().apiserver_version().await;
        assert!(inside.is_err() && member.remote_client().apiserver_version().await.is_err());
        assert!(member.restore_observer().apiserver_version().await.is_ok());
        drop(off);
        assert_eq!((count().await, api.get_opt("web").await.unwrap()), (0, None));
        member.begin_anew();
        run.clock.sleep(SECOND).await;
        assert_eq!(count().await, 1);
        deploy(&api, 1).await;
        run.clock.sleep(2 * SECOND).await;
        assert_eq!(status(&api).await.ready_replicas, Some(1));
    });
}
