//! Every mistake in a scenario is reported with its exact place.
//!
//! In the tables, `§` stands before that place.

use capsize_runner::scenario::parse;

const HEAD: &str = "scenario: case\nabout: a test\nfleet: {members: 4}\n";
const WEB: &str = "given:\n  - workload: {name: web, replicas: 2, policy: {scheduling: Duplicated}}\n";

/// Parses `marked` without its mark, and compares the error with the place of the mark and with `why`.
fn is_reported(marked: &str, why: &str) {
    let (before, after) = marked.split_once('§').expect("a mark");
    let line = before.lines().count().max(1) + usize::from(before.ends_with('\n'));
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let error = parse("s.yaml", &format!("{before}{after}")).expect_err("the scenario is wrong").to_string();
    let place = format!("s.yaml:{line}:{column}: ");
    assert!(
        error.starts_with(&place) && error.contains(why),
        "{marked}\nis reported as: {error}\nnot at: {place}"
    );
}

#[test]
fn a_mistake_of_shape_is_reported_with_its_place() {
    let cases = [
        ("§flet: {members: 4}\n", "unknown field `flet`"),
        ("fleet: {members: §many}\n", "expected a whole number from 0 on"),
        ("fleet: {members: §-1}\n", "expected a whole number from 0 on"),
        ("fleet: {members: 4}\ngiven:\n  - §workoad: {}\n", "unknown variant `workoad`"),
        ("fleet: {members: 4}\ngiven:\n  - wait: §-5s\n", "cannot be negative"),
        ("fleet: {members: 4}\ngiven:\n  - wait: §2 x patience\n", "no timing `patience`"),
        ("fleet: {members: 4}\ngiven:\n  - wait: §5\n", "write a number with"),
        ("fleet: {members: 4}\nthen:\n  - settled: {workload: web, §wihtin: 5s}\n", "unknown field"),
        ("fleet: {members: 4}\nwhen:\n  - refuse: {cluster: {§caring: web}}\n", "unknown field"),
        ("fleet: {members: 4}\nwhen:\n  - refuse: {§cluster: [m1]}\n", "and this is a list"),
        ("fleet: {members: 4}\nwhen: §[\n", ""),
        ("fleet: {members: 4}\n§about: twice\n", "duplicate"),
    ];
    for (rest, why) in cases {
        is_reported(&format!("scenario: case\nabout: a test\n{rest}"), why);
    }
    let down = "scenario: case\nabout: a\nfleet: {members: 1}\nwhen:\n  - down: {cluster: m1, by: §{losePackets: 101}}\n";
    is_reported(down, "a percentage is at most 100");
    is_reported("scenario: §case\nabout: a\n", "give one of `fleet` and `cluster`");
}

#[test]
fn a_policy_without_sense_is_reported_with_its_place() {
    let cases = [
        ("clusters: [m1, §m9], scheduling: Duplicated", "no member `m9` in this fleet of 4"),
        ("spread: {cluster: §{min: 3, max: 2}}, scheduling: Duplicated", "at least 3 and at most 2"),
        ("spread: {cluster: §{min: 0, max: 0}}, scheduling: Duplicated", "at most 0"),
        ("scheduling: {Divided: {weights: §{m7: 1}}}", "no member `m7`"),
        ("scheduling: {Divided: {weights: §{m1: 0}}}", "must be at least 1"),
        ("scheduling: {Divided: {weights: §{}}}", "must be at least one weight"),
    ];
    for (policy, why) in cases {
        let step = format!("  - workload: {{name: web, replicas: 2, policy: {{{policy}}}}}\n");
        is_reported(&format!("{HEAD}given:\n{step}"), why);
    }
}

#[test]
fn members_that_pull_are_of_the_fleet_and_need_their_feature() {
    let head = "scenario: case\nabout: a test\n";
    let steps = "then:\n  - wait: 1s\n";
    let feature = "features: [PullMembers]\n";
    is_reported(&format!("{head}{feature}fleet: {{members: 2, pull: [m1, §m3]}}\n{steps}"), "no member `m3`");
    is_reported(
        &format!("{head}fleet: {{members: 2, pull: [§m1]}}\n{steps}"),
        "needs `PullMembers` among the `features`",
    );
}

#[test]
fn a_domain_that_fails_is_named_once_and_has_no_alias() {
    let head = "scenario: case\nabout: a test\nfleet: {members: 2, zones: {m1: a, m2: b}}\nwhen:\n";
    let cases = [
        ("refuse: {cluster: {zone: a}, as: §victim}", "an alias stands for one member"),
        (
            "refuse: {cluster: {zone: a}}\n  - heal: §{zone: b}",
            "no earlier step breaks a member of the zone b",
        ),
        ("refuse: {cluster: {zone: a}}\n  - heal: §m2", "no earlier step breaks m2"),
        ("refuse: {cluster: §{zone: a, region: r}}", "give exactly one of"),
    ];
    for (steps, why) in cases {
        is_reported(&format!("{head}  - {steps}\n"), why);
    }
}

#[test]
fn a_step_without_sense_is_reported_with_its_place() {
    let cases = [
        ("settled: §wbe", "no earlier step creates a workload `wbe`; known names: web"),
        ("settled: {workload: §wbe}", "no earlier step creates a workload `wbe`"),
        ("heal: §m1", "no earlier step breaks m1"),
        ("start: §controllers", "no earlier step kills the controllers"),
        ("kill: controllers\n  - kill: §controllers", "the controllers are dead already"),
        ("heal: §victim", "no member `victim`"),
        ("refuse: {cluster: m1}\n  - heal: §m2", "no earlier step breaks m2"),
        ("refuse: {cluster: m1, as: §m2}", "is the name of a member"),
        ("call: {member: m1, as: a}\n  - call: {member: m2, as: §a}", "defines the alias `a` already"),
        ("refuse: {cluster: §{index: 1}}", "exactly one of `carrying` and `spareFor`"),
        ("refuse: {cluster: §{carrying: shop}}", "creates a workload `shop`"),
        ("refuse: {cluster: §{zone: attic}}", "no member of this fleet belongs to the zone attic"),
        ("heal: §{zone: attic}", "no member of this fleet belongs to the zone attic"),
        ("flap: {cluster: m1, down: 1s, up: 1s, times: §0}", "must be at least 1"),
        ("§placed: {workload: web}", "give at least one of `on`"),
        ("seen: {in: §m9, object: {apiVersion: v1, kind: Node, metadata: {name: a}}}", "no member `m9`"),
        (
            "delete: {from: m1, object: §{apiVersion: v1, kind: Node, metadata: {name: $(lost)}}}",
            "no member `lost`",
        ),
        (
            "apply: {to: controlPlane, object: §{apiVersion: v1, metadata: {name: a}}}",
            "needs the field `kind`",
        ),
        ("placed: {workload: web, on: [m1, §victim]}", "no member `victim`"),
        ("placed: {workload: web, on: {m1: 1, §m8: 2}}", "no member `m8`"),
        (
            "workload: {name: §web, replicas: 1, policy: {scheduling: Duplicated}}",
            "exists already, in line 5",
        ),
        ("faults: [{for: 1s, fault: {skew: {node: §m1, ahead: 1s}}}]", "has no nodes: use `cluster` or `of`"),
        (
            "faults: [{for: 1s, fault: §{skew: {ahead: 1s}}}]",
            "give exactly one of `node`, `cluster` and `of`",
        ),
        (
            "faults: [{for: 1s, fault: §{skew: {cluster: m1, of: controllers, ahead: 1s}}}]",
            "give exactly one of `node`",
        ),
        ("faults: [{for: 1s, fault: §{skew: {cluster: m1}}}]", "give exactly one of `ahead` and `behind`"),
        ("faults: [{for: 1s, fault: {skew: {cluster: §m9, ahead: 1s}}}]", "no member `m9`"),
        ("faults: [{for: 1s, fault: {skew: {cluster: m1, ahead: 1s, as: §it}}}]", "cannot define an alias"),
    ];
    for (step, why) in cases {
        is_reported(&format!("{HEAD}{WEB}when:\n  - {step}\n"), why);
    }
    is_reported("scenario: §case\nabout: a\nfleet: {members: 4}\n", "no steps");
    is_reported("scenario: §../case\nabout: a\nfleet: {members: 4}\n", "characters of a-z");
    is_reported("scenario: case\nabout: a\nfleet: {members: §0}\n", "1 to 5000 members");
}

#[test]
fn a_cluster_without_sense_is_reported_with_its_place() {
    let cases = [
        ("fleet: {members: 1}\ncluster: §{nodes: 1}", "give exactly one of `fleet` and `cluster`"),
        ("cluster: §{nodes: 0}", "1 to 5000 nodes, not 0"),
        ("cluster: §{zones: {a: 11, a1: 1}}", "have the same name"),
        ("cluster: {zones: {a: 1}, regions: {b: §east}}", "no zone `b`"),
        ("cluster: {nodes: 1, labels: {n2: §{a: b}}}", "no node and no zone `n2`"),
        ("cluster: {nodes: 1, flags: {evictionRate: §1}}", "no flag `evictionRate`"),
        ("cluster: {nodes: 1, flags: {nodeEvictionRate: §-1}}", "from 0 to 1000000"),
    ];
    for (testbed, why) in cases {
        is_reported(&format!("scenario: case\nabout: a test\n{testbed}\nthen:\n  - wait: 1s\n"), why);
    }
}

#[test]
fn a_step_about_nodes_without_sense_is_reported_with_its_place() {
    let head = "scenario: case\nabout: a test\ncluster: {zones: {a: 2}}\n";
    let web = "given:\n  - pods: {name: web, kind: Pod, on: [a1]}\n";
    let cases = [
        ("silence: {node: §b1}", "no node `b1` in this cluster (a1, a2)"),
        ("silence: {node: §{zone: b}}", "no node of this cluster belongs to the zone b"),
        ("skew: {node: §a1}", "give exactly one of `ahead` and `behind`"),
        ("skew: {node: §a1, ahead: 1s, behind: 1s}", "give exactly one of `ahead` and `behind`"),
        ("§refuse: {cluster: a1}", "the step `refuse` needs a fleet"),
        ("faults: [{for: 1s, fault: §{restore: {cluster: a1}}}]", "the fault `restore` needs a fleet"),
        ("faults: [{for: 1s, fault: §{wipe: {cluster: a1}}}]", "the fault `wipe` needs a fleet"),
        (
            "faults: [{for: 1s, fault: {skew: {cluster: §a1, ahead: 1s}}}]",
            "has no members: use `node` or `of`",
        ),
        ("§partition: {node: a1, direction: toMember}", "drops packets in both directions"),
        ("seen: {in: §a1, object: {apiVersion: v1, kind: Node, metadata: {name: a}}}", "a node has no API"),
        ("pods: {name: db, kind: §Deployment}", "`replicas` is missing"),
        ("pods: {name: db, kind: §Pod}", "`on` is missing"),
        ("pods: {name: db, kind: Pod, on: [a1], replicas: §2}", "only a Deployment"),
        ("pods: {name: db, kind: DaemonSet, on: [§a1]}", "only a Pod"),
        ("pods: {name: §web-1, kind: DaemonSet}", "would begin alike"),
        ("pods: {name: §web, kind: DaemonSet}", "the workload `web` exists already"),
        ("taintedNodes: {zone: §b, key: k, effect: NoExecute, atMost: 1}", "no zone `b`"),
        ("§taintedNodes: {key: k, effect: NoExecute}", "give `atLeast`, `atMost` or both"),
        ("§taintedNodes: {key: k, effect: NoExecute, atLeast: 2, atMost: 1}", "less than `atLeast`"),
    ];
    for (step, why) in cases {
        is_reported(&format!("{head}{web}when:\n  - {step}\n"), why);
    }
    is_reported(&format!("{HEAD}when:\n  - §silence: {{node: m1}}\n"), "the step `silence` needs a cluster");
}

#[test]
fn unusual_but_sensible_scenarios_are_accepted() {
    let more_wanted_than_there_are = "given:\n  - workload: {name: web, replicas: 1, policy: {clusters: [m1], \
         spread: {cluster: {min: 2, max: 3}}, scheduling: Duplicated}}\n";
    let healed_by_its_alias = "when:\n  - refuse: {cluster: {carrying: web}, as: victim}\n  - heal: victim\n";
    let healed_by_what_may_be_its_name = "when:\n  - refuse: {cluster: {carrying: web}}\n  - heal: m3\n";
    for rest in [
        more_wanted_than_there_are.to_owned(),
        format!("{WEB}{healed_by_its_alias}"),
        format!("{WEB}{healed_by_what_may_be_its_name}"),
    ] {
        parse("s.yaml", &format!("{HEAD}{rest}")).expect(&rest);
    }
}
