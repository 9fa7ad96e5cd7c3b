//! The faults that a person can begin by a command, and their translation into the words of scenarios.

use std::fmt::Write;

use capsize_history::read_yaml;
use serde_json::Value;

use crate::scenario::{Disturbance, Flap};

/// The part of a fleet that a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// A member.
    Member,
    /// The control plane, as its controllers observe it.
    ControlPlane,
}

/// A parameter of a fault.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// A value, as an example.
    pub example: &'static str,
    /// Whether the fault needs it.
    pub is_required: bool,
}

/// A fault that a person can begin.
#[derive(Clone, Copy, Debug)]
pub struct FaultForm {
    /// The name, as in scenarios.
    pub name: &'static str,
    /// The part of the fleet that it hits.
    pub hits: FaultTarget,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// The consequence of the fault.
    pub about: &'static str,
    /// How a scenario has it.
    shape: Shape,
}

/// How a scenario contains a fault.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// `refuse: {cluster: m1, ..}`
    Member,
    /// `disturb: {cluster: m1, by: {jitter: 5s}}`, with the only parameter as the value.
    Connection,
    /// `disturb: {cluster: m1, by: {fail: {..}}}`
    Server,
    /// `deleteMember: m1`
    Name,
    /// `silence: {node: m1, ..}`
    Node,
    /// `kill: controllers`
    Component,
    /// `lag: {..}`
    ControlPlane,
    /// `skew: {of: controllers, ..}`
    Clock,
}

/// A fault that was read from a command.
#[derive(Clone, Debug)]
pub(super) enum RequestedFault {
    /// A fault that lasts until it is healed.
    Fault(Box<Disturbance>),
    /// A member that fails again and again.
    Flap(Box<Flap>),
}

const fn needs(name: &'static str, example: &'static str) -> Parameter {
    Parameter { name, example, is_required: true }
}

const fn may(name: &'static str, example: &'static str) -> Parameter {
    Parameter { name, example, is_required: false }
}

const fn member(
    name: &'static str,
    shape: Shape,
    parameters: &'static [Parameter],
    about: &'static str,
) -> FaultForm {
    FaultForm { name, hits: FaultTarget::Member, parameters, about, shape }
}

const fn control_plane(
    name: &'static str,
    shape: Shape,
    parameters: &'static [Parameter],
    about: &'static str,
) -> FaultForm {
    FaultForm { name, hits: FaultTarget::ControlPlane, parameters, about, shape }
}

const BY: &[Parameter] = &[needs("by", "5s")];
const EVERY: &[Parameter] = &[needs("every", "3")];
const FAIL: &[Parameter] = &[needs("with", "InternalError"), needs("every", "1"), may("verb", "update")];
const SLOW: &[Parameter] = &[needs("by", "5s"), may("verb", "list")];
const CLOCK: &[Parameter] = &[may("ahead", "1h"), may("behind", "1h")];

/// All faults.
pub const FORMS: [FaultForm; 33] = [
    member("refuse", Shape::Member, &[], "connections are refused, and open ones are reset"),
    member(
        "partition",
        Shape::Member,
        &[may("direction", "toMember")],
        "packets are dropped, and arrive after the end of the fault",
    ),
    member("delay", Shape::Member, BY, "every message is delayed"),
    member("jitter", Shape::Connection, BY, "every message is delayed by a random time up to this"),
    member("bandwidth", Shape::Connection, &[needs("rate", "1000")], "so many bytes pass in a second"),
    member("cut", Shape::Connection, &[], "open connections are reset once"),
    member("lose", Shape::Connection, &[needs("percent", "30")], "this percentage of requests is reset"),
    member("refuseNew", Shape::Connection, &[], "new connections are refused, and open ones stay"),
    member("dropNew", Shape::Connection, &[], "new connections get no answer, and open ones stay"),
    member("halfOpen", Shape::Connection, &[], "open connections lose their other end without notice"),
    member("fail", Shape::Server, FAIL, "the API server of the member answers requests with an error"),
    member("slow", Shape::Server, SLOW, "the API server of the member is slow"),
    member("cutWatches", Shape::Server, EVERY, "a watch of the member ends in place of every such event"),
    member(
        "flap",
        Shape::Member,
        &[needs("down", "30s"), needs("up", "30s"), needs("times", "5")],
        "connections are refused and accepted in turn",
    ),
    member("skew", Shape::Member, CLOCK, "the clock of the member is wrong"),
    member("restore", Shape::Member, &[], "the member is restored at the end to its state now"),
    member("wipe", Shape::Member, &[], "the member loses power, and comes back without any data"),
    member(
        "taint",
        Shape::Member,
        &[needs("key", "maintenance"), needs("effect", "NoExecute")],
        "the member has a taint that a person added",
    ),
    member("startUp", Shape::Member, &[needs("takes", "never")], "replicas take this time to be ready"),
    member("deleteMember", Shape::Name, &[], "the object of the member is deleted"),
    member("silence", Shape::Node, &[], "the kubelet of the node reports nothing"),
    member("condition", Shape::Node, &[needs("is", "MemoryPressure")], "the kubelet reports a problem"),
    control_plane("kill", Shape::Component, &[], "the controllers are dead"),
    control_plane("rival", Shape::Component, &[], "a second set of controllers works beside the first"),
    control_plane("stale", Shape::Component, &[], "lists show the state at the beginning of the fault"),
    control_plane("fail", Shape::ControlPlane, FAIL, "requests of the controllers fail"),
    control_plane("conflict", Shape::ControlPlane, EVERY, "every such write conflicts with another"),
    control_plane("slow", Shape::ControlPlane, SLOW, "the API server is slow for the controllers"),
    control_plane("lag", Shape::ControlPlane, BY, "events of watches are delayed for the controllers"),
    control_plane(
        "cut",
        Shape::ControlPlane,
        EVERY,
        "a watch of the controllers ends in place of every such event",
    ),
    control_plane("repeat", Shape::ControlPlane, EVERY, "every such event of a watch is sent twice"),
    control_plane(
        "crash",
        Shape::ControlPlane,
        &[needs("write", "3"), may("done", "true")],
        "the controllers crash at this write from now, and stay dead",
    ),
    control_plane("skew", Shape::Clock, CLOCK, "the clock of the control plane is wrong"),
];

/// The word of a command for the control plane.
pub(super) const CONTROL_PLANE: &str = "control-plane";

impl FaultForm {
    /// A command that begins the fault, as an example.
    #[must_use]
    pub fn usage(&self) -> String {
        let mut usage = self.name.to_owned();
        if self.hits == FaultTarget::Member {
            usage.push_str(" MEMBER");
        }
        for parameter in self.parameters {
            let (open, close) = if parameter.is_required { ("", "") } else { ("[", "]") };
            let _ = write!(usage, " {open}{}={}{close}", parameter.name, parameter.example);
        }
        usage
    }
}

/// Reads `refuse member1` or `delay member1 by=5s`. Returns the member as well, if there is one.
///
/// # Errors
/// The mistake in the command.
pub(super) fn read(words: &[&str], members: &[String]) -> Result<(Option<String>, RequestedFault), String> {
    let [name, rest @ ..] = words else { return Err("name a fault: `faults` lists them".to_owned()) };
    let (targets, parameters): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| !word.contains('='));
    let target = match targets[..] {
        [] | [CONTROL_PLANE] => None,
        [member] => Some(member),
        [_, extra, ..] => return Err(format!("`{extra}` is no parameter: write it as name=value")),
    };
    let hits = if target.is_some() { FaultTarget::Member } else { FaultTarget::ControlPlane };
    let form = FORMS.iter().find(|form| form.name == *name && form.hits == hits);
    let form = form.ok_or_else(|| unknown(name))?;
    if let Some(member) = target
        && !members.iter().any(|known| known == member)
    {
        return Err(format!("there is no member `{member}`: there are {}", members.join(", ")));
    }
    let fields = fields(form, &parameters)?;
    let yaml = form.yaml(target.unwrap_or_default(), &fields);
    let asked = match form.name {
        "flap" => read_yaml(&yaml).map(|flap| RequestedFault::Flap(Box::new(flap))).ok(),
        _ => read_yaml(&yaml).map(|fault| RequestedFault::Fault(Box::new(fault))).ok(),
    };
    let asked = asked.ok_or_else(|| format!("a value is wrong; an example is `{}`", form.usage()))?;
    Ok((target.map(str::to_owned), asked))
}

/// The error for a fault that does not exist, or that hits something else.
fn unknown(name: &str) -> String {
    match FORMS.iter().find(|form| form.name == name) {
        Some(form) => match form.hits {
            FaultTarget::Member => format!("`{name}` hits a member: {}", form.usage()),
            FaultTarget::ControlPlane => format!("`{name}` hits the control plane: {}", form.usage()),
        },
        None => {
            let lower = name.to_lowercase().replace('-', "");
            let meant = FORMS.iter().find(|form| form.name.to_lowercase() == lower);
            let meant = meant.map_or("`faults` lists all", |form| form.name);
            format!("there is no fault `{name}`: {meant}")
        }
    }
}

/// The parameters of a command as fields of YAML.
fn fields(form: &FaultForm, parameters: &[&str]) -> Result<Vec<(&'static str, String)>, String> {
    let mut fields = Vec::new();
    for parameter in parameters {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let known = form.parameters.iter().find(|known| known.name == name);
        let known =
            known.ok_or_else(|| format!("`{}` has no parameter `{name}`: {}", form.name, form.usage()))?;
        let is_plain = value.parse::<u64>().is_ok() || value == "true" || value == "false";
        let value = if is_plain { value.to_owned() } else { Value::from(value).to_string() };
        fields.push((known.name, value));
    }
    let has = |name: &str| fields.iter().any(|(given, _)| *given == name);
    match form.parameters.iter().find(|known| known.is_required && !has(known.name)) {
        Some(lacking) => Err(format!("`{}` needs `{}`: {}", form.name, lacking.name, form.usage())),
        None => Ok(fields),
    }
}

impl FaultForm {
    /// The fault in the words of a scenario.
    fn yaml(&self, member: &str, fields: &[(&str, String)]) -> String {
        let member = Value::from(member).to_string();
        let all = |first: Option<(&str, String)>| {
            let all = first.iter().chain(fields).map(|(name, value)| format!("{name}: {value}"));
            format!("{{{}}}", all.collect::<Vec<_>>().join(", "))
        };
        let name = self.name;
        match self.shape {
            Shape::Member if name == "flap" => all(Some(("cluster", member))),
            Shape::Member => format!("{name}: {}", all(Some(("cluster", member)))),
            Shape::Node => format!("{name}: {}", all(Some(("node", member)))),
            Shape::Connection => match fields {
                [(_, value)] => format!("disturb: {{cluster: {member}, by: {{{name}: {value}}}}}"),
                _ => format!("disturb: {{cluster: {member}, by: {name}}}"),
            },
            Shape::Server => format!("disturb: {{cluster: {member}, by: {{{name}: {}}}}}", all(None)),
            Shape::Name => format!("{name}: {member}"),
            Shape::Component => format!("{name}: controllers"),
            Shape::ControlPlane => format!("{name}: {}", all(None)),
            Shape::Clock => format!("{name}: {}", all(Some(("of", "controllers".to_owned())))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> Vec<String> {
        vec!["member1".to_owned()]
    }

    #[test]
    fn every_form_reads_its_own_example() {
        for form in FORMS {
            let usage = form.usage().replace("MEMBER", "member1").replace(['[', ']'], "");
            let words: Vec<&str> = usage.split(' ').filter(|word| !word.starts_with("behind=")).collect();
            let read = read(&words, &members());
            assert!(read.is_ok(), "{usage}: {read:?}");
        }
    }

    #[test]
    fn a_mistake_is_answered_with_an_example() {
        let cases = [
            ("refuse member9", "there is no member `member9`: there are member1"),
            ("refuse", "`refuse` hits a member: refuse MEMBER"),
            ("kill member1", "`kill` hits the control plane: kill"),
            ("delay member1", "`delay` needs `by`: delay MEMBER by=5s"),
            ("delay member1 by=soon", "a value is wrong; an example is `delay MEMBER by=5s`"),
            ("delay member1 for=5s", "`delay` has no parameter `for`: delay MEMBER by=5s"),
            ("refuse-new member1", "there is no fault `refuse-new`: refuseNew"),
            ("explode member1", "there is no fault `explode`: `faults` lists all"),
        ];
        for (line, says) in cases {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(read(&words, &members()).unwrap_err(), says, "{line}");
        }
    }
}
