//! The claim of a run on a cluster that exists: a Lease there that carries the identity of the run.
//!
//! The implementation under test writes its objects without the identity of the run. The claim assigns them to the
//! run: it exists before the first object and until after the last, it names their label, and only one run holds it
//! at a time.

use capsize_clusters::ProviderError;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::{DeleteParams, ObjectMeta, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};

use crate::journal::RUN_ID;
use crate::run_id::RunId;

/// Namespace and name of the Lease.
const NAMESPACE: &str = "default";
const NAME: &str = "capsize";

/// The annotation that names the label of the objects.
const SELECTOR: &str = "capsize.selector";

/// The claim of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// The identity of the run in the Lease.
    run: String,
    /// The label of the objects in the Lease.
    selector: String,
    uid: Option<String>,
}

impl Claim {
    /// Whether it belongs to `run` and is for objects with this label.
    pub(super) fn is_of(&self, run: &RunId, selector: &str) -> bool {
        self.run == run.as_str() && self.selector == selector
    }

    /// Whether it belongs to another run.
    pub(super) fn is_of_another_than(&self, run: &RunId) -> bool {
        self.run != run.as_str()
    }

    /// Reads the claim on a cluster, if there is one.
    pub(super) async fn find(client: &Client) -> Result<Option<Self>, ProviderError> {
        let lease = leases(client).get_opt(NAME).await.map_err(failed("be read"))?;
        Ok(lease.map(|lease| {
            let selector = lease.annotations().get(SELECTOR).cloned().unwrap_or_default();
            let uid = lease.uid();
            let run = lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
            Self { run, selector, uid }
        }))
    }

    /// Claims a cluster for `run`, whose objects there will have the label `selector`.
    ///
    /// # Errors
    /// Another run has claimed it, or the Lease cannot be made.
    pub(super) async fn make(client: &Client, run: &RunId, selector: &str) -> Result<(), ProviderError> {
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(NAME.to_owned()),
                labels: Some([(RUN_ID.to_owned(), run.to_string())].into()),
                annotations: Some([(SELECTOR.to_owned(), selector.to_owned())].into()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec { holder_identity: Some(run.to_string()), ..LeaseSpec::default() }),
        };
        match leases(client).create(&PostParams::default(), &lease).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            created => return created.map(drop).map_err(failed("be made")),
        }
        match Self::find(client).await? {
            Some(claim) if claim.is_of(run, selector) => Ok(()),
            claim => {
                let run = claim.map(|claim| claim.run).unwrap_or_default();
                Err(ProviderError(format!(
                    "the run {run} uses it: it holds the Lease {NAMESPACE}/{NAME} there. If that run is over, `capsize doctor \
                     --heal` on its machine ends that; if that machine is no more, delete the Lease"
                )))
            }
        }
    }

    /// Releases the cluster.
    pub(super) async fn release(&self, client: &Client) -> Result<(), ProviderError> {
        let preconditions = Preconditions { uid: self.uid.clone(), resource_version: None };
        let delete = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match leases(client).delete(NAME, &delete).await {
            // The Lease is gone, or is another one by now.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
            deleted => deleted.map(drop).map_err(failed("be deleted")),
        }
    }
}

fn leases(client: &Client) -> Api<Lease> {
    Api::namespaced(client.clone(), NAMESPACE)
}

fn failed(what: &str) -> impl Fn(kube::Error) -> ProviderError {
    move |error| {
        ProviderError(format!(
            "the Lease {NAMESPACE}/{NAME}, by which a run claims a cluster, cannot {what}: {error}"
        ))
    }
}
