"""The agent of one zone. It renews the Lease of the zone in the hub, and applies the Bundles of the zone to the member.

Each round compares the copies in the member with the Bundles. So the agent can be cut off or killed at any time.
"""

import argparse
import threading
import time
from datetime import datetime, timezone

from api import BUNDLES, LEASES, Api, Refused

MANAGED = "zones.example.com/managed"
BUNDLE = "zones.example.com/bundle"
DEPLOYMENTS = "/apis/apps/v1/deployments"
ROUND = 0.3


def path_of(deployment):
    metadata = deployment["metadata"]
    return f"/apis/apps/v1/namespaces/{metadata['namespace']}/deployments/{metadata['name']}"


def copy_of(bundle):
    """The manifest of a Bundle, with a label and an annotation by which the agent finds its copies again."""
    manifest = bundle["spec"]["object"]
    metadata = manifest["metadata"]
    labels = metadata.get("labels", {}) | {MANAGED: "true"}
    annotations = metadata.get("annotations", {}) | {BUNDLE: bundle["metadata"]["name"]}
    return manifest | {"metadata": metadata | {"labels": labels, "annotations": annotations}}


def renew(zone, hub):
    """Renews the Lease of the zone, or creates it."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": zone, "renewTime": now}
    if hub.patch(f"{LEASES}/{zone}", {"spec": spec}) is None:
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": zone}, "spec": spec}
        hub.create(LEASES, lease)


def deliver(zone, hub, member):
    """Applies all Bundles of the zone, and deletes the copies of Bundles that are gone or being deleted."""
    # The Bundles are read before the copies. A copy without a Bundle was therefore left behind.
    bundles = hub.list(BUNDLES, f"zones.example.com/zone%3D{zone}")
    leaving = [bundle for bundle in bundles if "deletionTimestamp" in bundle["metadata"]]
    present = [bundle for bundle in bundles if bundle not in leaving]
    for bundle in present:
        # Server-side apply also repairs what a person has changed.
        copy = member.apply(path_of(bundle["spec"]["object"]), copy_of(bundle))
        report = {"applied": True, "ready": copy.get("status", {}).get("readyReplicas", 0)}
        if report != bundle.get("status"):
            hub.patch(f"{BUNDLES}/{bundle['metadata']['name']}/status", {"status": report})
    names = [bundle["metadata"]["name"] for bundle in present]
    for copy in member.list(DEPLOYMENTS, f"{MANAGED}%3Dtrue"):
        if copy["metadata"]["annotations"][BUNDLE] not in names:
            member.delete(path_of(copy))
    for bundle in leaving:
        # The copy is gone, so the Bundle may go.
        hub.patch(f"{BUNDLES}/{bundle['metadata']['name']}", {"metadata": {"finalizers": None}})


def forever(pause, work, *arguments):
    """Repeats some work, whatever fails."""
    while True:
        try:
            work(*arguments)
        except (OSError, Refused) as error:
            print(error, flush=True)
        time.sleep(pause)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zone", required=True)
    parser.add_argument("--kubeconfig", required=True, help="of the hub")
    parser.add_argument("--member-kubeconfig", required=True, help="of the member")
    parser.add_argument("--renew-every", type=float, required=True, help="seconds between two renewals")
    options = parser.parse_args()
    # The Lease has a thread and a connection of its own. So a slow delivery does not delay a renewal.
    renewing = (options.renew_every, renew, options.zone, Api(options.kubeconfig))
    threading.Thread(target=forever, args=renewing, daemon=True).start()
    forever(ROUND, deliver, options.zone, Api(options.kubeconfig), Api(options.member_kubeconfig))


if __name__ == "__main__":
    main()
