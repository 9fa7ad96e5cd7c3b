//! What the tests share: the programs, and which of them are at work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use capsize_real::{Asset, Assets, NoAsset};

use crate::stage::{Stage, program};

/// Where Debian has etcd.
const ETCD_OF_DEBIAN: &str = "/usr/bin/etcd";

/// The programs that the environment names; Debian's etcd and the script that stands in for kube-apiserver where it names none.
pub(crate) fn assets() -> Result<Assets, NoAsset> {
    let debian = PathBuf::from(ETCD_OF_DEBIAN);
    let etcd = Asset::Etcd.find().or_else(|error| if debian.is_file() { Ok(debian) } else { Err(error) })?;
    Ok(Assets { etcd, kube_apiserver: Asset::KubeApiserver.find().unwrap_or_else(|_| stand_in()) })
}

fn stand_in() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/stand-in-kube-apiserver.sh")
}

/// The case of `stage` on these programs.
pub(crate) fn run(stage: &Stage, assets: &Assets) -> Command {
    let mut command = stage.run_on(program(), &["--provider", "process"]);
    command.env("TEST_ASSET_ETCD", &assets.etcd).env("TEST_ASSET_KUBE_APISERVER", &assets.kube_apiserver);
    // Folders of members are where nobody else has any.
    fs::create_dir_all(stage.path("temporary")).unwrap();
    command.env("CAPSIZE", program()).env("TMPDIR", stage.path("temporary"));
    command
}

/// What runs of this stage left in their folder.
pub(crate) fn folders(stage: &Stage) -> Vec<PathBuf> {
    let entries = fs::read_dir(stage.path("temporary")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The commands of the processes that say `mark` there, be it in their arguments.
pub(crate) fn at_work(mark: &str) -> Vec<Vec<String>> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let commands = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let commands = commands.map(|line| {
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        words.collect::<Vec<_>>()
    });
    commands.filter(|words| words.iter().any(|word| word.contains(mark))).collect()
}
