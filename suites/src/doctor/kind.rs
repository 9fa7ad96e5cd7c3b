//! Findings about nodes of kind: their image, and their privileges in Docker.

use capsize_real::{Engine, EngineError, Journal, NodeImage, Privilege, Resource, state_folder};

use super::finding::Finding;
use crate::providers::ProviderName;

/// All of it, for nodes of the image of this name; of the one that would be taken where none is given.
/// Without Docker, nothing is found.
pub(super) async fn look(image: Option<&str>) -> Vec<Finding> {
    let Ok(engine) = Engine::find().await else { return Vec::new() };
    let image = match NodeImage::find(&engine, image).await {
        Ok(image) => image,
        Err(EngineError::Lacking { what, how }) => {
            return vec![missing("nodes", &format!("there is no {what}"), &how)];
        }
        Err(error) => {
            return vec![missing("nodes", &error.to_string(), "restart Docker, and look at its log")];
        }
    };
    let privilege = match attempt(&engine, &image).await {
        Ok(privilege) => Finding::good("privileges", format!("nodes run {privilege}")),
        Err(error) => missing(
            "privileges",
            &error,
            "let Docker run containers with --privileged, or with the capability SYS_ADMIN",
        ),
    };
    vec![Finding::good("nodes", image.described()), privilege]
}

fn missing(of: &'static str, error: &str, todo: &str) -> Finding {
    Finding::wrong(of, error, &[ProviderName::Kind], todo)
}

/// Tries what nodes may do, with a container that does nothing.
async fn attempt(engine: &Engine, image: &NodeImage) -> Result<Privilege, String> {
    let journal = Journal::begin(&state_folder()).map_err(|error| error.to_string())?;
    let name = format!("capsize-{}-doctor", journal.run()).to_lowercase();
    let resource = Resource::Container(name.clone());
    journal.will(resource.clone()).map_err(|error| error.to_string())?;
    let privilege = Privilege::find(engine, image, (&name, &journal)).await;
    journal.undone(&resource);
    privilege.map_err(|error| error.to_string())
}
