//! One line of what the doctor says.

use std::fmt;

use crate::providers::ProviderName;

/// The providers that cannot do without a thing; embedded members are part of every run.
pub(super) type Needs = &'static [ProviderName];

/// What all runs need.
pub(super) const ALL: Needs = &[ProviderName::Embedded];

/// What those need who make containers.
pub(super) const DOCKER: Needs = &[ProviderName::Container, ProviderName::Kind];

/// What was found of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// The thing.
    pub(super) of: &'static str,
    /// What there is of it.
    pub(super) seen: String,
    /// What to do, where that is not enough, and for whom it is not.
    pub(super) wrong: Option<(Needs, String)>,
}

impl Finding {
    /// All is well.
    pub(super) fn good(of: &'static str, seen: impl Into<String>) -> Self {
        Self { of, seen: seen.into(), wrong: None }
    }

    /// Those who need it need more: `todo` says what to do.
    pub(super) fn wrong(
        of: &'static str,
        seen: impl Into<String>,
        needs: Needs,
        todo: impl Into<String>,
    ) -> Self {
        Self { of, seen: seen.into(), wrong: Some((needs, todo.into())) }
    }

    /// Whether runs with members of `provider` are not possible so. All need what embedded ones need.
    pub(super) fn hinders(&self, provider: ProviderName) -> bool {
        let needs = self.wrong.as_ref().map_or(&[][..], |(needs, _)| needs);
        needs.contains(&provider) || needs == ALL
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, seen, wrong } = self;
        match wrong {
            None => writeln!(f, "ok       {of:<14} {seen}"),
            Some((needs, todo)) if *needs == ALL => {
                writeln!(f, "wrong    {of:<14} {seen}\n         → {todo}")
            }
            Some((needs, todo)) => {
                let names: Vec<&str> = needs.iter().map(|provider| provider.name()).collect();
                let only = format!("only --provider {} needs it", names.join(" or "));
                writeln!(f, "missing  {of:<14} {seen} ({only})\n         → {todo}")
            }
        }
    }
}
