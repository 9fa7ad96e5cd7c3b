//! Changes one part of an image's name as an overrider says.
//!
//! karmada-io/karmada `pkg/util/imageparser/parser.go`, `pkg/util/overridemanager/imageoverride.go`.

use crate::api::{ImageComponent, ImageOverrider, OverriderOperator};

/// Returns the image after the overrider has set, extended or removed one of its parts.
///
/// # Errors
/// The text is not the name of an image.
pub fn override_image(image: &str, overrider: &ImageOverrider) -> Result<String, String> {
    let mut parts = Parts::of(image)
        .ok_or_else(|| format!("failed to parse image value({image}): invalid reference format"))?;
    let changed = |part: &str| match overrider.operator {
        OverriderOperator::Add => format!("{part}{}", overrider.value),
        OverriderOperator::Replace => overrider.value.clone(),
        OverriderOperator::Remove => String::new(),
    };
    match overrider.component {
        ImageComponent::Registry => parts.registry = changed(&parts.registry),
        ImageComponent::Repository => parts.repository = changed(&parts.repository),
        ImageComponent::Tag => {
            let version = changed(if parts.tag.is_empty() { &parts.digest } else { &parts.tag });
            parts.set_version(version);
        }
    }
    Ok(parts.joined())
}

/// `registry/repository:tag`, or with `@digest` instead of the tag.
struct Parts {
    registry: String,
    repository: String,
    tag: String,
    digest: String,
}

impl Parts {
    fn of(image: &str) -> Option<Self> {
        let (name, digest) = image.split_once('@').unwrap_or((image, ""));
        // A colon before the last slash belongs to a port.
        let tag = name.rfind(':').filter(|colon| !name[*colon..].contains('/'));
        let (name, tag) = tag.map_or((name, None), |colon| (&name[..colon], Some(&name[colon + 1..])));
        // Without a host, the first part belongs to the repository (`SplitHostname`).
        let host = |first: &str| first.contains(['.', ':']) || first == "localhost";
        let split = name.split_once('/').filter(|(first, _)| host(first));
        let (registry, repository) = split.unwrap_or(("", name));
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-/:".contains(c);
        let has_empty_part = repository.split('/').any(str::is_empty);
        if has_empty_part || !name.chars().all(allowed) || tag.is_some_and(|tag| !is_tag(tag)) {
            return None;
        }
        let tag = tag.unwrap_or_default();
        // A digest beside a tag is dropped (`Parse`).
        let digest = if tag.is_empty() { digest } else { "" };
        let [registry, repository, tag, digest] = [registry, repository, tag, digest].map(str::to_owned);
        Some(Self { registry, repository, tag, digest })
    }

    /// A tag replaces a digest and the other way round. A text that is neither changes nothing.
    fn set_version(&mut self, version: String) {
        if version.is_empty() {
            (self.tag, self.digest) = (String::new(), String::new());
        } else if is_tag(&version) {
            (self.tag, self.digest) = (version, String::new());
        } else if version
            .split_once(':')
            .is_some_and(|(algorithm, hash)| !algorithm.is_empty() && is_hash(hash))
        {
            (self.tag, self.digest) = (String::new(), version);
        }
    }

    fn joined(self) -> String {
        let Self { registry, repository, tag, digest } = self;
        let name = if registry.is_empty() { repository } else { format!("{registry}/{repository}") };
        match (tag.as_str(), digest.as_str()) {
            ("", "") => name,
            ("", digest) => format!("{name}@{digest}"),
            (tag, _) => format!("{name}:{tag}"),
        }
    }
}

fn is_tag(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.len() <= 128 && text.starts_with(word) && text.chars().all(|c| word(c) || c == '.' || c == '-')
}

fn is_hash(text: &str) -> bool {
    text.len() >= 32 && text.chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_of_an_image_changes() {
        use ImageComponent::{Registry, Repository, Tag};
        use OverriderOperator::{Add, Remove, Replace};
        let digest = format!("sha256:{}", "0".repeat(64));
        let with_digest = format!("r.io/app@{digest}");
        let with_both = format!("r.io/app:v1@{digest}");
        let not_hex = format!("sha256:{}", "x".repeat(64));
        let cases = [
            ("r.io:5000/team/app:v1", Registry, Replace, "eu.r.io", "eu.r.io/team/app:v1"),
            ("r.io:5000/team/app:v1", Registry, Remove, "", "team/app:v1"),
            ("r.io/app:v1", Registry, Add, ".eu", "r.io.eu/app:v1"),
            ("app", Registry, Replace, "r.io", "r.io/app"),
            ("team/app", Registry, Replace, "r.io", "r.io/team/app"),
            ("localhost/app", Registry, Replace, "r.io", "r.io/app"),
            ("r:5000/app", Registry, Replace, "r.io", "r.io/app"),
            ("team/app:v1", Repository, Replace, "other", "other:v1"),
            ("r.io/app:v1", Repository, Replace, "other/app", "r.io/other/app:v1"),
            ("r.io/app:v1", Repository, Add, "-arm", "r.io/app-arm:v1"),
            ("r.io/app:v1", Tag, Replace, "v2", "r.io/app:v2"),
            ("r.io/app", Tag, Replace, "v2", "r.io/app:v2"),
            ("r.io/app:v1", Tag, Add, "-arm", "r.io/app:v1-arm"),
            ("r.io/app:v1", Tag, Remove, "", "r.io/app"),
            ("r.io/app:v1", Tag, Replace, &digest, &with_digest),
            (&with_digest, Tag, Replace, "v2", "r.io/app:v2"),
            (&with_digest, Tag, Remove, "", "r.io/app"),
            (&with_both, Tag, Remove, "", "r.io/app"),
            (&with_both, Registry, Replace, "eu.r.io", "eu.r.io/app:v1"),
            ("r.io/app:v1", Tag, Replace, "no tag", "r.io/app:v1"),
            ("r.io/app:v1", Tag, Replace, "sha256:abc", "r.io/app:v1"),
            ("r.io/app:v1", Tag, Replace, &digest[6..], "r.io/app:v1"),
            ("r.io/app:v1", Tag, Replace, &not_hex, "r.io/app:v1"),
        ];
        for (image, component, operator, value, expected) in cases {
            let overrider = ImageOverrider { predicate: None, component, operator, value: value.into() };
            assert_eq!(
                override_image(image, &overrider).as_deref(),
                Ok(expected),
                "{image} {component:?} {value}"
            );
        }
    }

    #[test]
    fn what_is_no_image_is_refused() {
        for image in ["", "r.io/", "team/", "/app", "a b", "app:", "app:v 1"] {
            assert!(override_image(image, &ImageOverrider::default()).is_err(), "{image:?}");
        }
    }
}
