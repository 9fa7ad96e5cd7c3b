//! What the tests of Docker share: images, and what Docker has.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::stage::{Stage, program, said};
use capsize_clock::{Seed, live};
use capsize_real::{Engine, EngineError, NodeImage, Resource};

/// Why Docker cannot be used, if so.
pub(crate) fn away() -> Option<String> {
    live(Seed(0), 1.0, |_| Engine::find()).unwrap().err().map(|error| error.to_string())
}

pub(crate) fn build_image() {
    let built = Command::new(env!("CARGO_BIN_EXE_capsize"))
        .env("COLUMNS", "1000")
        .args(["images", "build"])
        .output()
        .unwrap();
    assert!(built.status.success(), "{built:?}");
}

/// The image of the script, which stands in for one of kind's.
const STAND_IN: &str = "capsize-stand-in-node:latest";

/// What it is made of: without that, it takes minutes.
const STAND_IN_BASE: &str = "capsize-stand-in-base:bookworm";

/// The image of nodes for tests: the one that `CAPSIZE_KIND_IMAGE` names, one of kind's that is there, or one that stands in
/// for them, which is built from this program.
///
/// # Errors
/// Why there is none.
pub(crate) fn node_image() -> Result<String, String> {
    static FOUND: OnceLock<Result<String, String>> = OnceLock::new();
    FOUND.get_or_init(find_or_build).clone()
}

fn find_or_build() -> Result<String, String> {
    if let Ok(named) = std::env::var("CAPSIZE_KIND_IMAGE") {
        return Ok(named);
    }
    if let Ok(image) = find_image(None) {
        return Ok(image.name());
    }
    if find_image(Some(STAND_IN_BASE)).is_err() {
        return Err(
            "there is no image kindest/node, and none that stands in: scripts/stand-in-node.sh builds it"
                .into(),
        );
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/stand-in-node.sh");
    let built = Command::new(script).env("CAPSIZE", program()).output().unwrap();
    assert!(built.status.success(), "{}", said(&built));
    Ok(STAND_IN.into())
}

/// The image of this name, or one of kind's.
pub(crate) fn find_image(name: Option<&str>) -> Result<NodeImage, EngineError> {
    live(Seed(0), 1.0, |_| async { NodeImage::find(&Engine::find().await?, name).await }).unwrap()
}

impl Stage {
    /// Its case on members in containers.
    pub(crate) fn run(&self, program: &Path) -> Command {
        self.run_on(program, &["--provider", "container"])
    }

    /// What Docker has of the runs of this stage.
    pub(crate) fn left(&self) -> Vec<Resource> {
        live(Seed(0), 1.0, |_| self.made()).unwrap()
    }

    /// The same, for who is in a runtime.
    pub(crate) async fn made(&self) -> Vec<Resource> {
        // Before a run has begun, there is no folder.
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
    assert_eq!(ran.status.code(), Some(3), "{}", said(&ran));
    assert!(said(&ran).contains("`capsize images build`"), "{}", said(&ran));
    let looked = stage.capsize(&other, &["doctor"]).output().unwrap();
    assert_eq!(looked.status.code(), Some(0), "{}", said(&looked));
    assert!(said(&looked).contains("missing  image"), "{}", said(&looked));
    let looked = stage.capsize(&other, &["doctor", "--provider", "container"]).output().unwrap();
    assert_eq!(looked.status.code(), Some(3), "{}", said(&looked));
    assert!(said(&looked).contains("are not possible here: image"), "{}", said(&looked));
    assert_eq!(stage.left(), []);
}
