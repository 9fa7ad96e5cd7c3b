//! Stops and starts single programs in a node: kubelet, API server and etcd.
//!
//! In stand-in nodes, all programs are systemd units.

use capsize_clusters::ProviderError;

use super::node::{ADMIN, Node};

/// The names of the programs, of their manifests and of their units.
pub(super) const KUBELET: &str = "kubelet";
pub(super) const API_SERVER: &str = "kube-apiserver";
pub(super) const ETCD: &str = "etcd";

/// The script that moves the manifest away, and stops the containers of the program.
/// The manifest is moved, so that the kubelet does not start the program again. One of the containers may be about to
/// start.
const STOP: &str = r#"
manifest=/etc/kubernetes/manifests/$NAME.yaml
if [ -e "$manifest" ]; then
    mv "$manifest" "/etc/kubernetes/$NAME.yaml.capsize" || exit
    looks=0
    for _ in $(seq 120); do
        containers=$(crictl ps --quiet --name "^$NAME\$") || exit
        if [ -n "$containers" ]; then
            looks=0
            crictl stop --timeout 10 $containers >/dev/null
        elif [ $((looks += 1)) -ge 3 ]; then
            exit 0
        fi
        sleep 0.5
    done
    echo "$NAME is started again and again" >&2
    exit 1
fi
systemctl cat "$NAME.service" >/dev/null 2>&1 || {
    echo "there is neither $manifest nor a unit $NAME" >&2
    exit 1
}
systemctl stop "$NAME"
"#;

/// The script that moves the manifest back, and waits until the API server answers.
const START: &str = r#"
manifest=/etc/kubernetes/$NAME.yaml.capsize
if [ -e "$manifest" ]; then
    mv "$manifest" "/etc/kubernetes/manifests/$NAME.yaml"
else
    systemctl start "$NAME"
fi || exit
[ "$NAME" != kubelet ] || exit 0
for _ in $(seq 240); do
    message=$(kubectl --kubeconfig="$ADMIN" --request-timeout=5s get --raw /readyz 2>&1) && exit 0
    sleep 0.5
done
echo "the API server is not ready again: $message" >&2
exit 1
"#;

impl Node {
    /// Shuts the program of this name down cleanly.
    pub(super) async fn stop(&self, name: &str) -> Result<(), ProviderError> {
        self.run_script(&format!("stopping {name}"), STOP, &[("NAME", name)]).await
    }

    /// Starts the program of this name again.
    pub(super) async fn start_again(&self, name: &str) -> Result<(), ProviderError> {
        self.run_script(&format!("starting {name} again"), START, &[("NAME", name), ("ADMIN", ADMIN)]).await
    }
}
