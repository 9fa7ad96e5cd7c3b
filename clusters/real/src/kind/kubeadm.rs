//! The configuration of kubeadm, as kind writes it. It is JSON, which is YAML as well.

use serde_json::{Value, json};

/// The path of the configuration in a node.
pub(super) const FILE: &str = "/kind/kubeadm.conf";

/// The address ranges of pods and services.
/// They are the same in every cluster, because they are visible only inside.
pub(super) const PODS: &str = "10.244.0.0/16";
const SERVICES: &str = "10.96.0.0/16";

/// The port of the API server in its node.
pub(super) const PORT: u16 = 6443;

/// The token by which nodes join.
/// It is no secret: every container in the network of a fleet may join its clusters.
const TOKEN: &str = "abcdef.0123456789abcdef";

/// The first supported release. Earlier ones used other cgroup drivers.
const FIRST: u32 = 24;

/// The first release that reads only `v1beta4`, in which arguments are a list.
const LISTS: u32 = 36;

/// The version of the documents that a release of Kubernetes reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    minor: u32,
}

impl Form {
    /// The version of the documents for a release like `v1.36.1`.
    pub(super) fn of(version: &str) -> Result<Self, String> {
        let unreadable = || format!("its release of Kubernetes is `{version}`, which is none");
        let minor = version.strip_prefix("v1.").and_then(|rest| rest.split('.').next()?.parse().ok());
        let minor: u32 = minor.ok_or_else(unreadable)?;
        if minor < FIRST {
            return Err(format!(
                "its release of Kubernetes is {version}, and 1.{FIRST} is the first that is known"
            ));
        }
        Ok(Self { minor })
    }

    fn version(self) -> &'static str {
        if self.minor < LISTS { "kubeadm.k8s.io/v1beta3" } else { "kubeadm.k8s.io/v1beta4" }
    }

    fn arguments(self, arguments: &[(&str, &str)]) -> Value {
        if self.minor < LISTS {
            return arguments.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        }
        arguments.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
    }

    fn registration(self, node: &Address<'_>) -> Value {
        let id = format!("kind://docker/{}/{}", node.cluster, node.name);
        let arguments = [("node-ip", node.address), ("provider-id", &id)];
        json!({
            "criSocket": "unix:///run/containerd/containerd.sock",
            "kubeletExtraArgs": self.arguments(&arguments),
        })
    }
}

/// The node that a configuration is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address<'a> {
    /// The name of its cluster.
    pub(super) cluster: &'a str,
    /// Its name, which is also its host name in the network.
    pub(super) name: &'a str,
    /// Its address in the network.
    pub(super) address: &'a str,
}

/// The configuration for the node that initializes a cluster of this release.
pub(super) fn init(form: Form, version: &str, node: Address<'_>) -> String {
    let cluster = json!({
        "apiVersion": form.version(),
        "kind": "ClusterConfiguration",
        "kubernetesVersion": version,
        "clusterName": node.cluster,
        "controlPlaneEndpoint": endpoint(node.name),
        "apiServer": {"certSANs": ["localhost", "127.0.0.1", node.name]},
        "controllerManager": {"extraArgs": form.arguments(&[("enable-hostpath-provisioner", "true")])},
        "networking": {"podSubnet": PODS, "serviceSubnet": SERVICES},
    });
    let init = json!({
        "apiVersion": form.version(),
        "kind": "InitConfiguration",
        "bootstrapTokens": [{"token": TOKEN}],
        "localAPIEndpoint": {"advertiseAddress": node.address, "bindPort": PORT},
        "nodeRegistration": form.registration(&node),
    });
    documents(&[cluster, init, kubelet(), proxy()])
}

/// The configuration for a node that joins the cluster of the node called `first`.
pub(super) fn join(form: Form, first: &str, node: Address<'_>) -> String {
    let join = json!({
        "apiVersion": form.version(),
        "kind": "JoinConfiguration",
        "discovery": {"bootstrapToken": {
            "apiServerEndpoint": endpoint(first),
            "token": TOKEN,
            "unsafeSkipCAVerification": true,
        }},
        "nodeRegistration": form.registration(&node),
    });
    documents(&[join, kubelet(), proxy()])
}

/// The address of the API server for other containers in the network of the fleet.
fn endpoint(node: &str) -> String {
    format!("{node}:{PORT}")
}

/// Returns the configuration of the kubelets.
/// Nodes share the disk and memory of the machine, so their kubelets must not evict or collect anything when disk and
/// memory are full.
fn kubelet() -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
        "cgroupRoot": "/kubelet",
        "failSwapOn": false,
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%"},
    })
}

fn proxy() -> Value {
    json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "iptables": {"minSyncPeriod": "1s"},
        "conntrack": {"maxPerCore": 0},
    })
}

fn documents(all: &[Value]) -> String {
    all.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Address<'_> = Address { cluster: "m1", name: "capsize-a-1-m1", address: "10.213.4.2" };

    fn read(text: &str) -> Vec<Value> {
        text.split("\n---\n").map(|document| serde_json::from_str(document).unwrap()).collect()
    }

    #[test]
    fn arguments_are_a_map_until_1_35_and_a_list_from_1_36_on() {
        let of = |version: &str| read(&init(Form::of(version).unwrap(), version, NODE));
        let (old, new) = (of("v1.35.2"), of("v1.36.0"));
        assert_eq!(old[0]["apiVersion"], "kubeadm.k8s.io/v1beta3");
        assert_eq!(old[1]["nodeRegistration"]["kubeletExtraArgs"]["node-ip"], "10.213.4.2");
        assert_eq!(new[0]["apiVersion"], "kubeadm.k8s.io/v1beta4");
        let first = &new[1]["nodeRegistration"]["kubeletExtraArgs"][0];
        assert_eq!(*first, json!({"name": "node-ip", "value": "10.213.4.2"}));
    }

    #[test]
    fn the_certificate_is_good_on_loopback_where_the_port_is_published_and_in_the_network_of_the_fleet() {
        let documents = read(&init(Form::of("v1.36.1").unwrap(), "v1.36.1", NODE));
        assert_eq!(
            documents[0]["apiServer"]["certSANs"],
            json!(["localhost", "127.0.0.1", "capsize-a-1-m1"])
        );
        assert_eq!(documents[0]["controlPlaneEndpoint"], "capsize-a-1-m1:6443");
    }

    #[test]
    fn a_worker_joins_by_name_in_the_network_of_the_fleet() {
        let worker = Address { name: "capsize-a-1-m1-worker1", ..NODE };
        let documents = read(&join(Form::of("v1.30.0").unwrap(), NODE.name, worker));
        assert_eq!(documents[0]["kind"], "JoinConfiguration");
        let discovery = &documents[0]["discovery"]["bootstrapToken"];
        assert_eq!(discovery["apiServerEndpoint"], "capsize-a-1-m1:6443");
    }

    #[test]
    fn releases_that_are_none_or_too_old_are_refused() {
        for wrong in ["", "1.36.1", "v2.0.0", "v1.x", "v1.23.17"] {
            assert!(Form::of(wrong).is_err(), "{wrong}");
        }
    }
}
