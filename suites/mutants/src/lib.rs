//! Wrong implementations of one rule of failover each: a good suite notices all of them.
//!
//! A mutant is the reference with one wrong method of [`Rules`], or of [`NodeRules`]; or it has one of the
//! bugs of real releases. `capsize mutants` and its tests run the suite on the mutants.

use std::sync::Arc;

use capsize_rules::Rules;
use capsize_rules::node::NodeRules;

/// The methods that all mutants of the unchanged reference have in common.
macro_rules! as_it_is {
    () => {};
}

/// Declares wrong rules.
/// A declaration has the name of the mutant, the case that notices it, the guarantee that names the cause, and the
/// overridden methods. A macro may come first, with methods that all mutants of the file override.
macro_rules! mutants {
    ($($name:ident ($case:literal, $guarantee:literal) { $($method:tt)* })*) => {
        mutants! { Rules, new: $($name ($case, $guarantee) { $($method)* })* }
    };
    ($rules:ident, $new:ident: $($more:tt)*) => {
        mutants! { $rules, $new, as_it_is: $($more)* }
    };
    ($rules:ident, $new:ident, $base:ident: $($name:ident ($case:literal, $guarantee:literal) { $($method:tt)* })*) => {
        $(
            #[expect(non_camel_case_types, reason = "its name is a sentence")]
            struct $name;

            impl $rules for $name {
                $base!();
                $($method)*
            }
        )*

        /// All mutants of this file.
        pub(crate) fn all() -> Vec<crate::Mutant> {
            vec![$(
                crate::Mutant::$new(stringify!($name), $case, $guarantee, || Arc::new($name))
                    .overriding(stringify!($($method)*)),
            )*]
        }
    };
}

mod delivery;
mod eviction;
mod forms;
mod known;
mod lost_members;
mod members;
mod nodes;
mod nodes_drains;
mod nodes_known;
mod placement;
mod policies;
mod releases;
mod replicas;
mod reports;
mod tasks;

/// A wrong implementation.
pub struct Mutant {
    /// The id: `one-failed-probe-is-enough`.
    pub id: String,
    /// The scenario that notices the mutant, as `group/name`.
    pub case: &'static str,
    /// The guarantee that is violated then, and names the cause.
    pub guarantee: &'static str,
    /// The profile for the runs.
    /// It is the profile of the reference, unless the mutant changes the behaviour of a release.
    pub profile: &'static str,
    /// The names of the overridden rules; empty if the mutant has a bug of a release.
    pub overridden: Vec<&'static str>,
    wrong: Box<dyn Fn() -> WrongRules + Send + Sync>,
}

/// Wrong rules.
pub enum WrongRules {
    /// The rules of clusters.
    Clusters(Arc<dyn Rules>),
    /// The rules of nodes.
    Nodes(Arc<dyn NodeRules>),
}

impl Mutant {
    fn new(
        name: &str,
        case: &'static str,
        guarantee: &'static str,
        rules: impl Fn() -> Arc<dyn Rules> + Send + Sync + 'static,
    ) -> Self {
        let wrong = Box::new(move || WrongRules::Clusters(rules()));
        Self {
            id: name.replace('_', "-"),
            case,
            guarantee,
            profile: "reference",
            overridden: Vec::new(),
            wrong,
        }
    }

    fn of_nodes(
        name: &str,
        case: &'static str,
        guarantee: &'static str,
        rules: impl Fn() -> Arc<dyn NodeRules> + Send + Sync + 'static,
    ) -> Self {
        let wrong = Box::new(move || WrongRules::Nodes(rules()));
        Self {
            id: name.replace('_', "-"),
            case,
            guarantee,
            profile: "reference-nodes",
            overridden: Vec::new(),
            wrong,
        }
    }

    /// A mutant of nodes whose pods are deleted after a timeout.
    fn of_drains(
        name: &str,
        case: &'static str,
        guarantee: &'static str,
        rules: impl Fn() -> Arc<dyn NodeRules> + Send + Sync + 'static,
    ) -> Self {
        Self { profile: "reference-nodes-1.16-drains", ..Self::of_nodes(name, case, guarantee, rules) }
    }

    /// The same mutant, with the names of the methods in `code`.
    fn overriding(self, code: &'static str) -> Self {
        let mut words = code.split_whitespace();
        let names = std::iter::from_fn(|| {
            words.find(|word| *word == "fn")?;
            words.next()?.split(['(', '<']).next()
        });
        Self { overridden: names.collect(), ..self }
    }

    /// Returns the further scenarios that notice the mutant, one for each other form of a workload.
    /// Each scenario has the guarantee that names the cause there.
    pub fn forms(&self) -> impl Iterator<Item = (String, &'static str)> {
        forms::of(&self.id)
    }

    /// The rules of the mutant.
    #[must_use]
    pub fn rules(&self) -> WrongRules {
        (self.wrong)()
    }
}

/// All mutants: the invented ones before the bugs of releases.
#[must_use]
pub fn all() -> Vec<Mutant> {
    let files = [
        members::all(),
        lost_members::all(),
        eviction::all(),
        tasks::all(),
        placement::all(),
        replicas::all(),
        reports::all(),
        delivery::all(),
        policies::all(),
        releases::all(),
        known::all(),
        nodes::all(),
        nodes_drains::all(),
        nodes_known::all(),
    ];
    files.into_iter().flatten().collect()
}
