//! Kits contain what is needed to start a real implementation from its released programs.
//! A kit stands on top of the profile of the implementation.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use capsize_history::read_yaml;
use capsize_judge::YamlError;
use capsize_judge::profile::{Feature, Profile, Program, SettingError, Start};
use flate2::read::GzDecoder;
use miette::Diagnostic;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// The kits that come with Capsize, by the names of their profiles.
const SHIPPED: [(&str, &str); 6] = [
    ("capsize-controllers", include_str!("../targets/capsize-controllers/kit.yaml")),
    ("karmada-1.13", include_str!("../targets/karmada-1.13/kit.yaml")),
    ("karmada-1.18", include_str!("../targets/karmada-1.18/kit.yaml")),
    ("karmada-1.19", include_str!("../targets/karmada-1.19/kit.yaml")),
    ("kube-controller-manager-1.36", include_str!("../targets/kube-controller-manager-1.36/kit.yaml")),
    ("ocm", include_str!("../targets/ocm/kit.yaml")),
];

/// How a profile changes when its programs are started.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kit {
    /// The release whose definitions Capsize provides.
    behaviour: Option<String>,
    /// Where to find the definitions of a release, if Capsize has none of the implementation.
    definitions: Option<String>,
    /// Whether the programs include the webhooks.
    #[serde(default)]
    webhooks: bool,
    /// The features that the kit adds.
    #[serde(default)]
    features: Vec<Feature>,
    /// The features that the kit does not have.
    #[serde(default)]
    without: Vec<Feature>,
    /// The timings that the flags of the programs set.
    #[serde(default)]
    timings: BTreeMap<String, String>,
    /// The programs, in the order in which they start; those of the profile where the kit has none.
    #[serde(default)]
    programs: Vec<Program>,
}

/// An error in a kit, or in definitions.
#[derive(Debug, Error, Diagnostic)]
pub enum KitError {
    /// The YAML is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(Box<YamlError>),
    /// A timing is wrong.
    #[error("{file}: timings: {reason}")]
    Timing {
        /// The file.
        file: String,
        /// The error.
        reason: SettingError,
    },
    /// A file cannot be read.
    #[error("{path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// The error.
        reason: String,
    },
    /// There are no definitions.
    #[error("--definitions {0}: there is no CustomResourceDefinition in it")]
    #[diagnostic(help(
        "name the folder of a release that has its definitions, such as charts/karmada/_crds/bases, or an archive of it"
    ))]
    NoDefinitions(String),
    /// The kit needs definitions, and the user gave none.
    #[error("--bin: Capsize has no definitions of the target {target}")]
    #[diagnostic(help("add --definitions DIR with the folder {place}"))]
    NeedsDefinitions {
        /// The target.
        target: String,
        /// Where the definitions of a release are.
        place: String,
    },
}

impl Kit {
    /// The kit of the profile with this name, if Capsize has one.
    ///
    /// # Errors
    /// A mistake in the kit, which a test keeps out of releases.
    pub fn of(target: &str) -> Result<Option<Self>, KitError> {
        let Some((name, text)) = SHIPPED.iter().find(|(name, _)| *name == target) else { return Ok(None) };
        Self::parse(&format!("{name}/kit.yaml"), text).map(Some)
    }

    /// Returns true if Capsize has a kit of the profile with this name.
    #[must_use]
    pub fn exists(target: &str) -> bool {
        SHIPPED.iter().any(|(name, _)| *name == target)
    }

    /// Reads the kit in `text`, called `file` in errors.
    ///
    /// # Errors
    /// [`KitError::Invalid`], which shows the place.
    pub fn parse(file: &str, text: &str) -> Result<Self, KitError> {
        read_yaml(text).map_err(|error| KitError::Invalid(Box::new(YamlError::of_yaml(file, text, &error))))
    }

    /// Returns `profile` as the programs of the kit fulfil it.
    /// The flag `is_defined` says whether there are definitions of the user.
    ///
    /// # Errors
    /// A timing that does not exist, or has no length; definitions that are needed and absent.
    pub fn applied(self, mut profile: Profile, is_defined: bool) -> Result<Profile, KitError> {
        if let Some(place) = self.definitions.filter(|_| !is_defined) {
            return Err(KitError::NeedsDefinitions { target: profile.name, place });
        }
        for (name, value) in &self.timings {
            let set = profile.timings.set_text(&format!("{name}={value}"));
            set.map_err(|reason| KitError::Timing { file: format!("{}/kit.yaml", profile.name), reason })?;
        }
        profile.features.extend(self.features);
        profile.features.retain(|feature| !self.without.contains(feature));
        profile.behaviour = self.behaviour.or(profile.behaviour);
        profile.webhooks = self.webhooks;
        if !self.programs.is_empty() {
            profile.start = Start::Processes(self.programs);
        }
        Ok(profile)
    }
}

/// Reads the definitions of a release.
/// The definitions are those of all YAML files in a folder and its folders, in a `.tar.gz` of a folder, or of one YAML
/// file.
///
/// # Errors
/// A file that cannot be read or is no YAML, or no definition at all.
pub fn definitions(path: &Path) -> Result<Vec<Value>, KitError> {
    let files = if path.is_dir() {
        files_in(path)
    } else if is_yaml(path) {
        std::fs::read_to_string(path).map(|text| vec![(path.display().to_string(), text)])
    } else {
        files_of_archive(path)
    };
    let files = files.map_err(|error| KitError::Unreadable {
        path: format!("--definitions {}", path.display()),
        reason: error.to_string(),
    })?;
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    for (file, text) in files {
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text)
            .map_err(|error| KitError::Invalid(Box::new(YamlError::of_yaml(&file, &text, &error))))?;
        for document in documents {
            if document["kind"] == "CustomResourceDefinition" && !is_patch(&document) {
                found.insert(document["metadata"]["name"].to_string(), document);
            }
        }
    }
    if found.is_empty() {
        return Err(KitError::NoDefinitions(path.display().to_string()));
    }
    Ok(found.into_values().collect())
}

/// Whether a document is a patch of kustomize, which names only what it changes.
fn is_patch(definition: &Value) -> bool {
    definition["spec"].is_object()
        && ["group", "names", "versions"].iter().all(|field| definition["spec"][field].is_null())
}

/// The name and the text of each YAML file.
type Files = std::io::Result<Vec<(String, String)>>;

fn is_yaml(path: &Path) -> bool {
    // Helm charts have templates, which are no YAML.
    let is_template = path.components().any(|part| part.as_os_str() == "templates");
    !is_template && path.extension().is_some_and(|it| it == "yaml" || it == "yml")
}

fn files_in(folder: &Path) -> Files {
    let mut files = Vec::new();
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files.extend(files_in(&path)?);
        } else if is_yaml(&path) {
            files.push((path.display().to_string(), std::fs::read_to_string(&path)?));
        }
    }
    Ok(files)
}

fn files_of_archive(path: &Path) -> Files {
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(path)?));
    let mut files = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        if is_yaml(&name) {
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            files.push((name.display().to_string(), text));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use capsize_history::dialect::DialectKind;

    use super::*;
    use crate::processes::exists;
    use crate::targets;

    #[test]
    fn every_shipped_kit_is_read_and_belongs_to_a_profile() {
        for (name, _) in SHIPPED {
            let profile = targets::find(name).unwrap();
            let features = profile.features.len();
            let kitted = Kit::of(name).unwrap().unwrap().applied(profile, true).unwrap();
            let Start::Processes(programs) = &kitted.start else { panic!("{name} starts nothing") };
            let expected = match kitted.dialect {
                DialectKind::Karmada => 4,
                DialectKind::Nodes => 1,
                DialectKind::Data(_) => 6,
            };
            assert_eq!(programs.len(), expected, "{name}");
            let is_of_nodes = kitted.dialect == DialectKind::Nodes;
            assert!(kitted.webhooks != is_of_nodes && kitted.features.len() <= features + 1, "{name}");
        }
        assert!(Kit::of("reference").unwrap().is_none());
    }

    #[test]
    fn a_kit_without_definitions_of_ours_says_where_a_release_has_them() {
        let kit = Kit::of("ocm").unwrap().unwrap();
        let error = kit.applied(targets::find("ocm").unwrap(), false).unwrap_err();
        assert_eq!(error.to_string(), "--bin: Capsize has no definitions of the target ocm");
        assert!(error.help().unwrap().to_string().contains("--definitions DIR"));
    }

    #[test]
    fn every_placeholder_of_a_shipped_kit_exists() {
        for (name, _) in SHIPPED {
            let kitted = Kit::of(name).unwrap().unwrap().applied(targets::find(name).unwrap(), true).unwrap();
            let Start::Processes(programs) = &kitted.start else { panic!("{name} starts nothing") };
            for program in programs {
                let of_same_start =
                    programs.iter().filter(|it| it.per_pull_member == program.per_pull_member);
                let names: BTreeSet<String> = of_same_start.map(|it| it.name.clone()).collect();
                let known =
                    |placeholder: &str| exists(placeholder, program, &names).then(|| placeholder.to_owned());
                let settings = (&kitted.timings, kitted.zones.as_ref());
                let objects = [&program.objects[..], &program.member_objects].concat();
                let filled = program.filled(settings, &known).map(drop);
                let filled = filled.and(Program::filled_objects(&objects, settings, &known).map(drop));
                let filled = filled.and(program.filled_identity(settings, &known).map(drop));
                assert_eq!(filled, Ok(()), "{name}: {}", program.name);
            }
        }
    }

    #[test]
    fn definitions_come_from_a_folder_or_an_archive() {
        let folder = tempfile::TempDir::new().unwrap();
        let bases = folder.path().join("bases/policy");
        std::fs::create_dir_all(&bases).unwrap();
        let definition = |name: &str| {
            format!(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}}}\n"
            )
        };
        let both = format!("{}---\n{}", definition("a.example.com"), definition("b.example.com"));
        std::fs::write(bases.join("both.yaml"), &both).unwrap();
        std::fs::write(folder.path().join("values.yaml"), "replicas: 1\n").unwrap();
        let patch = format!("{}spec: {{conversion: {{strategy: Webhook}}}}\n", definition("a.example.com"));
        std::fs::create_dir(folder.path().join("patches")).unwrap();
        std::fs::write(folder.path().join("patches/webhook.yaml"), patch).unwrap();
        std::fs::write(folder.path().join("README.md"), "not: [yaml").unwrap();
        let found = definitions(folder.path()).unwrap();
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|definition| definition["spec"].is_null()), "the patch is no definition");

        let archive = folder.path().join("crds.tar.gz");
        let file = File::create(&archive).unwrap();
        let gzip = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        let mut tar = tar::Builder::new(gzip);
        tar.append_dir_all("crds", folder.path().join("bases")).unwrap();
        tar.into_inner().unwrap().finish().unwrap();
        assert_eq!(definitions(&archive).unwrap().len(), 2);

        std::fs::write(bases.join("wrong.yaml"), "kind: [").unwrap();
        assert!(matches!(definitions(folder.path()), Err(KitError::Invalid(_))));
        let empty = tempfile::TempDir::new().unwrap();
        assert!(matches!(definitions(empty.path()), Err(KitError::NoDefinitions(_))));
        assert!(matches!(definitions(&empty.path().join("none")), Err(KitError::Unreadable { .. })));
    }
}
