//! What the tests share: the command, a target with short timings, and what Docker has.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use capsize_clock::{Seed, live};
use capsize_real::{Deed, Engine};
use tempfile::TempDir;

/// The profile with the shortest timings; those who are under test are in the process here.
const PROFILE: &str = include_str!("../../targets/capsize-controllers.yaml");

/// Why Docker cannot be used, if so.
pub(crate) fn away() -> Option<String> {
    live(Seed(0), 1.0, |_| Engine::find()).unwrap().err().map(|error| error.to_string())
}

pub(crate) fn build_image() {
    let built = Command::new(env!("CARGO_BIN_EXE_capsize")).args(["images", "build"]).output().unwrap();
    assert!(built.status.success(), "{built:?}");
}

/// A folder with a target and a case, whose runs keep their journals in it.
pub(crate) struct Stage(TempDir);

impl Stage {
    /// The reference on the case, in real time.
    pub(crate) fn new(case: &str) -> Self {
        Self::with("start: reference", case)
    }

    pub(crate) fn with(start: &str, case: &str) -> Self {
        let stage = Self(TempDir::new().unwrap());
        let (before, rest) = PROFILE.split_once("start:\n").unwrap();
        let (_, after) = rest.split_once("features:\n").unwrap();
        fs::write(stage.path("target.yaml"), format!("{before}{start}\nfeatures:\n{after}")).unwrap();
        fs::write(stage.path("case.yaml"), case).unwrap();
        stage
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// This program, or a copy of it, with its journals here.
    pub(crate) fn capsize(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env("CAPSIZE_STATE", self.path("state"));
        command
    }

    /// Its case on members in containers.
    pub(crate) fn run(&self, program: &Path) -> Command {
        let (case, target) = (self.path("case.yaml"), self.path("target.yaml"));
        let mut command = self.capsize(program, &["run", "--provider", "container"]);
        command.arg(case).arg("--target").arg(target);
        command
    }

    /// What Docker has of the runs of this stage.
    pub(crate) fn left(&self) -> Vec<Deed> {
        let state = self.path("state").canonicalize().unwrap();
        let ours = async { Engine::find().await.unwrap().ours(&state.display().to_string()).await.unwrap() };
        live(Seed(0), 1.0, |_| ours).unwrap().into_iter().map(|(_, deed)| deed).collect()
    }
}

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_capsize"))
}

/// What it says, in lines that are not broken.
pub(crate) fn said(output: &Output) -> String {
    let text = [&*output.stdout, &*output.stderr].concat();
    String::from_utf8(text).unwrap().replace("\n  │ ", " ")
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
