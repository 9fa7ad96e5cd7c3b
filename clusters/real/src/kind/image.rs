//! The image of nodes: its name, whether Docker has it, and whether it is one of kind or a stand-in.

use bollard::query_parameters::ListImagesOptions;
use testcontainers::GenericImage;

use crate::docker::{Engine, EngineError, is_missing, refused};

/// The repository of the images of kind.
const REPOSITORY: &str = "kindest/node";

/// The label of a stand-in for these images, which describes it.
const STAND_IN: &str = "capsize.stand-in";

/// An image of nodes that Docker has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeImage {
    repository: String,
    tag: String,
    stand_in: Option<String>,
}

impl NodeImage {
    /// The image called `name`; without a name, the newest `kindest/node` that Docker has.
    ///
    /// # Errors
    /// Docker has no such image (the error says how to get one), or does not answer.
    pub async fn find(engine: &Engine, name: Option<&str>) -> Result<Self, EngineError> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => youngest(engine).await?.ok_or_else(|| missing(REPOSITORY))?,
        };
        let inspected = match engine.0.inspect_image(&name).await {
            Err(error) if is_missing(&error) => return Err(missing(&name)),
            inspected => inspected.map_err(refused(format!("look for the image {name}")))?,
        };
        let labels = inspected.config.and_then(|config| config.labels).unwrap_or_default();
        let (repository, tag) = split(&name);
        let stand_in = labels.get(STAND_IN).cloned();
        Ok(Self { repository: repository.to_owned(), tag: tag.to_owned(), stand_in })
    }

    /// Its name and tag, with a description if it is a stand-in.
    #[must_use]
    pub fn described(&self) -> String {
        let name = self.name();
        self.stand_in.as_ref().map_or_else(|| name.clone(), |what| format!("{name}, a stand-in: {what}"))
    }

    /// Its name and tag.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}:{}", self.repository, self.tag)
    }

    /// Whether it is a stand-in for a node of kind, in which workloads are simulated.
    #[must_use]
    pub fn is_stand_in(&self) -> bool {
        self.stand_in.is_some()
    }

    /// The image as testcontainers represents it.
    pub(super) fn generic(&self) -> GenericImage {
        GenericImage::new(self.repository.as_str(), self.tag.as_str())
    }
}

async fn youngest(engine: &Engine) -> Result<Option<String>, EngineError> {
    let reference = [("reference".to_owned(), vec![REPOSITORY.to_owned()])];
    let options = ListImagesOptions { filters: Some(reference.into_iter().collect()), ..Default::default() };
    let images = engine.0.list_images(Some(options)).await.map_err(refused("list images"))?;
    let youngest = images.into_iter().max_by_key(|image| image.created);
    Ok(youngest.and_then(|image| image.repo_tags.into_iter().next()))
}

fn missing(name: &str) -> EngineError {
    EngineError::Lacking {
        what: format!("image {name}"),
        how: format!(
            "`docker pull {REPOSITORY}:v1.36.1` gets one of kind's, and --kind-image names another; scripts/stand-in-node.sh \
             builds one that stands in for them"
        ),
    }
}

/// Splits the name of an image into repository and tag.
/// A registry may have a port, and the default tag is `latest`.
fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, tag),
        _ => (name, "latest"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_a_repository_and_a_tag() {
        let cases = [
            ("kindest/node:v1.36.1", ("kindest/node", "v1.36.1")),
            ("node", ("node", "latest")),
            ("registry.example:5000/node", ("registry.example:5000/node", "latest")),
            ("registry.example:5000/node:v1", ("registry.example:5000/node", "v1")),
            // As docker does, a digest instead of a tag follows a colon, too.
            ("kindest/node@sha256:0a1b", ("kindest/node@sha256", "0a1b")),
        ];
        for (name, parts) in cases {
            assert_eq!(split(name), parts, "{name}");
        }
    }
}
