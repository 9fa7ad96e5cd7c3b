//! Leader election: of several processes, only the one that holds a Lease works.
//!
//! Source of the rule: client-go `tools/leaderelection`, as the real controller manager uses it.

use std::time::Duration;

use capsize_clock::Clock;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};

/// The name of the Lease.
/// The name is that of the Lease of the real controller manager, so that the two managers never work at the same time.
pub(crate) const LEASE: &str = "karmada-controller-manager";

/// The name of the Lease for the node controllers: that of kube-controller-manager.
pub(crate) const NODE_LEASE: &str = "kube-controller-manager";

/// The durations of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How long the others wait for a leader that does not renew its Lease.
    pub lease_duration: Duration,
    /// How long a leader tries to renew its Lease before it gives up.
    pub renew_deadline: Duration,
    /// The time between two tries.
    pub retry_period: Duration,
}

/// The content of a Lease as observed by a candidate.
/// The type also records when the candidate first observed that content.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedLease {
    /// The content of the Lease.
    pub spec: LeaseSpec,
    /// When this content was first observed, as time since the start of the candidate's clock.
    pub since: Duration,
}

/// The next action of a candidate for a Lease.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// Another candidate holds the Lease.
    Wait,
    /// The candidate writes this content.
    Write(Box<LeaseSpec>),
}

/// The next action of the candidate `me` for the Lease that it observed, `None` where there is none.
/// `elapsed` is the time on the clock of `ObservedLease::since`, `now` that of time stamps.
///
/// A Lease runs out when its content has not changed for the candidate's own lease duration. The time stamps in the
/// Lease decide nothing, because the clocks of processes may differ. A Lease without a holder was given back.
#[must_use]
pub fn claim(
    observed: Option<&ObservedLease>,
    me: &str,
    times: Times,
    elapsed: Duration,
    now: Timestamp,
) -> Claim {
    let mut spec = LeaseSpec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: i32::try_from(times.lease_duration.as_secs()).ok(),
        acquire_time: Some(MicroTime(now)),
        renew_time: Some(MicroTime(now)),
        lease_transitions: Some(0),
        ..LeaseSpec::default()
    };
    let Some(ObservedLease { spec: old, since }) = observed else { return Claim::Write(Box::new(spec)) };
    let holder = old.holder_identity.as_deref().unwrap_or_default();
    if holder == me {
        spec.acquire_time.clone_from(&old.acquire_time);
        spec.lease_transitions = old.lease_transitions;
    } else if !holder.is_empty() && elapsed < *since + times.lease_duration {
        return Claim::Wait;
    } else {
        spec.lease_transitions = Some(old.lease_transitions.unwrap_or_default().saturating_add(1));
    }
    Claim::Write(Box::new(spec))
}

/// A process that wants to lead.
pub struct Candidate {
    leases: Api<Lease>,
    /// The name of the Lease.
    lease: String,
    clock: Clock,
    me: String,
    times: Times,
    observed: Option<ObservedLease>,
}

impl Candidate {
    /// A candidate called `me`, for the Lease called `lease` in `namespace`.
    #[must_use]
    pub fn new(
        client: Client,
        clock: Clock,
        (namespace, lease): (&str, &str),
        me: String,
        times: Times,
    ) -> Self {
        let leases = Api::namespaced(client, namespace);
        Self { leases, lease: lease.to_owned(), clock, me, times, observed: None }
    }

    /// How long the candidate tries to renew the Lease before it gives up.
    pub(crate) fn renew_deadline(&self) -> Duration {
        self.times.renew_deadline
    }

    /// Returns when this candidate leads.
    pub async fn elected(&mut self) {
        while !self.try_once().await {
            self.clock.sleep(self.times.retry_period).await;
        }
    }

    /// Renews the Lease; returns when no renewal has succeeded within the renew deadline.
    pub async fn deposed(&mut self) {
        let mut renewed = self.clock.elapsed();
        while self.clock.elapsed() < renewed + self.times.renew_deadline {
            self.clock.sleep(self.times.retry_period).await;
            let left = (renewed + self.times.renew_deadline).saturating_sub(self.clock.elapsed());
            let tried = tokio::time::timeout(left, self.try_once()).await;
            if tried.unwrap_or(false) {
                renewed = self.clock.elapsed();
            }
        }
    }

    /// Gives the Lease back, so that the next leader need not wait.
    pub async fn resign(&mut self) {
        let Ok(Some(mut lease)) = self.leases.get_opt(&self.lease).await else { return };
        let Some(spec) = lease.spec.as_mut().filter(|spec| spec.holder_identity.as_ref() == Some(&self.me))
        else {
            return;
        };
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(self.clock.now()));
        // A Lease that cannot be given back runs out.
        let _ = self.leases.replace(&self.lease, &PostParams::default(), &lease).await;
    }

    /// Reads the Lease, and claims it if possible. Returns whether this candidate leads now.
    async fn try_once(&mut self) -> bool {
        let lease = match self.leases.get_opt(&self.lease).await {
            Ok(lease) => lease,
            Err(error) => {
                tracing::warn!(%error, "the Lease of the leader cannot be read");
                return false;
            }
        };
        let elapsed = self.clock.elapsed();
        let spec = lease.as_ref().map(|lease| lease.spec.clone().unwrap_or_default());
        if spec.as_ref() != self.observed.as_ref().map(|observed| &observed.spec) {
            self.observed = spec.map(|spec| ObservedLease { spec, since: elapsed });
        }
        let now = self.clock.now();
        let Claim::Write(spec) = claim(self.observed.as_ref(), &self.me, self.times, elapsed, now) else {
            return false;
        };
        let metadata = ObjectMeta { name: Some(self.lease.clone()), ..ObjectMeta::default() };
        let metadata = lease.map_or(metadata, |lease| lease.metadata);
        let exists = metadata.uid.is_some();
        let lease = Lease { metadata, spec: Some(*spec.clone()) };
        let written = if exists {
            self.leases.replace(&self.lease, &PostParams::default(), &lease).await
        } else {
            self.leases.create(&PostParams::default(), &lease).await
        };
        match written {
            Ok(_) => {
                self.observed = Some(ObservedLease { spec: *spec, since: elapsed });
                true
            }
            Err(error) => {
                tracing::debug!(%error, "the Lease of the leader was not written");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times {
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    };

    fn observed(holder: &str, since: u64) -> ObservedLease {
        let spec = LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            acquire_time: Some(MicroTime(Timestamp::UNIX_EPOCH)),
            lease_transitions: Some(3),
            ..LeaseSpec::default()
        };
        ObservedLease { spec, since: Duration::from_secs(since) }
    }

    #[test]
    fn a_lease_is_claimed_when_it_is_free_ones_own_or_has_not_changed_for_its_duration() {
        let now = Timestamp::from_second(1_000).unwrap();
        let cases = [
            // The observed Lease and the elapsed time; then the expected transitions, and whether the Lease was
            // acquired now.
            (None, 0, Some((0, true))),
            (Some(observed("me", 0)), 1, Some((3, false))),
            (Some(observed("me", 0)), 1_000, Some((3, false))),
            (Some(observed("", 5)), 5, Some((4, true))),
            (Some(observed("other", 5)), 19, None),
            (Some(observed("other", 5)), 20, Some((4, true))),
        ];
        for (seen, elapsed, expected) in cases {
            let claimed = match claim(seen.as_ref(), "me", TIMES, Duration::from_secs(elapsed), now) {
                Claim::Wait => None,
                Claim::Write(spec) => {
                    assert_eq!(
                        (spec.holder_identity.as_deref(), spec.lease_duration_seconds),
                        (Some("me"), Some(15))
                    );
                    assert_eq!(spec.renew_time, Some(MicroTime(now)));
                    Some((spec.lease_transitions.unwrap(), spec.acquire_time == Some(MicroTime(now))))
                }
            };
            assert_eq!(claimed, expected, "{seen:?} at {elapsed}");
        }
    }
}
