//! One line of what the doctor says.

use std::fmt;

use crate::provided::ProviderName;

/// What was found of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// The thing.
    pub(super) of: &'static str,
    /// What there is of it.
    pub(super) seen: String,
    /// What to do, where that is not enough, and for which provider it is not.
    pub(super) wrong: Option<(ProviderName, String)>,
}

impl Finding {
    /// All is well.
    pub(super) fn good(of: &'static str, seen: impl Into<String>) -> Self {
        Self { of, seen: seen.into(), wrong: None }
    }

    /// `provider` needs more: `todo` says what to do.
    pub(super) fn wrong(
        of: &'static str,
        seen: impl Into<String>,
        provider: ProviderName,
        todo: impl Into<String>,
    ) -> Self {
        Self { of, seen: seen.into(), wrong: Some((provider, todo.into())) }
    }

    /// Whether runs with members of `provider` are not possible so. All need what embedded ones need.
    pub(super) fn hinders(&self, provider: ProviderName) -> bool {
        self.wrong.as_ref().is_some_and(|(of, _)| *of == ProviderName::Embedded || *of == provider)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, seen, wrong } = self;
        match wrong {
            None => writeln!(f, "ok       {of:<12} {seen}"),
            Some((ProviderName::Embedded, todo)) => {
                writeln!(f, "wrong    {of:<12} {seen}\n         → {todo}")
            }
            Some((provider, todo)) => {
                let provider = provider.name();
                writeln!(
                    f,
                    "missing  {of:<12} {seen} (only --provider {provider} needs it)\n         → {todo}"
                )
            }
        }
    }
}
