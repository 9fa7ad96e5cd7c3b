//! Permission for faults: the provider of the members is asked before each fault, and can refuse it.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use capsize::providers::ImplementationOnProvider;
use capsize::reference::Reference;
use capsize::targets;
use capsize_clock::{Interrupt, Seed, Simulation};
use capsize_clusters::{
    Breakdown, Direction, ErrorStatus, ExternalMember, GivenCredentials, ListeningMember, Machine,
    MemberSpec, Provider, ProviderError,
};
use capsize_report::Status;
use capsize_runner::nemesis::Fault;
use capsize_runner::run::{CasesInProgress, Keep, Outcome, Target, run_case};
use capsize_runner::scenario::Case;
use serde_json::Value;

const NOT_PERMITTED: &str = "faults of this member are not permitted";

/// Members in this process, behind sockets, with a limited number of permitted faults.
struct LimitedProvider {
    strikes: usize,
    asked: AtomicUsize,
}

/// A machine whose breakdowns do nothing.
struct Idle(#[expect(dead_code, reason = "it serves until it is dropped")] ListeningMember);

#[async_trait]
impl Machine for Idle {
    async fn break_down(&self, _how: Breakdown) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn mend(&self, _how: Breakdown) -> Result<(), ProviderError> {
        Ok(())
    }
}

#[async_trait]
impl Provider for LimitedProvider {
    async fn start(
        &self,
        run: Simulation,
        specs: &[MemberSpec],
    ) -> Result<Vec<ExternalMember>, ProviderError> {
        let mut members = Vec::new();
        for spec in specs {
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let served = ListeningMember::start(run, spec, any, GivenCredentials::default()).await.unwrap();
            let listening = served.listening();
            let (address, token) = (listening.address(), listening.token().unwrap());
            let authority = listening.authority().unwrap().pem();
            let (path, machine) = (String::new(), Box::new(Idle(served)));
            members.push(ExternalMember { address, path, authority, token, machine });
        }
        Ok(members)
    }

    async fn strike(&self, members: &BTreeSet<String>) -> Result<(), ProviderError> {
        assert_eq!(members.iter().collect::<Vec<_>>(), ["m1"]);
        let before = self.asked.fetch_add(1, Ordering::SeqCst);
        if before < self.strikes { Ok(()) } else { Err(ProviderError(NOT_PERMITTED.into())) }
    }
}

/// Runs a case with the fault `step`, on a member that permits `strikes` faults.
fn run_with_fault(step: &str, strikes: usize) -> (Outcome, Vec<Value>) {
    run_with_fault_until(step, "wait: 5s", strikes)
}

/// As [`run_with_fault`], with a final step.
fn run_with_fault_until(step: &str, then: &str, strikes: usize) -> (Outcome, Vec<Value>) {
    let text = format!(
        "scenario: fault\nabout: A member has a fault.\nfleet: {{members: 1}}\nwhen:\n  - {step}\nthen:\n  - {then}\n"
    );
    let profile = targets::find("capsize-controllers").unwrap();
    let provider = Arc::new(LimitedProvider { strikes, asked: AtomicUsize::new(0) });
    let implementation = Box::new(Reference::default());
    let provided = ImplementationOnProvider {
        implementation,
        provider: Some(provider),
        interrupt: Interrupt::default(),
        in_progress: CasesInProgress::default(),
    };
    let case = Case::from_text("live", "fault.yaml", &text).unwrap();
    let target = Target { profile: &profile, implementation: &provided };
    let outcome = run_case(&case, target, Seed(1), Keep::History);
    let history = String::from_utf8(outcome.history.clone().unwrap()).unwrap();
    let entries = history.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let faults = entries.filter(|entry| entry["mark"].get("fault").is_some()).collect();
    (outcome, faults)
}

/// A step for each fault of links. A new fault does not compile until it has a step here.
fn of_link(fault: Fault) -> &'static str {
    match fault {
        Fault::Refuse => "refuse: {cluster: m1}",
        Fault::Partition { direction: Direction::Both } => "partition: {cluster: m1}",
        Fault::Partition { direction: Direction::ToMember } => {
            "partition: {cluster: m1, direction: toMember}"
        }
        Fault::Partition { direction: Direction::FromMember } => {
            "partition: {cluster: m1, direction: fromMember}"
        }
        Fault::Delay { .. } => "delay: {cluster: m1, by: 10ms}",
        Fault::Jitter { .. } => "disturb: {cluster: m1, by: {jitter: 10ms}}",
        Fault::Bandwidth { .. } => "disturb: {cluster: m1, by: {bandwidth: 100000}}",
        Fault::Cut => "disturb: {cluster: m1, by: cut}",
        Fault::Lose { .. } => "disturb: {cluster: m1, by: {lose: 10}}",
        Fault::RefuseNew => "disturb: {cluster: m1, by: refuseNew}",
        Fault::DropNew => "disturb: {cluster: m1, by: dropNew}",
        Fault::HalfOpen => "disturb: {cluster: m1, by: halfOpen}",
        Fault::Fail { .. } => "disturb: {cluster: m1, by: {fail: {with: InternalError, every: 1}}}",
        Fault::Slow { .. } => "disturb: {cluster: m1, by: {slow: {by: 10ms, verb: list}}}",
        Fault::CutWatches { .. } => "disturb: {cluster: m1, by: {cutWatches: {every: 2}}}",
        Fault::OwnApi => "disturb: {cluster: m1, by: ownApi}",
        Fault::AgentDown => "disturb: {cluster: m1, by: agentDown}",
    }
}

/// A step for each breakdown of machines.
fn of_machine(how: Breakdown) -> String {
    let by = match how {
        Breakdown::Pause
        | Breakdown::Disconnect
        | Breakdown::Stop
        | Breakdown::Crash
        | Breakdown::Kubelet
        | Breakdown::Etcd => how.name(),
        Breakdown::ApiServer => "apiServer",
        Breakdown::Vanish(_) => "{vanish: both}",
        Breakdown::LosePackets(_) => "{losePackets: 10}",
        Breakdown::LatePackets(_) => "{latePackets: 10ms}",
    };
    format!("down: {{cluster: m1, by: {by}}}")
}

#[test]
fn every_kind_of_fault_asks_first_and_does_nothing_without_permission() {
    let second = Duration::from_secs(1);
    let partition = |direction| Fault::Partition { direction };
    let faults = [
        Fault::Refuse,
        partition(Direction::Both),
        partition(Direction::ToMember),
        partition(Direction::FromMember),
        Fault::Delay { by: second },
        Fault::Jitter { by: second },
        Fault::Bandwidth { rate: std::num::NonZeroU32::MIN },
        Fault::Cut,
        Fault::Lose { percent: 10 },
        Fault::RefuseNew,
        Fault::DropNew,
        Fault::HalfOpen,
        Fault::Fail { with: ErrorStatus::InternalError, every: 1, verb: None },
        Fault::Slow { by: second, verb: None },
        Fault::CutWatches { every: 2 },
    ];
    let machines = [
        Breakdown::Pause,
        Breakdown::Disconnect,
        Breakdown::Stop,
        Breakdown::Crash,
        Breakdown::ApiServer,
        Breakdown::Kubelet,
        Breakdown::Etcd,
        Breakdown::Vanish(Direction::Both),
        Breakdown::LosePackets(10),
        Breakdown::LatePackets(second),
    ];
    let windows = ["refuse: {cluster: m1}", "partition: {cluster: m1}", "delay: {cluster: m1, by: 10ms}"];
    let steps = faults.map(|fault| of_link(fault).to_owned()).into_iter();
    let steps = steps.chain(machines.map(of_machine));
    let steps = steps.chain(windows.map(|fault| format!("faults: [{{for: 1s, fault: {{{fault}}}}}]")));
    let steps: Vec<String> =
        steps.chain(["flap: {cluster: m1, down: 1s, up: 1s, times: 1}".to_owned()]).collect();
    std::thread::scope(|scope| {
        for step in &steps {
            scope.spawn(move || {
                let (outcome, faults) = run_with_fault(step, 0);
                let why = outcome.broken.unwrap_or_default();
                assert!(why.ends_with(NOT_PERMITTED), "{step}: {why}");
                assert!(faults.is_empty(), "{step}: {faults:?}");
            });
        }
    });
}

#[test]
fn a_member_that_flaps_is_asked_for_each_time_that_it_goes_down() {
    let (outcome, faults) = run_with_fault("flap: {cluster: m1, down: 200ms, up: 200ms, times: 5}", 3);
    assert!(outcome.broken.is_some_and(|why| why.ends_with(NOT_PERMITTED)));
    let states: Vec<&str> = faults.iter().filter_map(|entry| entry["mark"]["state"].as_str()).collect();
    // Permission is given for the step, and then for two of its faults.
    assert_eq!(states, ["begin", "end", "begin", "end"], "{faults:?}");
}

/// A client that repeats failed requests would need the whole time limit of a probe, which is 32 s.
#[test]
fn a_member_outside_that_answers_with_errors_is_not_ready_before_a_probe_could_time_out() {
    std::thread::scope(|scope| {
        for with in ["InternalError", "ServiceUnavailable", "TooManyRequests"] {
            scope.spawn(move || {
                let step = format!("disturb: {{cluster: m1, by: {{fail: {{with: {with}, every: 1}}}}}}");
                let health = "health: {cluster: m1, is: NotReady, within: 16s}";
                let (outcome, faults) = run_with_fault_until(&step, health, 1);
                assert_eq!(outcome.broken, None, "{with}");
                assert_eq!(outcome.case.status, Status::Passed, "{with}: {:?}", outcome.case);
                let fault = faults.first().map(|entry| &entry["mark"]["fault"]);
                assert_eq!(fault, Some(&Value::from("fail-all")), "{with}");
            });
        }
    });
}
