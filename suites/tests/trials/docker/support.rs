//! Shared code of the tests of Docker: images, and the containers of runs.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use crate::command::{capsize, printed};
use crate::stage::{Stage, program};
use capsize_clock::{Seed, live};
use capsize_real::{Engine, EngineError, NodeImage, Resource};

/// The reason why Docker cannot be used, if there is one.
pub(crate) fn away() -> Option<String> {
    live(Seed(0), 1.0, |_| Engine::find()).unwrap().err().map(|error| error.to_string())
}

/// Builds the image of the running program before the first test that is not skipped.
pub(crate) fn build_image() {
    static BUILT: LazyLock<()> = LazyLock::new(|| {
        let built = capsize().args(["images", "build"]).output().unwrap();
        assert!(built.status.success(), "{built:?}");
    });
    LazyLock::force(&BUILT);
}

/// The image of the script, which stands in for an image of kind.
const STAND_IN: &str = "capsize-stand-in-node:latest";

/// The base image of the stand-in. Building it takes minutes.
const STAND_IN_BASE: &str = "capsize-stand-in-base:bookworm";

/// Returns the image of nodes for tests.
/// The image is the one that `CAPSIZE_KIND_IMAGE` names, an existing image of kind, or a stand-in that is built from
/// this program.
///
/// # Errors
/// The reason why there is no image.
pub(crate) fn node_image() -> Result<String, String> {
    static FOUND: LazyLock<Result<String, String>> = LazyLock::new(|| {
        if let Some(image) = ready_node_image() {
            return Ok(image);
        }
        if let Some(why) = lacks_node_image() {
            return Err(why);
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/stand-in-node.sh");
        let built = Command::new(script).env("CAPSIZE", program()).output().unwrap();
        assert!(built.status.success(), "{}", printed(&built));
        Ok(STAND_IN.into())
    });
    FOUND.clone()
}

/// The reason why there is no image of nodes for tests, and none can be built, if so.
pub(crate) fn lacks_node_image() -> Option<String> {
    let is_missing = ready_node_image().is_none() && find_image(Some(STAND_IN_BASE)).is_err();
    let why = "there is no image kindest/node, and none that stands in: scripts/stand-in-node.sh builds it";
    is_missing.then(|| why.to_owned())
}

/// The image of nodes that need not be built.
fn ready_node_image() -> Option<String> {
    std::env::var("CAPSIZE_KIND_IMAGE").ok().or_else(|| find_image(None).ok().map(|image| image.name()))
}

/// The image of this name, or an image of kind.
pub(crate) fn find_image(name: Option<&str>) -> Result<NodeImage, EngineError> {
    live(Seed(0), 1.0, |_| async { NodeImage::find(&Engine::find().await?, name).await }).unwrap()
}

impl Stage {
    /// The command that runs the case on members in containers.
    pub(crate) fn run(&self, program: &Path) -> Command {
        self.run_on(program, &["--provider", "container"])
    }

    /// The resources of Docker that belong to runs of this stage.
    pub(crate) fn left(&self) -> Vec<Resource> {
        live(Seed(0), 1.0, |_| self.made()).unwrap()
    }

    /// The same inside of a runtime.
    pub(crate) async fn made(&self) -> Vec<Resource> {
        // The folder does not exist before the first run.
        let Ok(state) = self.path("state").canonicalize() else { return Vec::new() };
        let ours = Engine::find().await.unwrap().ours(&state.display().to_string()).await.unwrap();
        ours.into_iter().map(|one| one.resource).collect()
    }
}

const CASE: &str = "
scenario: settles
about: A workload is placed on one member.
fleet: {members: 1}
given:
  - workload: {name: web, replicas: 1, policy: {scheduling: Duplicated}}
then:
  - settled: web
";

/// Another build of the program has no image.
pub(crate) fn no_image() {
    let stage = Stage::new(CASE);
    let other = stage.path("capsize");
    fs::copy(program(), &other).unwrap();
    File::options().append(true).open(&other).unwrap().write_all(b"another build").unwrap();
    let ran = stage.run(&other).output().unwrap();
    assert_eq!(ran.status.code(), Some(3), "{}", printed(&ran));
    assert!(printed(&ran).contains("`capsize images build`"), "{}", printed(&ran));
    let looked = stage.capsize(&other, &["doctor"]).output().unwrap();
    assert_eq!(looked.status.code(), Some(0), "{}", printed(&looked));
    assert!(printed(&looked).contains("missing  image"), "{}", printed(&looked));
    let looked = stage.capsize(&other, &["doctor", "--provider", "container"]).output().unwrap();
    assert_eq!(looked.status.code(), Some(3), "{}", printed(&looked));
    assert!(printed(&looked).contains("are not possible here: image"), "{}", printed(&looked));
    assert_eq!(stage.left(), []);
}
