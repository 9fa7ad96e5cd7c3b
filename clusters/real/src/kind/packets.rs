//! Faults on packets, in the network of a node: rules of iptables in chains of our own, and the discipline netem of tc.
//!
//! All of it says whose it is, and is undone by a process in the node that is there before the first rule is: it ends by itself,
//! whatever becomes of the harness. Only what goes through the gateway is struck, which is the way to the control plane.

use std::time::Duration;

use capsize_clusters::{Direction, ProviderError};

use super::kubeadm::PORT;
use super::node::Node;
use crate::journal::RUN;

/// So long it is in force at most: no case takes longer.
const AT_MOST: Duration = Duration::from_secs(3600);

/// What is undone: safe to be done at any time, and more than once.
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

/// Who undoes it in the end, whatever happens.
const EXPIRE: &str = r#"
export CHAIN TAG HANDLE
setsid sh -c "sleep $SECONDS_AT_MOST; $UNDO" </dev/null >/dev/null 2>&1 &
echo $! >>"/run/$CHAIN.pids"
"#;

/// Packets through the gateway vanish that belong to connections to the API server.
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

/// What the node sends is lost or late, as netem says.
const DISTURB: &str = r#"
device=$(ip -4 route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)
tc qdisc add dev "$device" root handle "$HANDLE" netem $NETEM
"#;

/// Ends those who would undo it later.
const RELEASE: &str = r#"
while read -r process; do kill -- "-$process" 2>/dev/null; done <"/run/$CHAIN.pids"
rm -f "/run/$CHAIN.pids"
"#;

/// How a discipline of ours is known.
const HANDLE: &str = "ca95:";

impl Node {
    /// Lets packets between the API server and the rest of the world vanish.
    pub(super) async fn let_vanish(&self, direction: Direction) -> Result<(), ProviderError> {
        let hooks = match direction {
            Direction::Both => "INPUT OUTPUT",
            Direction::ToMember => "INPUT",
            Direction::FromMember => "OUTPUT",
        };
        self.in_its_network(&[EXPIRE, VANISH], &[("HOOKS", hooks), ("PORT", &PORT.to_string())]).await
    }

    /// Lets packets that it sends be lost or late, in the words of netem.
    pub(super) async fn disturb(&self, netem: &str) -> Result<(), ProviderError> {
        self.in_its_network(&[EXPIRE, DISTURB], &[("NETEM", netem)]).await
    }

    /// Undoes all of that.
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
