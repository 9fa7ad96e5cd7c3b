//! Two candidates and one Lease, in virtual time.

use std::time::Duration;

use capsize_apiserver::ApiServer;
use capsize_clock::{Seed, simulate};
use capsize_manager::{Candidate, Times};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

const TIMES: Times = Times {
    lease_duration: Duration::from_secs(15),
    renew_deadline: Duration::from_secs(10),
    retry_period: Duration::from_secs(2),
};

async fn transitions(client: &Client) -> Option<i32> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "karmada-system");
    leases.get("karmada-controller-manager").await.ok()?.spec?.lease_transitions
}

#[test]
fn the_next_leads_when_the_first_has_been_silent_for_the_duration_or_gives_the_lease_back() {
    simulate(Seed(1), |run| async move {
        let client = ApiServer::builder(run.clock, run.seed.stream("api")).build().client();
        let metadata = ObjectMeta { name: Some("karmada-system".into()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await.expect("it is new");
        let candidate = |name: &str| {
            Candidate::new(
                client.clone(),
                run.clock,
                ("karmada-system", "karmada-controller-manager"),
                name.to_owned(),
                TIMES,
            )
        };

        let mut first = candidate("first");
        first.elected().await;
        assert_eq!(run.clock.elapsed(), Duration::ZERO);
        // The first leads for a minute while the second waits, and then stops without giving the Lease back.
        let mut second = candidate("second");
        let led = tokio::select! {
            () = first.deposed() => "deposed",
            () = second.elected() => "both lead",
            () = run.clock.sleep(Duration::from_secs(60)) => "leads",
        };
        assert_eq!(led, "leads");
        drop(first);
        let silent = run.clock.elapsed();
        second.elected().await;
        let waited = run.clock.elapsed() - silent;
        let (least, most) =
            (TIMES.lease_duration - TIMES.retry_period, TIMES.lease_duration + TIMES.retry_period);
        assert!((least..=most).contains(&waited), "{waited:?}");
        assert_eq!(transitions(&client).await, Some(1));

        second.resign().await;
        let given_back = run.clock.elapsed();
        candidate("third").elected().await;
        assert_eq!((run.clock.elapsed(), transitions(&client).await), (given_back, Some(2)));
        // The second finds the name of another candidate on the Lease, and gives up at its deadline.
        second.deposed().await;
        assert_eq!(run.clock.elapsed() - given_back, TIMES.renew_deadline);
    });
}
