//! A campaign from its manifests to the joined results, with a pod that is killed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;

use capsize_apiserver::Server;
use serde_json::Value;
use tempfile::TempDir;

use crate::manifests::{apply, documents};
use crate::pods::Pods;
use crate::{FAILS, TOO_STRICT, capsize, printed, profile};

/// The results of seeds in a text of lines, by seed. A seed that is there twice is an error.
fn results<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeMap<u64, Value> {
    let mut found = BTreeMap::new();
    for line in lines {
        let line: Value = serde_json::from_str(line).unwrap();
        let Some(seed) = line["seed"].as_u64() else { continue };
        assert!(found.insert(seed, line).is_none(), "seed {seed} is there twice");
    }
    found
}

/// The results in a store.
fn stored(store: &Path) -> BTreeMap<u64, Value> {
    let Ok(files) = fs::read_dir(store.join("results")) else { return BTreeMap::new() };
    let files = files.map(|file| file.unwrap().path());
    let whole = files.filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'));
    let text: String = whole.map(|path| fs::read_to_string(path).unwrap()).collect();
    results(text.lines())
}

/// The options of a campaign with its results in `/results`.
fn manifests(more: &[&str]) -> String {
    let options = [
        "campaign",
        "--style",
        "lite",
        "--image",
        "capsize:test",
        "--store",
        "/results",
        "--claim",
        "results",
    ];
    let output = capsize(&[&options[..], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn each_seed_counts_once_although_a_pod_is_killed_and_its_index_runs_again() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("store");
    let target = profile(folder.path(), &[]);
    let manifests = manifests(&["--seeds", "0..12", "--completions", "3", "--target", &target]);
    let server = Server::builder().build();
    let applied = apply(&server.client(), &documents(&manifests)).await;
    assert_eq!(applied, ["ConfigMap capsize-campaign-target", "Job capsize-campaign"]);
    let pods = Pods::of(&server.client(), "capsize-campaign", folder.path(), &store).await;
    assert_eq!(pods.completions(), 3);

    let mut killed = pods.start(0);
    while stored(&store).is_empty() {
        assert!(
            killed.try_wait().unwrap().is_none(),
            "it ended: {}",
            printed(&killed.wait_with_output().unwrap())
        );
        thread::yield_now();
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let before = stored(&store);
    assert!((1..4).contains(&before.len()), "{before:?}");
    let collect = ["campaign", "--collect", store.to_str().unwrap()];
    let early = capsize(&collect);
    assert_eq!(early.status.code(), Some(3), "{}", printed(&early));
    let expected = format!("slice 0 has {} of 4 seeds, slice 1 has 0 of 4 seeds", before.len());
    assert!(printed(&early).contains(&expected), "{}", printed(&early));

    let running: Vec<_> = (0..3).map(|index| pods.start(index)).collect();
    for pod in running {
        let output = pod.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    }
    let written = |store: &Path| {
        let files = fs::read_dir(store.join("results")).unwrap().map(|file| file.unwrap());
        files
            .map(|file| (file.path(), file.metadata().unwrap().modified().unwrap()))
            .collect::<BTreeMap<_, _>>()
    };
    let complete = written(&store);
    let again = pods.start(1).wait_with_output().unwrap();
    assert!(printed(&again).contains("4 seeds: 4 held, 0 failed"), "{}", printed(&again));
    assert_eq!(written(&store), complete, "a complete slice is not run again");

    let whole = folder.path().join("whole");
    let one = [
        "chaos",
        "--style",
        "lite",
        "--seeds",
        "0..12",
        "--target",
        &target,
        "--save",
        whole.to_str().unwrap(),
    ];
    assert_eq!(capsize(&one).status.code(), Some(0));
    let journal = fs::read_to_string(whole.join("journal.jsonl")).unwrap();
    assert_eq!(stored(&store), results(journal.lines()), "the results are those of one run of all seeds");
    let collected = capsize(&collect);
    assert_eq!(collected.status.code(), Some(0), "{}", printed(&collected));
    assert!(printed(&collected).contains("12 seeds: 12 held, 0 failed"), "{}", printed(&collected));
}

#[tokio::test]
async fn a_seed_that_fails_ends_its_index_and_the_campaign_with_exit_code_one() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("store");
    let target = profile(folder.path(), &TOO_STRICT);
    let seeds = format!("{FAILS}..{}", FAILS + 2);
    let options = ["--seeds", &seeds, "--completions", "2", "--target", &target, "--name", "strict"];
    let server = Server::builder().build();
    apply(&server.client(), &documents(&manifests(&options))).await;
    let pods = Pods::of(&server.client(), "strict", folder.path(), &store).await;
    let failed = pods.start(0).wait_with_output().unwrap();
    assert_eq!(failed.status.code(), Some(1), "{}", printed(&failed));
    assert!(pods.gives_up(1) && pods.gives_up(2) && !pods.gives_up(3) && !pods.gives_up(137));

    let save = folder.path().join("found");
    let collected =
        capsize(&["campaign", "--collect", store.to_str().unwrap(), "--save", save.to_str().unwrap()]);
    assert_eq!(collected.status.code(), Some(1), "{}", printed(&collected));
    let text = printed(&collected);
    assert!(text.contains("1 seeds: 0 held, 1 failed"), "{text}");
    assert!(text.contains("slice 1 has 0 of 1 seeds"), "{text}");
    assert!(
        text.contains(&format!("failure: {}", save.join(format!("lite-{FAILS}.yaml")).display())),
        "{text}"
    );
    for (below, ending) in [("", "yaml"), ("drawn", "yaml"), ("histories", "jsonl")] {
        assert!(save.join(below).join(format!("lite-{FAILS}.{ending}")).is_file(), "{below}");
    }
}

#[tokio::test]
async fn a_bucket_needs_an_account_and_no_volume() {
    let options = ["campaign", "--completions", "2", "--image", "capsize:test", "--secret", "keys"];
    let output = capsize(&[&options[..], &["--store", "s3://bucket/runs"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let server = Server::builder().build();
    let applied = apply(&server.client(), &documents(&printed(&output))).await;
    assert_eq!(applied, ["ServiceAccount capsize-campaign", "Job capsize-campaign"]);
}

#[test]
fn options_that_do_nothing_or_do_not_fit_are_refused() {
    let folder = TempDir::new().unwrap();
    let place = folder.path().to_str().unwrap();
    let job = ["campaign", "--completions", "3", "--image", "i"];
    let slice = ["chaos", "--seeds", "0..2", "--store"];
    let bucket = "s3://bucket";
    let cases: [(&[&str], &[&str], &str); 9] = [
        (&job, &["--store", place], "a directory needs --claim"),
        (&job, &["--store", "results", "--claim", "c"], "begins with /"),
        (&job, &["--store", bucket, "--claim", "c"], "--claim does nothing for a bucket"),
        (&job, &["--store", bucket, "--seeds", "0..2"], "each slice needs one"),
        (&job, &["--store", bucket, "--target", "karmada-1.18"], "cannot start the target karmada-1.18"),
        (&["campaign", "--collect", place], &["--image", "i"], "cannot be used with"),
        (&slice, &[place, "--completions", "2"], "JOB_COMPLETION_INDEX is not set"),
        (&slice, &[place, "--completions", "2", "--index", "2"], "the slices are 0 to 1"),
        (&slice, &["ftp://host", "--completions", "2", "--index", "0"], "begins with s3:// or gs://"),
    ];
    for (arguments, more, expected) in cases {
        let output = capsize(&[arguments, more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", printed(&output));
        assert!(printed(&output).contains(expected), "{more:?} should say {expected}: {}", printed(&output));
        assert!(output.stdout.is_empty(), "{more:?} must not print results");
    }
}

/// Writes a result into a store.
fn with_result(folder: &Path, name: &str, text: &str) {
    let results = folder.join("results");
    fs::create_dir_all(&results).unwrap();
    fs::write(results.join(name), text).unwrap();
}

#[test]
fn results_that_do_not_belong_together_are_refused() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("store");
    let place = store.to_str().unwrap();
    let slice = |style: &str, index: &str| {
        let options = ["chaos", "--seeds", "0..2", "--completions", "2", "--store", place];
        capsize(&[&options[..], &["--style", style, "--index", index]].concat())
    };
    let collect = || {
        let output = capsize(&["campaign", "--collect", place]);
        (output.status.code(), printed(&output))
    };
    let (code, text) = collect();
    assert!(code == Some(2) && text.contains("has no campaign"), "{code:?} {text}");
    assert_eq!(slice("lite", "0").status.code(), Some(0));
    for index in ["0", "1"] {
        let other = slice("swarm", index);
        assert_eq!(other.status.code(), Some(2), "{}", printed(&other));
        assert!(printed(&other).contains("is that of another campaign"), "{}", printed(&other));
    }
    let whole = fs::read_to_string(store.join("results/0..1.jsonl")).unwrap();
    with_result(&store, "1..2.jsonl", &whole.replace("\"lite\"", "\"swarm\""));
    let (code, text) = collect();
    assert!(code == Some(2) && text.contains("journal of another run"), "{code:?} {text}");
    with_result(&store, "1..2.jsonl", &whole);
    let (code, text) = collect();
    assert!(code == Some(2) && text.contains("does not have its seeds once each"), "{code:?} {text}");
    fs::remove_file(store.join("results/1..2.jsonl")).unwrap();
    with_result(&store, "5..9.jsonl", &whole);
    let (code, text) = collect();
    assert!(code == Some(2) && text.contains("is not a result of the campaign"), "{code:?} {text}");
}
