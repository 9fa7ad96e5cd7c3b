//! Every mistake in a scenario is told with its exact place. In the tables, `§` stands before that place.

use capsize_runner::scenario::parse;

const HEAD: &str = "scenario: case\nabout: a test\nfleet: {members: 4}\n";
const WEB: &str = "given:\n  - workload: {name: web, replicas: 2, policy: {scheduling: Duplicated}}\n";

/// Reads `marked` without its mark, and holds what is told against the mark's place and `why`.
fn is_told(marked: &str, why: &str) {
    let (before, after) = marked.split_once('§').expect("a mark");
    let line = before.lines().count().max(1) + usize::from(before.ends_with('\n'));
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let told = parse("s.yaml", &format!("{before}{after}")).expect_err("the scenario is wrong").to_string();
    let place = format!("s.yaml:{line}:{column}: ");
    assert!(told.starts_with(&place) && told.contains(why), "{marked}\nis told as: {told}\nnot at: {place}");
}

#[test]
fn a_mistake_of_shape_is_told_with_its_place() {
    let cases = [
        ("§flet: {members: 4}\n", "unknown field `flet`"),
        ("fleet: {members: §many}\n", "invalid"),
        ("fleet: {members: §-1}\n", "invalid"),
        ("fleet: {members: 4}\ngiven:\n  - §workoad: {}\n", "unknown variant `workoad`"),
        ("fleet: {members: 4}\ngiven:\n  - wait: §-5s\n", "cannot be negative"),
        ("fleet: {members: 4}\ngiven:\n  - wait: §2 x patience\n", "no timing `patience`"),
        ("fleet: {members: 4}\ngiven:\n  - wait: §5\n", "write a number with"),
        ("fleet: {members: 4}\nthen:\n  - settled: {workload: web, §wihtin: 5s}\n", "unknown field"),
        ("fleet: {members: 4}\nwhen:\n  - refuse: {cluster: {§caring: web}}\n", "unknown field"),
        ("fleet: {members: 4}\nwhen:\n  - refuse: {§cluster: [m1]}\n", "invalid type"),
        ("fleet: {members: 4}\nwhen: §[\n", ""),
        ("fleet: {members: 4}\n§about: twice\n", "duplicate"),
    ];
    for (rest, why) in cases {
        is_told(&format!("scenario: case\nabout: a test\n{rest}"), why);
    }
    let down = "scenario: case\nabout: a\nfleet: {members: 1}\nwhen:\n  - down: {cluster: m1, by: §{losePackets: 101}}\n";
    is_told(down, "at most a hundred are lost");
    is_told("scenario: §case\nabout: a\n", "say what it runs on: `fleet` or `cluster`");
}

#[test]
fn a_policy_without_sense_is_told_with_its_place() {
    let cases = [
        ("clusters: [m1, §m9], scheduling: Duplicated", "no member `m9` in this fleet of 4"),
        ("spread: {cluster: §{min: 3, max: 2}}, scheduling: Duplicated", "at least 3 and at most 2"),
        ("spread: {cluster: §{min: 0, max: 0}}, scheduling: Duplicated", "at most 0"),
        ("scheduling: {Divided: {weights: §{m7: 1}}}", "no member `m7`"),
        ("scheduling: {Divided: {weights: §{m1: 0}}}", "at least 1"),
        ("scheduling: {Divided: {weights: §{}}}", "at least one"),
    ];
    for (policy, why) in cases {
        let step = format!("  - workload: {{name: web, replicas: 2, policy: {{{policy}}}}}\n");
        is_told(&format!("{HEAD}given:\n{step}"), why);
    }
}

#[test]
fn members_that_pull_are_of_the_fleet_and_need_their_feature() {
    let head = "scenario: case\nabout: a test\n";
    let steps = "then:\n  - wait: 1s\n";
    let feature = "features: [PullMembers]\n";
    is_told(&format!("{head}{feature}fleet: {{members: 2, pull: [m1, §m3]}}\n{steps}"), "no member `m3`");
    is_told(&format!("{head}fleet: {{members: 2, pull: [§m1]}}\n{steps}"), "needs the feature PullMembers");
}

#[test]
fn a_domain_that_fails_is_named_once_and_has_no_alias() {
    let head = "scenario: case\nabout: a test\nfleet: {members: 2, zones: {m1: a, m2: b}}\nwhen:\n";
    let cases = [
        ("refuse: {cluster: {zone: a}, as: §victim}", "an alias names one member"),
        ("refuse: {cluster: {zone: a}}\n  - heal: §{zone: b}", "nothing has broken all of zone b"),
        ("refuse: {cluster: {zone: a}}\n  - heal: §m2", "nothing has broken m2"),
        ("refuse: {cluster: §{zone: a, region: r}}", "say one of"),
    ];
    for (steps, why) in cases {
        is_told(&format!("{head}  - {steps}\n"), why);
    }
}

#[test]
fn a_step_without_sense_is_told_with_its_place() {
    let cases = [
        ("settled: §wbe", "no step before this makes a workload `wbe`; known here: web"),
        ("settled: {workload: §wbe}", "no step before this makes a workload `wbe`"),
        ("heal: §m1", "nothing has broken m1"),
        ("start: §controllers", "nothing has killed them before"),
        ("kill: controllers\n  - kill: §controllers", "they are dead already"),
        ("heal: §victim", "no member `victim`"),
        ("refuse: {cluster: m1}\n  - heal: §m2", "nothing has broken m2"),
        ("refuse: {cluster: m1, as: §m2}", "is the name of a member"),
        ("call: {member: m1, as: a}\n  - call: {member: m2, as: §a}", "is taken"),
        ("refuse: {cluster: §{index: 1}}", "one of `carrying` and `spareFor`"),
        ("refuse: {cluster: §{carrying: shop}}", "makes a workload `shop`"),
        ("refuse: {cluster: §{zone: attic}}", "no member of this fleet is in it: all of zone attic"),
        ("heal: §{zone: attic}", "no member of this fleet is in it"),
        ("flap: {cluster: m1, down: 1s, up: 1s, times: §0}", "at least once"),
        ("§placed: {workload: web}", "say where"),
        ("seen: {in: §m9, object: {apiVersion: v1, kind: Node, metadata: {name: a}}}", "no member `m9`"),
        (
            "delete: {from: m1, object: §{apiVersion: v1, kind: Node, metadata: {name: $(lost)}}}",
            "no member `lost`",
        ),
        ("apply: {to: controlPlane, object: §{apiVersion: v1, metadata: {name: a}}}", "says its kind"),
        ("placed: {workload: web, on: [m1, §victim]}", "no member `victim`"),
        ("placed: {workload: web, on: {m1: 1, §m8: 2}}", "no member `m8`"),
        ("workload: {name: §web, replicas: 1, policy: {scheduling: Duplicated}}", "already, in line 5"),
        ("faults: [{for: 1s, fault: {skew: {node: §m1, ahead: 1s}}}]", "has no nodes: say `cluster` or `of`"),
        ("faults: [{for: 1s, fault: §{skew: {ahead: 1s}}}]", "say one of `node`, `cluster` and `of`"),
        (
            "faults: [{for: 1s, fault: §{skew: {cluster: m1, of: controllers, ahead: 1s}}}]",
            "say one of `node`",
        ),
        ("faults: [{for: 1s, fault: §{skew: {cluster: m1}}}]", "say one of `ahead` and `behind`"),
        ("faults: [{for: 1s, fault: {skew: {cluster: §m9, ahead: 1s}}}]", "no member `m9`"),
        ("faults: [{for: 1s, fault: {skew: {cluster: m1, ahead: 1s, as: §it}}}]", "gives no names"),
    ];
    for (step, why) in cases {
        is_told(&format!("{HEAD}{WEB}when:\n  - {step}\n"), why);
    }
    is_told("scenario: §case\nabout: a\nfleet: {members: 4}\n", "no steps");
    is_told("scenario: §../case\nabout: a\nfleet: {members: 4}\n", "is made of a-z");
    is_told("scenario: case\nabout: a\nfleet: {members: §0}\n", "1 to 5000 members");
}

#[test]
fn a_cluster_without_sense_is_told_with_its_place() {
    let cases = [
        ("fleet: {members: 1}\ncluster: §{nodes: 1}", "say one of `fleet` and `cluster`"),
        ("cluster: §{nodes: 0}", "1 to 5000 nodes, not 0"),
        ("cluster: §{zones: {a: 11, a1: 1}}", "have the same name"),
        ("cluster: {zones: {a: 1}, regions: {b: §east}}", "no zone `b`"),
        ("cluster: {nodes: 1, labels: {n2: §{a: b}}}", "no node and no zone `n2`"),
        ("cluster: {nodes: 1, flags: {evictionRate: §1}}", "no flag `evictionRate`"),
        ("cluster: {nodes: 1, flags: {nodeEvictionRate: §-1}}", "from 0 to 1000000"),
    ];
    for (ground, why) in cases {
        is_told(&format!("scenario: case\nabout: a test\n{ground}\nthen:\n  - wait: 1s\n"), why);
    }
}

#[test]
fn a_step_about_nodes_without_sense_is_told_with_its_place() {
    let head = "scenario: case\nabout: a test\ncluster: {zones: {a: 2}}\n";
    let web = "given:\n  - pods: {name: web, kind: Pod, on: [a1]}\n";
    let cases = [
        ("silence: {node: §b1}", "no node `b1` in this cluster (a1, a2)"),
        ("silence: {node: §{zone: b}}", "no node of this cluster is in it: all of zone b"),
        ("skew: {node: §a1}", "say one of `ahead` and `behind`"),
        ("skew: {node: §a1, ahead: 1s, behind: 1s}", "say one of `ahead` and `behind`"),
        ("§refuse: {cluster: a1}", "`refuse` is a step for fleets"),
        ("faults: [{for: 1s, fault: §{restore: {cluster: a1}}}]", "`restore` strikes fleets"),
        ("faults: [{for: 1s, fault: §{wipe: {cluster: a1}}}]", "`wipe` strikes fleets"),
        (
            "faults: [{for: 1s, fault: {skew: {cluster: §a1, ahead: 1s}}}]",
            "has no members: say `node` or `of`",
        ),
        ("§partition: {node: a1, direction: toMember}", "cut off both ways"),
        ("seen: {in: §a1, object: {apiVersion: v1, kind: Node, metadata: {name: a}}}", "a node has no API"),
        ("pods: {name: db, kind: §Deployment}", "say how many"),
        ("pods: {name: db, kind: §Pod}", "say where"),
        ("pods: {name: db, kind: Pod, on: [a1], replicas: §2}", "only a Deployment"),
        ("pods: {name: db, kind: DaemonSet, on: [§a1]}", "only a Pod"),
        ("pods: {name: §web-1, kind: DaemonSet}", "could not be told apart"),
        ("pods: {name: §web, kind: DaemonSet}", "there is a workload `web` already"),
        ("taintedNodes: {zone: §b, key: k, effect: NoExecute, atMost: 1}", "no zone `b`"),
        ("§taintedNodes: {key: k, effect: NoExecute}", "say how many"),
        ("§taintedNodes: {key: k, effect: NoExecute, atLeast: 2, atMost: 1}", "less than `atLeast`"),
    ];
    for (step, why) in cases {
        is_told(&format!("{head}{web}when:\n  - {step}\n"), why);
    }
    is_told(&format!("{HEAD}when:\n  - §silence: {{node: m1}}\n"), "`silence` is a step for clusters");
}

#[test]
fn what_is_unusual_but_makes_sense_is_read() {
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
