"""The hub of the example. It observes zones, chooses zones for Apps, and writes a Bundle for each chosen zone.

Each round reads all objects and corrects what is wrong. All state is in objects, so the hub can be killed at any time.
"""

import argparse
import time
from datetime import datetime, timezone

from api import APPS, BUNDLES, LEASES, ZONES, Api, Refused

LOST = "zones.example.com/lost"
FINALIZER = "zones.example.com/agent"
ROUND = 0.25


def seconds(text):
    """The time of a stamp, in seconds."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def stamp(now):
    """A time as objects contain it. The fraction of a second is dropped."""
    return datetime.fromtimestamp(now, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_up(zone):
    return zone.get("status", {}).get("phase") == "Up"


def is_leaving(bundle):
    return "deletionTimestamp" in bundle["metadata"]


def is_ready(bundle):
    wanted = bundle["spec"]["object"]["spec"].get("replicas", 1)
    return bundle.get("status", {}).get("ready", 0) >= wanted


def tolerates(app, zone, effects, now):
    """Returns true if the App tolerates all taints of the zone with these effects. Tolerations run out."""
    for taint in zone["spec"].get("taints", []):
        matching = [
            each
            for each in app["spec"].get("tolerations", [])
            if each.get("key") in (None, taint["key"]) and each.get("effect") in (None, taint["effect"])
        ]
        age = now - seconds(taint["timeAdded"])
        lasts = any(age < each.get("seconds", float("inf")) for each in matching)
        if taint["effect"] in effects and not lasts:
            return False
    return True


class Hub:
    def __init__(self, api, options):
        self.api, self.options = api, options

    def round(self):
        now = time.time()
        leases = {lease["metadata"]["name"]: lease for lease in self.api.list(LEASES)}
        zones = {zone["metadata"]["name"]: zone for zone in self.api.list(ZONES)}
        for name, zone in zones.items():
            self.observe(zone, leases.get(name), now)
        bundles = self.api.list(BUNDLES)
        for app in self.api.list(APPS):
            key = app["metadata"]["namespace"] + "." + app["metadata"]["name"]
            own = {each["spec"]["zone"]: each for each in bundles if each["spec"]["app"] == key}
            bundles = [each for each in bundles if each["spec"]["app"] != key]
            chosen = self.choose(app, zones, own, now)
            # The choice is recorded before the Bundles change, so that the record explains each change.
            self.report(app, chosen, own)
            self.distribute(app, key, chosen, zones, own)
        for bundle in bundles:
            # The App of this Bundle is gone.
            self.remove(bundle, zones)

    def observe(self, zone, lease, now):
        """Sets the phase of a zone by its Lease, and the taints of the zone by its phase."""
        path = ZONES + "/" + zone["metadata"]["name"]
        renewed = seconds(lease["spec"]["renewTime"] if lease else zone["metadata"]["creationTimestamp"])
        before = zone.get("status", {}).get("phase")
        # A zone that has never renewed its Lease has no phase until its grace period is over.
        phase = "Lost" if now - renewed > self.options.grace else "Up" if lease else before
        if phase != before:
            print(stamp(now), zone["metadata"]["name"], "is", phase, flush=True)
            zone.update(self.api.patch(path + "/status", {"status": {"phase": phase}}) or {})
        present = zone["spec"].get("taints", [])
        own = {taint["effect"]: taint for taint in present if taint["key"] == LOST}
        taints = [taint for taint in present if taint["key"] != LOST]
        if phase == "Lost":
            new = {"key": LOST, "timeAdded": stamp(now)}
            first = own.get("NoSchedule", new | {"effect": "NoSchedule"})
            taints.append(first)
            # The second taint comes when the first one is old enough. A stamp may be early by one second.
            if "NoExecute" in own or now - seconds(first["timeAdded"]) > self.options.eviction_timeout + 1:
                taints.append(own.get("NoExecute", new | {"effect": "NoExecute"}))
        if taints != present:
            # The version protects the taints that a person adds at the same time.
            version = zone["metadata"]["resourceVersion"]
            change = {"metadata": {"resourceVersion": version}, "spec": {"taints": taints}}
            zone.update(self.api.patch(path, change) or {})

    def choose(self, app, zones, own, now):
        """Returns the zones for an App. A chosen zone stays until a taint evicts the App from it."""
        allowed = [name for name in sorted(zones) if name in app["spec"].get("allowed", zones)]
        chosen = [
            name
            for name in app.get("status", {}).get("zones", [])
            if name in allowed and tolerates(app, zones[name], ["NoExecute"], now)
        ]
        free = [
            name
            for name in allowed
            if name not in chosen
            and is_up(zones[name])
            and tolerates(app, zones[name], ["NoSchedule", "NoExecute"], now)
            # The old copy must be gone before the zone is chosen again.
            and not (name in own and is_leaving(own[name]))
        ]
        return sorted((chosen + free)[: app["spec"].get("zones", len(zones))])

    def report(self, app, chosen, own):
        """Records the chosen zones, and whether all of them have applied the App."""
        applied = [name in own and own[name].get("status", {}).get("applied", False) for name in chosen]
        status = {"zones": chosen, "applied": bool(chosen) and all(applied)}
        if status != app.get("status"):
            namespace, name = app["metadata"]["namespace"], app["metadata"]["name"]
            path = APPS.replace("/apps", f"/namespaces/{namespace}/apps/{name}/status")
            self.api.patch(path, {"status": status})

    def distribute(self, app, key, chosen, zones, own):
        """Writes a Bundle for each chosen zone. An old copy that can be reached stays until the App is ready elsewhere."""
        manifest = app["spec"]["object"]
        replaced = bool(chosen) and all(name in own and is_ready(own[name]) for name in chosen)
        for name in chosen:
            if name not in own:
                labels = {"zones.example.com/zone": name}
                metadata = {"name": f"{key}.{name}", "labels": labels, "finalizers": [FINALIZER]}
                spec = {"zone": name, "app": key, "object": manifest}
                bundle = {"apiVersion": "zones.example.com/v1", "kind": "Bundle", "metadata": metadata, "spec": spec}
                self.api.create(BUNDLES, bundle)
            elif own[name]["spec"]["object"] != manifest:
                self.api.patch(f"{BUNDLES}/{key}.{name}", {"spec": {"object": manifest}})
        for name, bundle in own.items():
            if name not in chosen and (replaced or name not in zones or not is_up(zones[name])):
                self.remove(bundle, zones)

    def remove(self, bundle, zones):
        """Deletes a Bundle. It stays until its agent has deleted the copy and the finalizer."""
        path = BUNDLES + "/" + bundle["metadata"]["name"]
        if not is_leaving(bundle):
            self.api.delete(path)
        if bundle["spec"]["zone"] not in zones:
            # Nobody waits for the agent of a zone that a person has deleted.
            self.api.patch(path, {"metadata": {"finalizers": None}})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--grace", type=float, required=True, help="seconds of silence until a zone is Lost")
    parser.add_argument("--eviction-timeout", type=float, required=True, help="seconds until a Lost zone evicts")
    options = parser.parse_args()
    hub = Hub(Api(options.kubeconfig), options)
    while True:
        try:
            hub.round()
        except (OSError, Refused) as error:
            print(error, flush=True)
        time.sleep(ROUND)


if __name__ == "__main__":
    main()
