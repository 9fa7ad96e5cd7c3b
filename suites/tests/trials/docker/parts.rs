//! Parts of a node: its programs are shut down one by one, and packets vanish in its network.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use capsize_clock::{Seed, live};
use capsize_clusters::{Breakdown, Direction, ExternalMember, Machine, MemberSpec, Provider};
use capsize_real::{Engine, Journal, Kind, Resource};
use futures::future::LocalBoxFuture;
use tempfile::TempDir;
use tokio::time::timeout;

use super::support::{find_image, node_image};

/// A member of one node, with the name of the node.
struct Member {
    provider: Kind,
    outside: ExternalMember,
    node: String,
}

impl Member {
    fn machine(&self) -> &dyn Machine {
        &*self.outside.machine
    }

    /// Whether the API server of the member answers within a few seconds.
    async fn answers(&self) -> bool {
        let client = self.outside.client(self.outside.address).await.unwrap();
        timeout(Duration::from_secs(3), client.apiserver_version()).await.is_ok_and(|answer| answer.is_ok())
    }

    /// The output of a command in the node.
    fn says(&self, command: &[&str]) -> String {
        let ran = Command::new("docker").args(["exec", &self.node]).args(command).output().unwrap();
        String::from_utf8([&*ran.stdout, &*ran.stderr].concat()).unwrap().trim().to_owned()
    }
}

fn with_member(test: impl for<'a> FnOnce(&'a Member) -> LocalBoxFuture<'a, ()>) {
    let folder = TempDir::new().unwrap();
    let journal = Arc::new(Journal::begin(folder.path()).unwrap());
    let label = journal.labels()["capsize.journal"].clone();
    let provider = Kind::of(journal, find_image(Some(&node_image().unwrap())).unwrap());
    live(Seed(1), 1.0, |run| async move {
        let outside = provider.start(run, &[MemberSpec::named("m1")]).await.unwrap().remove(0);
        let made = Engine::find().await.unwrap().ours(&label).await.unwrap();
        let mut names = made.into_iter().filter_map(|one| match one.resource {
            Resource::Container(name) => Some(name),
            _ => None,
        });
        let member = Member { provider, outside, node: names.next().unwrap() };
        test(&member).await;
    })
    .unwrap();
}

pub(crate) fn addresses() {
    let folder = TempDir::new().unwrap();
    let journal = Arc::new(Journal::begin(folder.path()).unwrap());
    let stand = format!("capsize-{}-1", journal.run()).to_lowercase();
    let provider = Kind::of(journal, find_image(Some(&node_image().unwrap())).unwrap());
    let names = ["m1", "m2"];
    let addresses = || {
        names.map(|name| {
            let of = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
            let node = format!("{stand}-{name}");
            let ran = Command::new("docker").args(["inspect", "--format", of, &node]).output().unwrap();
            String::from_utf8(ran.stdout).unwrap()
        })
    };
    live(Seed(1), 1.0, |run| async move {
        let members = provider.start(run, &names.map(MemberSpec::named)).await.unwrap();
        let before = addresses();
        assert!(before.iter().all(|address| address.starts_with("10.213.")), "{before:?}");
        for member in &members {
            member.machine.break_down(Breakdown::Stop).await.unwrap();
        }
        // Docker would give the first free address to the first container that starts.
        let last_first = if before[0] < before[1] { [1, 0] } else { [0, 1] };
        for place in last_first {
            members[place].machine.mend(Breakdown::Stop).await.unwrap();
        }
        assert_eq!(addresses(), before);
    })
    .unwrap();
}

pub(crate) fn programs() {
    with_member(|member| {
        Box::pin(async {
            for part in [Breakdown::ApiServer, Breakdown::Etcd] {
                if let Some(lacks) = member.provider.spares(part) {
                    println!("SKIP: {} of a node: it takes {lacks}", part.name());
                    let refused = member.machine().break_down(part).await.unwrap_err().to_string();
                    assert!(refused.contains("nor a unit etcd"), "{refused}");
                    continue;
                }
                assert!(member.answers().await);
                member.machine().break_down(part).await.unwrap();
                assert!(!member.answers().await, "{}", part.name());
                member.machine().mend(part).await.unwrap();
                assert!(member.answers().await, "{}", part.name());
            }
            let kubelet = ["systemctl", "is-active", "kubelet"];
            assert_eq!(member.says(&kubelet), "active");
            member.machine().break_down(Breakdown::Kubelet).await.unwrap();
            assert_eq!(member.says(&kubelet), "inactive");
            member.machine().mend(Breakdown::Kubelet).await.unwrap();
            assert_eq!(member.says(&kubelet), "active");
        })
    });
}

pub(crate) fn packets() {
    with_member(|member| {
        Box::pin(async {
            for (direction, chains) in
                [(Direction::Both, 2), (Direction::ToMember, 1), (Direction::FromMember, 1)]
            {
                let how = Breakdown::Vanish(direction);
                member.machine().break_down(how).await.unwrap();
                assert!(!member.answers().await, "{direction:?}");
                let rules = member.says(&["iptables", "-S"]);
                let ours = rules.lines().filter(|line| line.starts_with("-N CAPSIZE-")).count();
                assert_eq!(ours, chains, "{rules}");
                let unsigned = |line: &&str| {
                    line.starts_with("-A") && line.contains("CAPSIZE") && !line.contains("capsize.run=")
                };
                assert_eq!(rules.lines().find(unsigned), None, "a rule does not say whose it is");
                let undoes = member.says(&["pgrep", "-f", "sleep 3600"]);
                assert!(!undoes.is_empty(), "nobody would undo it if the harness died");
                member.machine().mend(how).await.unwrap();
                assert!(member.answers().await, "{direction:?}");
                let rules = member.says(&["iptables", "-S"]);
                assert!(!rules.contains("CAPSIZE"), "{rules}");
                assert_eq!(member.says(&["pgrep", "-f", "sleep 3600"]), "");
            }
            // The time of the fault is over, and nothing else has removed its rules.
            member.machine().break_down(Breakdown::Vanish(Direction::Both)).await.unwrap();
            assert!(!member.answers().await);
            member.says(&["pkill", "-f", "^sleep 3600"]);
            let gone = async {
                while member.says(&["iptables", "-S"]).contains("CAPSIZE") {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            };
            timeout(Duration::from_secs(20), gone).await.unwrap();
            assert!(member.answers().await);
        })
    });
}

pub(crate) fn late() {
    with_member(|member| {
        Box::pin(async {
            for how in [Breakdown::LatePackets(Duration::from_millis(20)), Breakdown::LosePackets(1)] {
                match member.machine().break_down(how).await {
                    Err(why) if why.to_string().contains("qdisc kind is unknown") => {
                        return println!("SKIP: packets are not late here: the kernel has no netem ({why})");
                    }
                    broken => broken.unwrap(),
                }
                assert!(member.says(&["tc", "qdisc"]).contains("qdisc netem ca95:"));
                assert!(member.answers().await);
                member.machine().mend(how).await.unwrap();
                assert!(!member.says(&["tc", "qdisc"]).contains("netem"));
            }
        })
    });
}
