//! Messages about programs that are missing, do not start, or fail.

use std::fs;
use std::path::Path;

use capsize_real::Assets;

use super::support::{assets, folders, run};
use crate::command::{printed, write_script};
use crate::stage::{Stage, moves, program};

pub(crate) fn does_not_start() {
    let stage = Stage::new(&moves("first", "pause"));
    let broken = stage.path("kube-apiserver");
    write_script(&broken, "echo no room on this boat\nexit 7\n");
    let ran = run(&stage, &Assets { kube_apiserver: broken, ..assets().unwrap() }).output().unwrap();
    assert_eq!(ran.status.code(), Some(3), "{}", printed(&ran));
    let [logs] = &folders(&stage)[..] else { panic!("{:?}: {}", folders(&stage), printed(&ran)) };
    for part in ["kube-apiserver has ended", "no room on this boat", &logs.display().to_string()] {
        assert!(printed(&ran).contains(part), "{part}: {}", printed(&ran));
    }
    assert!(!logs_with(logs, "no room on this boat").is_empty(), "{:?}", fs::read_dir(logs));
}

pub(crate) fn fails() {
    let case = "
scenario: fails
about: A step expects a taint on a healthy member, and fails.
fleet: {members: 1}
then:
  - tainted: {cluster: m1, key: not-ready, effect: NoSchedule, within: 1s}
";
    let stage = Stage::new(case);
    let ran = run(&stage, &assets().unwrap()).output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{}", printed(&ran));
    let [logs] = &folders(&stage)[..] else { panic!("{:?}: {}", folders(&stage), printed(&ran)) };
    for part in [&logs.display().to_string(), "m1-etcd.log", "m1-kube-apiserver.log"] {
        assert!(printed(&ran).contains(part), "{part}: {}", printed(&ran));
    }
    assert_eq!(fs::read_dir(stage.path("state")).unwrap().count(), 0, "nobody removes what is kept");
}

fn logs_with(folder: &Path, text: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let with = entries.filter(|entry| fs::read_to_string(entry.path()).unwrap().contains(text));
    with.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

pub(crate) fn no_programs() {
    let stage = Stage::new(&moves("first", "pause"));
    let nowhere = stage.path("nowhere");
    let mut run = stage.run_on(program(), &["--provider", "process"]);
    let mut doctor = stage.capsize(program(), &["doctor", "--provider", "process"]);
    for command in [&mut run, &mut doctor] {
        command.env_remove("TEST_ASSET_ETCD").env("TEST_ASSET_KUBE_APISERVER", &nowhere);
        command.env("KUBEBUILDER_ASSETS", &nowhere);
        let ran = command.output().unwrap();
        assert_eq!(ran.status.code(), Some(3), "{}", printed(&ran));
        let places = ["TEST_ASSET_ETCD is not set", "KUBEBUILDER_ASSETS leads to", "setup-envtest"];
        for part in places {
            assert!(printed(&ran).contains(part), "{part}: {}", printed(&ran));
        }
    }
}
