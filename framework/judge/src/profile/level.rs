//! Computes the level of a feature set: core, or extended by features that implementations may lack.
//! No implementation of a dialect conforms without the core features of the dialect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Feature, Profile};
use crate::guarantee::GuaranteeSpec;
use capsize_history::dialect::DialectKind;

/// Whether every implementation of a dialect must support a set of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Level {
    /// It needs core features only.
    Core,
    /// It needs a feature that an implementation may lack.
    Extended,
}

impl Level {
    /// The level of something that needs these features.
    #[must_use]
    pub fn of(features: &[Feature], dialect: &DialectKind) -> Self {
        let core = Feature::core(dialect);
        if features.iter().all(|feature| core.contains(feature)) { Self::Core } else { Self::Extended }
    }

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Extended => "extended",
        }
    }
}

impl Feature {
    /// The features that every implementation of this dialect must have.
    #[must_use]
    pub fn core(dialect: &DialectKind) -> &'static [Self] {
        match dialect {
            DialectKind::Karmada => &[
                Self::HealthProbes,
                Self::NoExecuteTaints,
                Self::GracefulEviction,
                Self::SpreadConstraints,
                Self::StaticWeights,
            ],
            DialectKind::Nodes => &[Self::HealthProbes, Self::NoExecuteTaints, Self::PullMembers],
            // Which features an implementation of another kind must have is not known.
            DialectKind::Data(_) => &[],
        }
    }
}

impl GuaranteeSpec {
    /// The level of the guarantee for implementations of this dialect.
    #[must_use]
    pub fn level(&self, dialect: &DialectKind) -> Level {
        Level::of(self.features, dialect)
    }
}

impl Profile {
    /// The core features that the implementation lacks. It cannot conform if there is one.
    #[must_use]
    pub fn lacking_core(&self) -> Vec<Feature> {
        Feature::core(&self.dialect).iter().copied().filter(|feature| !self.has(*feature)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarantee_is_core_if_all_of_its_features_are() {
        let (karmada, nodes) = (&DialectKind::Karmada, &DialectKind::Nodes);
        assert_eq!(Level::of(&[], karmada), Level::Core);
        assert_eq!(Level::of(&[Feature::HealthProbes, Feature::StaticWeights], karmada), Level::Core);
        assert_eq!(Level::of(&[Feature::HealthProbes, Feature::PullMembers], karmada), Level::Extended);
        assert_eq!(Level::of(&[Feature::HealthProbes, Feature::PullMembers], nodes), Level::Core);
    }
}
