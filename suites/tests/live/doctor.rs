//! `capsize doctor` on machines without required programs, and its cleanup without Docker.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Output;

use capsize_real::{Journal, Resource};
use tempfile::TempDir;

use crate::command::printed;

fn doctor(folder: &Path, docker: &str, arguments: &[&str]) -> Output {
    capsize(folder, docker, &[&["doctor"], arguments].concat())
}

fn capsize(folder: &Path, docker: &str, arguments: &[&str]) -> Output {
    let mut command = crate::command::capsize();
    command.env("CAPSIZE_STATE", folder.join("state")).env("DOCKER_HOST", docker);
    command.args(arguments).output().unwrap()
}

#[test]
fn without_docker_embedded_runs_work_and_other_providers_give_advice() {
    let folder = TempDir::new().unwrap();
    let stopped = folder.path().join("stopped.sock");
    drop(UnixListener::bind(&stopped).unwrap());
    let cases = [
        (format!("unix://{}/none.sock", folder.path().display()), "install Docker Engine"),
        (format!("unix://{}", stopped.display()), "start Docker"),
        ("tcp://127.0.0.1:1".to_owned(), "see whether DOCKER_HOST is right"),
    ];
    for (docker, advice) in cases {
        let looked = doctor(folder.path(), &docker, &[]);
        assert_eq!(looked.status.code(), Some(0), "{docker}: {}", printed(&looked));
        assert!(printed(&looked).contains("missing  Docker"), "{docker}: {}", printed(&looked));
        assert!(printed(&looked).contains(advice), "{docker}: {}", printed(&looked));
        for provider in ["container", "kind"] {
            let looked = doctor(folder.path(), &docker, &["--provider", provider]);
            assert_eq!(looked.status.code(), Some(3), "{docker}: {}", printed(&looked));
            assert!(
                printed(&looked).contains("are not possible here: Docker"),
                "{docker}: {}",
                printed(&looked)
            );
            assert!(printed(&looked).contains(advice), "{docker}: {}", printed(&looked));
            let case = ["--provider", provider, "--target", "capsize-controllers", "--filter", "run-out"];
            let ran = capsize(folder.path(), &docker, &[&["run"], &case[..]].concat());
            assert_eq!(ran.status.code(), Some(3), "{docker}: {}", printed(&ran));
            for part in ["Docker does not answer at", "`capsize doctor` looks closer"] {
                assert!(printed(&ran).contains(part), "{part}: {}", printed(&ran));
            }
        }
    }
}

#[test]
fn what_a_killed_run_left_is_removed_once_and_what_cannot_be_stays_written_down() {
    let folder = TempDir::new().unwrap();
    let state = folder.path().join("state");
    let nowhere = format!("unix://{}/none.sock", folder.path().display());
    let journals = || fs::read_dir(&state).unwrap().count();
    // This run ends without undoing anything.
    let journal = Journal::begin(&state).unwrap();
    let keys = journal.folder(folder.path(), "keys-").unwrap();
    journal.will(Resource::Container("c".into())).unwrap();
    drop(journal);
    let healed = doctor(folder.path(), &nowhere, &["--heal"]);
    assert!(
        printed(&healed).contains("removed what an earlier run left: the folder"),
        "{}",
        printed(&healed)
    );
    assert!(
        printed(&healed).contains("cannot remove what an earlier run left: the container c"),
        "{}",
        printed(&healed)
    );
    assert!(!keys.exists());
    assert_eq!(journals(), 1);
    fs::remove_dir_all(&state).unwrap();
    let journal = Journal::begin(&state).unwrap();
    journal.folder(folder.path(), "keys-").unwrap();
    drop(journal);
    doctor(folder.path(), &nowhere, &["--heal"]);
    assert_eq!(journals(), 0);
    let nothing = doctor(folder.path(), &nowhere, &["--heal"]);
    assert!(printed(&nothing).contains("nothing was left to remove"), "{}", printed(&nothing));
}

#[test]
fn a_journal_that_no_run_has_written_is_not_obeyed() {
    let folder = TempDir::new().unwrap();
    let (state, keys) = (folder.path().join("state"), folder.path().join("keys"));
    fs::create_dir_all(&state).unwrap();
    fs::create_dir_all(&keys).unwrap();
    let journal = state.join("left.jsonl");
    let text = serde_json::json!({"will": {"folder": keys}}).to_string() + "\n";
    fs::write(&journal, &text).unwrap();
    let nowhere = format!("unix://{}/none.sock", folder.path().display());
    let healed = doctor(folder.path(), &nowhere, &["--heal"]);
    assert!(printed(&healed).contains("left.jsonl is kept"), "{}", printed(&healed));
    assert!(printed(&healed).contains("from line 1 on"), "{}", printed(&healed));
    assert!(keys.exists());
    assert_eq!(fs::read_to_string(&journal).unwrap(), text);
}

#[test]
fn a_state_folder_that_others_may_write_is_refused() {
    let folder = TempDir::new().unwrap();
    let state = folder.path().join("state");
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    let nowhere = format!("unix://{}/none.sock", folder.path().display());
    let refused = doctor(folder.path(), &nowhere, &["--heal"]);
    assert_eq!(refused.status.code(), Some(3), "{}", printed(&refused));
    assert!(printed(&refused).contains("has mode 777"), "{}", printed(&refused));
    assert!(printed(&refused).contains("chmod 700"), "{}", printed(&refused));
}
