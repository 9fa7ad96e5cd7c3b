//! One program inside of a node is shut down, and started again: a kubelet is a unit of systemd, and a kubelet starts the rest from
//! manifests. In nodes that stand in for those of kind's, there are units only.

use capsize_clusters::ProviderError;

use super::node::{ADMIN, Node};

/// The programs, as their manifests or units are called.
pub(super) const KUBELET: &str = "kubelet";
pub(super) const API_SERVER: &str = "kube-apiserver";
pub(super) const ETCD: &str = "etcd";

/// Takes the manifest away, so that the kubelet does not start the program again, and ends what is there of it. It may have been
/// about to be started.
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

/// Puts the manifest back. Nothing is mended before the API server answers.
const START: &str = r#"
manifest=/etc/kubernetes/$NAME.yaml.capsize
if [ -e "$manifest" ]; then
    mv "$manifest" "/etc/kubernetes/manifests/$NAME.yaml"
else
    systemctl start "$NAME"
fi || exit
[ "$NAME" != kubelet ] || exit 0
for _ in $(seq 240); do
    said=$(kubectl --kubeconfig="$ADMIN" --request-timeout=5s get --raw /readyz 2>&1) && exit 0
    sleep 0.5
done
echo "the API server is not ready again: $said" >&2
exit 1
"#;

impl Node {
    /// Shuts the program of this name down in good order.
    pub(super) async fn stop(&self, name: &str) -> Result<(), ProviderError> {
        self.run_script(&format!("stopping {name}"), STOP, &[("NAME", name)]).await
    }

    /// Starts it again as it was.
    pub(super) async fn start_again(&self, name: &str) -> Result<(), ProviderError> {
        self.run_script(&format!("starting {name} again"), START, &[("NAME", name), ("ADMIN", ADMIN)]).await
    }
}
