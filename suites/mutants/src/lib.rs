//! Wrong implementations of one rule of failover each: what a suite is worth shows in whether it notices them.
//!
//! A mutant is the reference but for one method of [`Rules`]; or it has one of the bugs that releases of the real system
//! had. Running the suite on them is left to `capsize mutants` and its tests.

use std::sync::Arc;

use capsize_controllers::rules::Rules;

/// Declares wrong rules: the name says what is wrong, then comes the case that notices it, and the guarantee that names
/// the cause, then the methods that are overridden.
macro_rules! mutants {
    ($($name:ident ($case:literal, $guarantee:literal) { $($method:tt)* })*) => {
        $(
            #[expect(non_camel_case_types, reason = "its name is a sentence")]
            struct $name;

            impl Rules for $name {
                $($method)*
            }
        )*

        /// All of this file.
        pub(crate) fn all() -> Vec<crate::Mutant> {
            vec![$(
                crate::Mutant::new(stringify!($name), $case, $guarantee, || Arc::new($name)),
            )*]
        }
    };
}

mod delivery;
mod eviction;
mod known;
mod members;
mod placement;
mod policies;
mod releases;
mod replicas;
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
    rules: Box<dyn Fn() -> Arc<dyn Rules> + Send + Sync>,
}

impl Mutant {
    fn new(
        name: &str,
        case: &'static str,
        guarantee: &'static str,
        rules: impl Fn() -> Arc<dyn Rules> + Send + Sync + 'static,
    ) -> Self {
        Self { id: name.replace('_', "-"), case, guarantee, profile: "reference", rules: Box::new(rules) }
    }

    /// Its rules.
    #[must_use]
    pub fn rules(&self) -> Arc<dyn Rules> {
        (self.rules)()
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
        delivery::all(),
        policies::all(),
        releases::all(),
        known::all(),
    ];
    files.into_iter().flatten().collect()
}
