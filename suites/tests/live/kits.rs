//! Tests kits with the reference split into three programs.
//! The programs stand for the released programs of a real implementation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kube::config::Kubeconfig;
use kube::{Client, Config};
use tempfile::TempDir;

use crate::command::{capsize, printed, write_script};
use crate::fleet::{eventually, until_joined};
use crate::processes::MOVES;

/// The programs of the kit, and our command that does the work of each.
const PROGRAMS: [(&str, &str); 3] =
    [("controllers", "controllers"), ("scheduler", "controllers"), ("webhook", "webhooks")];

/// A folder with the programs of the kit. Each writes its process id and its arguments beside itself.
fn programs() -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, command) in PROGRAMS {
        let path = folder.path().join(name);
        let own = env!("CARGO_BIN_EXE_capsize");
        let lines = format!(
            "echo $$ > '{0}.pid'\necho \"$@\" > '{0}.arguments'\nexec '{own}' {command} \"$@\"\n",
            path.display()
        );
        write_script(&path, &lines);
    }
    folder
}

fn case(folder: &Path, steps: &str) -> PathBuf {
    let path = folder.join("case.yaml");
    fs::write(&path, format!("scenario: kit\nabout: A case for a kit.\n{steps}")).unwrap();
    path
}

fn command(case: &Path, bin: &Path) -> Command {
    let mut command = capsize();
    command.arg("run").arg(case);
    command.args(["--target", "capsize-controllers", "--bin"]).arg(bin);
    command
}

/// A policy that the webhook refuses.
const REFUSED: &str = "
  - rejected:
      by: controlPlane
      because: maxGroups lower than minGroups is not allowed
      object:
        apiVersion: policy.karmada.io/v1alpha1
        kind: PropagationPolicy
        metadata: {name: wrong, namespace: default}
        spec:
          resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]
          placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 3, maxGroups: 2}]}
";

#[test]
fn three_programs_of_a_kit_move_a_workload_and_their_webhook_refuses_a_policy() {
    let (bin, folder) = (programs(), TempDir::new().unwrap());
    let case = case(folder.path(), &format!("{}{REFUSED}", MOVES.trim_end()));
    let report = folder.path().join("report");
    let output = command(&case, bin.path()).arg("--report").arg(&report).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    for (name, _) in PROGRAMS {
        assert!(bin.path().join(format!("{name}.pid")).exists(), "{name} was not started");
    }
    // The logs of a case that passed are not kept.
    let kept = fs::read_dir(report.join("logs")).into_iter().flatten().flatten();
    let files = kept.flat_map(|group| fs::read_dir(group.path()).into_iter().flatten().flatten());
    assert_eq!(files.count(), 0);
}

/// A workload that leaves a tainted member while other programs take over.
const UPGRADED: &str = "
fleet: {members: 2}
given:
  - workload: {name: web, replicas: 2, policy: {spread: {cluster: {min: 1, max: 1}}, scheduling: Duplicated}}
  - settled: web
  - call: {member: {carrying: web, index: 0}, as: victim}
  - call: {member: {spareFor: web}, as: spare}
  - startUp: {cluster: spare, takes: 10s}
when:
  - taint: {cluster: victim, key: example.com/maintenance, effect: NoExecute}
  - evicted: {workload: web, from: victim}
  - placed: {workload: web, on: [spare]}
  - upgrade: {what: controllers, from: \"1.18\", to: \"1.19\"}
then:
  - kept: {workload: web, on: victim, for: 1s}
  - ready: {workload: web, on: spare}
  - gone: {workload: web, from: victim}
  - settled: web
";

#[test]
fn programs_of_another_release_take_over_in_the_middle_of_an_eviction() {
    let (before, after, folder) = (programs(), programs(), TempDir::new().unwrap());
    let case = case(folder.path(), UPGRADED);
    let profile = folder.path().join("newer.yaml");
    let text = include_str!("../../targets/capsize-controllers.yaml");
    fs::write(&profile, format!("{text}behaviour: \"1.19\"\n")).unwrap();
    let run = || command(&case, before.path());
    let upgrade = format!("--upgrade-to={}={}", profile.display(), after.path().display());
    let output = run().arg(upgrade).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert!(printed(&output).contains("1 case passed"), "{}", printed(&output));
    for (name, _) in PROGRAMS {
        assert!(after.path().join(format!("{name}.pid")).exists(), "{name} was not started");
    }
    let output = run().output().unwrap();
    let skipped = "the target lacks an upgrade from 1.18 to 1.19";
    assert!(printed(&output).contains(skipped), "{}", printed(&output));
}

/// Waits until the scheduler runs and the members have joined, and kills the scheduler.
async fn kill_scheduler(bin: &Path) {
    let read = |file: &str| fs::read_to_string(bin.join(file)).ok().filter(|text| text.ends_with('\n'));
    let arguments = eventually("the scheduler starts", async || read("scheduler.arguments")).await;
    let kubeconfig = arguments.split_whitespace().find_map(|it| it.strip_prefix("--kubeconfig=")).unwrap();
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    until_joined(Client::try_from(config).unwrap(), 2).await;
    let pid = read("scheduler.pid").unwrap();
    assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_ends_during_a_case_ends_the_case_with_its_log() {
    let (bin, folder) = (programs(), TempDir::new().unwrap());
    let case = case(folder.path(), "fleet: {members: 2}\ngiven:\n  - wait: 10m\n");
    let report = folder.path().join("report");
    let mut command = command(&case, bin.path());
    command.arg("--report").arg(&report).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    kill_scheduler(bin.path()).await;
    let output = tokio::task::spawn_blocking(|| running.wait_with_output().unwrap()).await.unwrap();
    let printed = printed(&output);
    assert_eq!(output.status.code(), Some(3), "{printed}");
    assert!(
        printed.contains("the program scheduler ended during the case: it ended (signal: 9"),
        "{printed}"
    );
    assert!(printed.contains("the last that it said was"), "{printed}");
    let groups = fs::read_dir(report.join("logs")).unwrap().flatten();
    let logs: Vec<PathBuf> =
        groups.flat_map(|group| fs::read_dir(group.path()).unwrap().flatten()).map(|it| it.path()).collect();
    assert!(logs.iter().any(|log| log.join("scheduler.log").exists()), "{logs:?}");
}

#[test]
fn a_program_that_contradicts_its_command_or_has_other_flags_is_not_judged() {
    let rows = [
        (
            "echo 'I1 flags.go:64] FLAG: --cluster-monitor-period=\"40s\"' >&2",
            "it reports --cluster-monitor-period=40s in its log, and the profile says",
        ),
        (
            "echo 'Error: unknown flag: --cluster-monitor-period' >&2; exit 1",
            "the program may be of another release than the target",
        ),
    ];
    for (line, expected) in rows {
        let (bin, folder) = (programs(), TempDir::new().unwrap());
        let case = case(folder.path(), MOVES);
        let wrapper = bin.path().join("controllers");
        let text = fs::read_to_string(&wrapper).unwrap();
        fs::write(&wrapper, text.replace("\nexec ", &format!("\n{line}\nexec "))).unwrap();
        let output = command(&case, bin.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", printed(&output));
        assert!(printed(&output).contains(expected), "{}", printed(&output));
    }
}

#[test]
fn each_mistake_of_a_user_has_one_message() {
    let (bin, folder) = (programs(), TempDir::new().unwrap());
    let case = case(folder.path(), MOVES);
    fs::write(folder.path().join("wrong.yaml"), "kind: [").unwrap();
    let wrong = folder.path().to_str().unwrap();
    fs::remove_file(bin.path().join("scheduler")).unwrap();
    let bin = bin.path().to_str().unwrap();
    let rows: [(&[&str], &str); 9] = [
        (&["--target", "capsize-controllers", "--bin", bin], "there is no program scheduler in"),
        (&["--target", "capsize-controllers", "--bin", "/no/such/folder"], "there is no such folder"),
        (&["--target", "karmada-1.14", "--bin", bin], "Capsize has no kit for the target karmada-1.14"),
        (&["--target", "karmada-1.18", "--definitions", wrong, "--bin", bin], "wrong.yaml:1:"),
        (&["--target", "karmada-1.18"], "--bin DIR"),
        (&["--target", "ocm", "--bin", bin], "Capsize has no definitions of the target ocm"),
        (&["--bin", bin, "--upgrade-to", "karmada-1.19"], "such as karmada-1.19=DIR"),
        (
            &["--target", "karmada-1.18", "--bin", bin, "--upgrade-to", "karmada-1.19=/no"],
            "there is no folder /no",
        ),
        (
            &["--target", "karmada-1.18", "--bin", bin, "--upgrade-to", "reference=/tmp"],
            "no kit for the target reference",
        ),
    ];
    for (arguments, expected) in rows {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
        let output = command.env("COLUMNS", "1000").arg("run").arg(&case).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", printed(&output));
        assert!(printed(&output).contains(expected), "{arguments:?}: {}", printed(&output));
    }
}

/// A case with a member in pull mode, which is unknown while its agent cannot reach the control plane.
const PULLS: &str = "
features: [PullMembers]
fleet: {members: 2, pull: [m1]}
given:
  - workload: {name: web, replicas: 2, policy: {clusters: [m1], scheduling: Duplicated}}
  - settled: web
  - ready: {workload: web, on: m1}
when:
  - refuse: {cluster: m1}
then:
  - tainted: {cluster: m1, key: unreachable, effect: NoSchedule}
  - heal: m1
  - untainted: {cluster: m1, key: unreachable, effect: NoSchedule}
  - health: {cluster: m1, is: Ready}
";

#[test]
fn an_agent_of_a_kit_serves_its_member_until_it_is_cut_off() {
    let (bin, folder) = (programs(), TempDir::new().unwrap());
    let case = case(folder.path(), PULLS);
    let output = command(&case, bin.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let arguments = fs::read_to_string(bin.path().join("controllers.arguments")).unwrap();
    assert!(arguments.contains("--agent-of=m1"), "{arguments}");
}
