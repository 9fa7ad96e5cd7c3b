//! Packet faults in the network of a node, by iptables rules and the netem discipline of tc.
//!
//! Rules are tagged with the run. A watchdog process in the node, which is started before the first rule, removes
//! them after an hour, even if this program is gone. Only packets through the gateway are affected, which is the
//! way to the control plane.

use std::time::Duration;

use capsize_clusters::{Direction, ProviderError};

use super::kubeadm::PORT;
use super::node::Node;
use crate::journal::RUN;

/// The time after which the watchdog removes the rules; no case takes longer.
const AT_MOST: Duration = Duration::from_secs(3600);

/// The script that removes all rules. It may run at any time, and more than once.
const UNDO: &str = r#"
for hook in INPUT OUTPUT; do
    while iptables -w -D $hook -m comment --comment "$TAG" -j "$CHAIN-$hook" 2>/dev/null; do :; done
    iptables -w -F "$CHAIN-$hook" 2>/dev/null
    iptables -w -X "$CHAIN-$hook" 2>/dev/null
done
device=$(ip -4 route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)
tc qdisc del dev "$device" root handle "$HANDLE" 2>/dev/null
true
"#;

/// The script that starts the watchdog.
const EXPIRE: &str = r#"
export CHAIN TAG HANDLE
setsid sh -c "sleep $SECONDS_AT_MOST; $UNDO" </dev/null >/dev/null 2>&1 &
echo $! >>"/run/$CHAIN.pids"
"#;

/// The script that drops packets of connections to the API server that go through the gateway.
const VANISH: &str = r#"
set -e
gateway=$(ip -4 route show default | sed -n 's/.* via \([^ ]*\).*/\1/p' | head -n 1)
[ -n "$gateway" ] || { echo "the node has no gateway" >&2; exit 1; }
for hook in $HOOKS; do
    case $hook in
    INPUT) set -- --source "$gateway" --protocol tcp --dport "$PORT" ;;
    OUTPUT) set -- --destination "$gateway" --protocol tcp --sport "$PORT" ;;
    esac
    iptables -w -N "$CHAIN-$hook" 2>/dev/null || true
    iptables -w -A "$CHAIN-$hook" "$@" -m comment --comment "$TAG" -j DROP
    iptables -w -I $hook 1 -m comment --comment "$TAG" -j "$CHAIN-$hook"
done
"#;

/// The script that loses or delays packets of the node, with the arguments of netem.
const DISTURB: &str = r#"
device=$(ip -4 route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)
tc qdisc add dev "$device" root handle "$HANDLE" netem $NETEM
"#;

/// The script that ends the watchdogs.
const RELEASE: &str = r#"
while read -r process; do kill -- "-$process" 2>/dev/null; done <"/run/$CHAIN.pids"
rm -f "/run/$CHAIN.pids"
"#;

/// The handle of the discipline.
const HANDLE: &str = "ca95:";

impl Node {
    /// Drops packets between the API server and other machines.
    pub(super) async fn let_vanish(&self, direction: Direction) -> Result<(), ProviderError> {
        let hooks = match direction {
            Direction::Both => "INPUT OUTPUT",
            Direction::ToMember => "INPUT",
            Direction::FromMember => "OUTPUT",
        };
        self.in_its_network(&[EXPIRE, VANISH], &[("HOOKS", hooks), ("PORT", &PORT.to_string())]).await
    }

    /// Loses or delays packets that the node sends, with these arguments of netem.
    pub(super) async fn disturb(&self, netem: &str) -> Result<(), ProviderError> {
        self.in_its_network(&[EXPIRE, DISTURB], &[("NETEM", netem)]).await
    }

    /// Removes all packet faults.
    pub(super) async fn let_pass(&self) -> Result<(), ProviderError> {
        self.in_its_network(&[UNDO, RELEASE], &[]).await
    }

    async fn in_its_network(&self, scripts: &[&str], more: &[(&str, &str)]) -> Result<(), ProviderError> {
        let labels = self.labels();
        let run = labels.get(RUN).map(String::as_str).unwrap_or_default();
        let (chain, tag, at_most) =
            (format!("CAPSIZE-{run}"), format!("{RUN}={run}"), AT_MOST.as_secs().to_string());
        let known = [
            ("CHAIN", &*chain),
            ("TAG", &tag),
            ("HANDLE", HANDLE),
            ("UNDO", UNDO),
            ("SECONDS_AT_MOST", &at_most),
        ];
        let what = "what is done to its packets";
        self.run_script(what, &scripts.concat(), &[&known, more].concat()).await
    }
}
