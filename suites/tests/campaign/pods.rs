//! Runs the pods of a Job as processes, as the Job controller and a kubelet would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Container, EnvVar};
use kube::{Api, Client};

/// A Job whose pods are processes of this machine.
pub(crate) struct Pods {
    job: Job,
    /// The mounted paths in the pods, and the folders of this machine that are there.
    mounts: Vec<(String, PathBuf)>,
}

impl Pods {
    /// The Job with this name on the server of `client`. The store of its results is the folder `store`.
    pub(crate) async fn of(client: &Client, name: &str, folder: &Path, store: &Path) -> Self {
        let job = Api::<Job>::namespaced(client.clone(), "default").get(name).await.unwrap();
        let mut pods = Self { job, mounts: Vec::new() };
        let spec = pods.job.spec.as_ref().unwrap().template.spec.as_ref().unwrap();
        for volume in spec.volumes.iter().flatten() {
            let mounts = pods.container().volume_mounts.iter().flatten();
            let path = mounts.filter(|mount| mount.name == volume.name).map(|mount| mount.mount_path.clone());
            let place = match &volume.config_map {
                None => store.to_owned(),
                Some(source) => {
                    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
                    let place = folder.join(&volume.name);
                    fs::create_dir_all(&place).unwrap();
                    for (file, text) in maps.get(&source.name).await.unwrap().data.unwrap() {
                        fs::write(place.join(file), text).unwrap();
                    }
                    place
                }
            };
            pods.mounts.extend(path.map(|path| (path, place.clone())).collect::<Vec<_>>());
        }
        pods
    }

    pub(crate) fn completions(&self) -> i32 {
        self.job.spec.as_ref().unwrap().completions.unwrap()
    }

    /// Whether the Job controller gives an index up when its pod ends with this exit code.
    pub(crate) fn gives_up(&self, code: i32) -> bool {
        let policy = self.job.spec.as_ref().unwrap().pod_failure_policy.as_ref().unwrap();
        let codes = policy.rules.iter().filter(|rule| rule.action == "FailIndex");
        codes.filter_map(|rule| rule.on_exit_codes.as_ref()).any(|codes| codes.values.contains(&code))
    }

    fn container(&self) -> &Container {
        &self.job.spec.as_ref().unwrap().template.spec.as_ref().unwrap().containers[0]
    }

    /// Starts the pod of an index.
    pub(crate) fn start(&self, index: i32) -> Child {
        assert_eq!(self.job.spec.as_ref().unwrap().completion_mode.as_deref(), Some("Indexed"));
        let container = self.container();
        let mut command = Command::new(env!("CARGO_BIN_EXE_capsize"));
        for argument in container.args.iter().flatten() {
            let mounted = self.mounts.iter().find_map(|(path, place)| {
                Some(format!("{}{}", place.display(), argument.strip_prefix(path.as_str())?))
            });
            command.arg(mounted.unwrap_or_else(|| argument.clone()));
        }
        for EnvVar { name, value, .. } in container.env.iter().flatten() {
            command.env(name, value.as_deref().unwrap_or_default());
        }
        command.env("JOB_COMPLETION_INDEX", index.to_string());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}
