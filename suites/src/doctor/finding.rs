//! One line of what the doctor says.

use capsize_report::Page;

use crate::providers::ProviderName;

/// The providers that cannot do without a thing; embedded members are part of every run.
pub(super) type Needs = &'static [ProviderName];

/// All runs need it.
pub(super) const ALL: Needs = &[ProviderName::Embedded];

/// Providers that make containers need it.
pub(super) const DOCKER: Needs = &[ProviderName::Container, ProviderName::Kind];

/// One requirement, and whether the machine meets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// The thing.
    pub(super) of: &'static str,
    /// The state that was found.
    pub(super) seen: String,
    /// The providers for which that is not enough, and what to do about it.
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

    /// Adds the line of the finding, and what to do, to `page`.
    pub(super) fn add_to(&self, page: &mut Page) {
        let Self { of, seen, wrong } = self;
        let (state, seen) = match wrong {
            None => ("ok", seen.clone()),
            Some((needs, _)) if *needs == ALL => ("wrong", seen.clone()),
            Some((needs, _)) => {
                let names: Vec<&str> = needs.iter().map(|provider| provider.name()).collect();
                ("missing", format!("{seen} (only --provider {} needs it)", names.join(" or ")))
            }
        };
        page.wrapped(&format!("{state:<8} {of:<14} "), &seen);
        if let Some((_, todo)) = wrong {
            page.wrapped("         → ", todo);
        }
    }
}
