//! Wrong implementations of one rule of failover each: what a suite is worth shows in whether it notices them.
//!
//! A mutant is the reference but for one method of [`Rules`], or of [`NodeRules`]; or it has one of the bugs that releases of the real system
//! had. Running the suite on them is left to `capsize mutants` and its tests.

use std::sync::Arc;

use capsize_controllers::rules::Rules;
use capsize_controllers::rules::node::NodeRules;

/// What mutants of the reference as it is have in common.
macro_rules! as_it_is {
    () => {};
}

/// Declares wrong rules: the name says what is wrong, then comes the case that notices it, and the guarantee that names
/// the cause, then the methods that are overridden. What all of a file override is a macro that is named first.
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

        /// All of this file.
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
mod known;
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
    /// What it is called by: `one-failed-probe-is-enough`.
    pub id: String,
    /// The scenario that notices it, as `group/name`.
    pub case: &'static str,
    /// The guarantee that is violated then, and names the cause.
    pub guarantee: &'static str,
    /// The profile that it is put to, which is the reference's own unless it spoils what only a release does.
    pub profile: &'static str,
    /// The names of the rules that it overrides; none where it has a bug of a release.
    pub overridden: Vec<&'static str>,
    wrong: Box<dyn Fn() -> Wrong + Send + Sync>,
}

/// Wrong rules.
pub enum Wrong {
    /// Of clusters.
    Clusters(Arc<dyn Rules>),
    /// Of nodes.
    Nodes(Arc<dyn NodeRules>),
}

impl Mutant {
    fn new(
        name: &str,
        case: &'static str,
        guarantee: &'static str,
        rules: impl Fn() -> Arc<dyn Rules> + Send + Sync + 'static,
    ) -> Self {
        let wrong = Box::new(move || Wrong::Clusters(rules()));
        Self { id: name.replace('_', "-"), case, guarantee, profile: "reference", overridden: Vec::new(), wrong }
    }

    fn of_nodes(
        name: &str,
        case: &'static str,
        guarantee: &'static str,
        rules: impl Fn() -> Arc<dyn NodeRules> + Send + Sync + 'static,
    ) -> Self {
        let wrong = Box::new(move || Wrong::Nodes(rules()));
        Self { id: name.replace('_', "-"), case, guarantee, profile: "reference-nodes", overridden: Vec::new(), wrong }
    }

    /// Of nodes whose pods are deleted after a time.
    fn of_drains(
        name: &str,
        case: &'static str,
        guarantee: &'static str,
        rules: impl Fn() -> Arc<dyn NodeRules> + Send + Sync + 'static,
    ) -> Self {
        Self { profile: "reference-nodes-1.16-drains", ..Self::of_nodes(name, case, guarantee, rules) }
    }

    /// The same, with the names of the methods in `code`.
    fn overriding(self, code: &'static str) -> Self {
        let names = code.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<', ' ']).next());
        Self { overridden: names.collect(), ..self }
    }

    /// Its rules.
    #[must_use]
    pub fn rules(&self) -> Wrong {
        (self.wrong)()
    }
}

/// All of them, those that are made up before those that releases had.
#[must_use]
pub fn all() -> Vec<Mutant> {
    let files = [
        members::all(),
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
