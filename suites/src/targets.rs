//! The profiles that ship with Capsize, in the binary.

use std::path::Path;

use capsize_history::dialect::DialectKind;
use capsize_judge::profile::{Feature, Profile, ProfileError, Profiles};

use crate::dialects;

const SHIPPED: [(&str, &str); 20] = [
    ("reference.yaml", include_str!("../targets/reference.yaml")),
    ("reference-1.5.yaml", include_str!("../targets/reference-1.5.yaml")),
    ("reference-1.13.yaml", include_str!("../targets/reference-1.13.yaml")),
    ("reference-1.18.yaml", include_str!("../targets/reference-1.18.yaml")),
    ("reference-1.19.yaml", include_str!("../targets/reference-1.19.yaml")),
    ("karmada-1.5.yaml", include_str!("../targets/karmada-1.5.yaml")),
    ("karmada-1.13.yaml", include_str!("../targets/karmada-1.13.yaml")),
    ("karmada-1.14.yaml", include_str!("../targets/karmada-1.14.yaml")),
    ("karmada-1.18.yaml", include_str!("../targets/karmada-1.18.yaml")),
    ("karmada-1.19.yaml", include_str!("../targets/karmada-1.19.yaml")),
    ("reference-nodes.yaml", include_str!("../targets/reference-nodes.yaml")),
    ("reference-nodes-1.16.yaml", include_str!("../targets/reference-nodes-1.16.yaml")),
    ("reference-nodes-1.16-drains.yaml", include_str!("../targets/reference-nodes-1.16-drains.yaml")),
    ("capsize-controllers.yaml", include_str!("../targets/capsize-controllers.yaml")),
    ("kube-controller-manager-1.25.yaml", include_str!("../targets/kube-controller-manager-1.25.yaml")),
    ("kube-controller-manager-1.31.yaml", include_str!("../targets/kube-controller-manager-1.31.yaml")),
    ("kube-controller-manager-1.36.yaml", include_str!("../targets/kube-controller-manager-1.36.yaml")),
    ("ocm-1.1.yaml", include_str!("../targets/ocm-1.1.yaml")),
    ("ocm.yaml", include_str!("../targets/ocm.yaml")),
    ("sig-multicluster.yaml", include_str!("../targets/sig-multicluster.yaml")),
];

/// The profile of Capsize's own controllers of clusters.
pub const REFERENCE: &str = "reference";

/// The profile of its controllers of nodes.
pub const REFERENCE_NODES: &str = "reference-nodes";

/// The shipped profiles.
#[must_use]
pub fn shipped() -> Profiles {
    let parse = |(file, text): (&str, &str)| read(file, text).expect("a test reads every shipped profile");
    Profiles::new(SHIPPED.into_iter().map(parse).collect())
}

/// The file of a shipped profile.
#[must_use]
pub fn text(name: &str) -> Option<&'static str> {
    let file = format!("{name}.yaml");
    SHIPPED.iter().find(|(shipped, _)| *shipped == file).map(|(_, text)| *text)
}

/// Whether `--target` names a file of the user's own, rather than a shipped profile.
#[must_use]
pub fn is_file(target: &str) -> bool {
    Path::new(target).extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// The profile that `--target` asks for: the name of a shipped one, or the path of a YAML file.
/// A release without a profile of its own, as `karmada-1.16`, has the profile that covers it.
///
/// # Errors
/// When there is no such profile, or it is wrong.
pub fn find(target: &str) -> Result<Profile, ProfileError> {
    if is_file(target) {
        let text = std::fs::read_to_string(target).map_err(|error| ProfileError::Unreadable {
            file: target.to_owned(),
            reason: error.to_string(),
        })?;
        return read(target, &text);
    }
    let shipped = shipped();
    let named = shipped.named(target).cloned();
    named.or_else(|unknown| {
        let (implementation, version) = target.rsplit_once('-').unwrap_or_default();
        let covering = shipped.covering(implementation, version).ok_or(unknown)?;
        Ok(Profile { version: version.to_owned(), ..covering.clone() })
    })
}

/// The profile in `text`, together with its dialect.
fn read(file: &str, text: &str) -> Result<Profile, ProfileError> {
    let mut profile = Profile::parse(file, text)?;
    if let DialectKind::Data(data) = &profile.dialect {
        if profile.has(Feature::GracefulEviction) {
            return Err(ProfileError::EvictionsNotRecorded { file: file.to_owned() });
        }
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let dialect = dialects::find(data.name(), folder).map_err(ProfileError::Invalid)?.kind();
        let renewals = dialect.program().is_some_and(|program| program.reads_renewals());
        if profile.has(Feature::LeaseHeartbeats) && !renewals {
            return Err(ProfileError::RenewalsNotRead { file: file.to_owned(), dialect: dialect.into() });
        }
        profile.dialect = dialect;
    }
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_profile_is_read_and_named_as_its_file() {
        let names: Vec<_> = shipped().iter().map(|profile| format!("{}.yaml", profile.name)).collect();
        assert_eq!(names, SHIPPED.map(|(file, _)| file));
    }

    #[test]
    fn a_profile_that_promises_more_than_its_dialect_reads_is_refused() {
        let promising = |name: &str, feature: &str| {
            let text = text(name).unwrap().replacen("features:\n", &format!("features:\n  - {feature}\n"), 1);
            read("own.yaml", &text).unwrap_err()
        };
        let evictions = promising("ocm", "GracefulEviction");
        assert!(matches!(evictions, ProfileError::EvictionsNotRecorded { .. }), "{evictions}");
        let renewals = promising("sig-multicluster", "LeaseHeartbeats");
        assert!(matches!(renewals, ProfileError::RenewalsNotRead { .. }), "{renewals}");
    }

    #[test]
    fn a_release_between_two_profiles_has_the_profile_that_covers_it() {
        let profile = find("karmada-1.16").unwrap();
        assert_eq!((profile.name.as_str(), profile.version.as_str()), ("karmada-1.18", "1.16"));
        assert_eq!(find("karmada-1.15").unwrap().name, "karmada-1.14");
        for unknown in ["karmada-1.99", "karmada-1.3", "karmada-next", "karmada-", "other-1.16"] {
            find(unknown).unwrap_err();
        }
    }
}
