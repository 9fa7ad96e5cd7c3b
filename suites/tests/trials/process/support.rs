//! Shared code of the tests: the programs, and the remains of runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use capsize_real::{Asset, Assets, NoAsset};

use crate::stage::kills::TEMPORARY;
use crate::stage::{Stage, program};

/// The path of etcd in Debian.
const ETCD_OF_DEBIAN: &str = "/usr/bin/etcd";

/// The programs that the environment names.
/// The defaults are Debian's etcd and the script that stands in for kube-apiserver.
pub(crate) fn assets() -> Result<Assets, NoAsset> {
    let debian = PathBuf::from(ETCD_OF_DEBIAN);
    let etcd = Asset::Etcd.find().or_else(|error| if debian.is_file() { Ok(debian) } else { Err(error) })?;
    Ok(Assets { etcd, kube_apiserver: Asset::KubeApiserver.find().unwrap_or_else(|_| stand_in()) })
}

fn stand_in() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/stand-in-kube-apiserver.sh")
}

/// The command that runs the case of `stage` with these programs.
pub(crate) fn run(stage: &Stage, assets: &Assets) -> Command {
    let mut command = stage.run_on(program(), &["--provider", "process"]);
    command.env("TEST_ASSET_ETCD", &assets.etcd).env("TEST_ASSET_KUBE_APISERVER", &assets.kube_apiserver);
    // The folders of members are separate from those of other tests.
    fs::create_dir_all(stage.path(TEMPORARY)).unwrap();
    command.env("CAPSIZE", program()).env("TMPDIR", stage.path(TEMPORARY));
    command
}

/// The folders that runs of this stage left behind.
pub(crate) fn folders(stage: &Stage) -> Vec<PathBuf> {
    let entries = fs::read_dir(stage.path(TEMPORARY)).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}
