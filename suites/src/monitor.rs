//! Implements `capsize monitor`.
//! The command prints the manifests of an account that may record a cluster, and of a Deployment that records it.

use capsize_history::dialect::DialectKind;
use capsize_runner::record::{self, Privileges};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::exit::{CommandError, ExitStatus, input_error};
use crate::pods::{Pods, Volume, labels, profile_file, yaml};
use crate::record::place;
use crate::{dialects, output, targets};

/// The port of the metrics in the pod.
const METRICS_PORT: u16 = 9090;

/// The folder of the histories in the pod.
const HISTORIES: &str = "/histories";

/// The folder of the kubeconfig in the pod.
const KUBECONFIG: &str = "/etc/capsize-kubeconfig";

/// Print the manifests of a monitor, which runs `record --follow` in a cluster
#[derive(Subcommand, Debug)]
pub enum MonitorCommand {
    /// Print an account
    Account(Account),
    /// Print a Deployment
    Deployment(Deployment),
}

/// Print an account that may list and watch what `record` needs in a cluster, and nothing else
#[derive(Args, Debug)]
pub struct Account {
    /// The clusters that the account is for
    #[arg(value_enum, value_name = "CLUSTER")]
    cluster: MonitoredCluster,
    #[command(flatten)]
    monitor: MonitorArgs,
}

/// Print a Deployment that records the clusters of a kubeconfig, judges, and serves metrics
#[derive(Args, Debug)]
pub struct Deployment {
    #[command(flatten)]
    monitor: MonitorArgs,
    /// The image of the pod, which has `capsize` as its entrypoint
    #[arg(long)]
    image: String,
    /// The Secret whose key `kubeconfig` has the contexts of the clusters.
    /// The current context is the control plane
    #[arg(long, value_name = "NAME")]
    kubeconfig: String,
    /// The claim of the volume (`PersistentVolumeClaim`) for the histories
    #[arg(long, value_name = "NAME")]
    claim: String,
}

#[derive(Args, Debug)]
struct MonitorArgs {
    /// The profile of the implementation that runs there.
    /// The value is the name of a profile that comes with Capsize, or a file
    #[arg(long)]
    target: String,
    /// The name of all objects
    #[arg(long, default_value = "capsize-monitor")]
    name: String,
    /// The namespace of the account and of the Deployment
    #[arg(long, default_value = "default")]
    namespace: String,
    /// The objects at this path are recorded, too
    #[arg(long, value_name = "PATH", value_parser = place)]
    also: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MonitoredCluster {
    /// The control plane
    ControlPlane,
    /// Each of the members
    Member,
}

impl MonitorCommand {
    /// Prints the manifests.
    ///
    /// # Errors
    /// The target is not known, or it cannot run in a pod.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let objects = match self {
            Self::Account(account) => account.objects()?,
            Self::Deployment(deployment) => deployment.objects()?,
        };
        output::print_raw(yaml(&objects)?.as_bytes())?;
        Ok(ExitStatus::Conforms)
    }
}

impl MonitorArgs {
    fn dialect(&self) -> Result<DialectKind, CommandError> {
        Ok(targets::find(&self.target).map_err(CommandError::input)?.dialect)
    }

    /// The metadata of an object in `namespace`, or of one for the whole cluster.
    fn metadata(&self, namespace: Option<&str>) -> Value {
        let mut metadata = json!({"name": self.name, "labels": labels(&self.name)});
        if let Some(namespace) = namespace {
            metadata["namespace"] = namespace.into();
        }
        metadata
    }
}

impl Account {
    fn objects(&self) -> Result<Vec<Value>, CommandError> {
        let dialect = self.monitor.dialect()?;
        let paths = match self.cluster {
            MonitoredCluster::ControlPlane => record::of_control_plane(&dialect),
            MonitoredCluster::Member => record::of_members(&dialect),
        };
        let privileges = record::privileges(paths.iter().chain(&self.monitor.also).map(String::as_str));
        if privileges.is_empty() {
            return Err(input_error!(
                help = "`capsize monitor account control-plane` prints the account of the only cluster",
                "--target {}: members are not recorded, because they are no clusters of their own",
                self.monitor.target
            ));
        }
        Ok(self.with_roles(&privileges))
    }

    fn with_roles(&self, privileges: &Privileges) -> Vec<Value> {
        let monitor = &self.monitor;
        let account = monitor.metadata(Some(&monitor.namespace));
        let mut objects = vec![json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})];
        for (namespace, groups) in privileges {
            let role = if namespace.is_some() { "Role" } else { "ClusterRole" };
            let rules: Vec<Value> = groups
                .iter()
                .map(|(group, plurals)| {
                    json!({"apiGroups": [group], "resources": plurals, "verbs": ["list", "watch"]})
                })
                .collect();
            let metadata = monitor.metadata(namespace.as_deref());
            objects.push(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": role,
                "metadata": metadata,
                "rules": rules,
            }));
            objects.push(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": format!("{role}Binding"),
                "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": monitor.name},
                "subjects": [
                    {"kind": "ServiceAccount", "name": monitor.name, "namespace": monitor.namespace},
                ],
            }));
        }
        objects
    }
}

impl Deployment {
    fn objects(&self) -> Result<Vec<Value>, CommandError> {
        let profile = profile_file(&self.monitor.target)?;
        let dialect = self.monitor.dialect()?;
        if dialects::text_of_own(&dialect).is_some() {
            return Err(input_error!(
                help = "build an image that has both files, and run `capsize record` in it",
                "--target {}: its dialect {} is a file, which the pod would not have",
                self.monitor.target,
                String::from(dialect)
            ));
        }
        let name = &self.monitor.name;
        let pods = Pods { name, image: &self.image, target: &self.monitor.target, profile };
        let volumes = vec![
            Volume {
                source: json!({"secret": {"secretName": self.kubeconfig}}),
                name: "kubeconfig",
                path: KUBECONFIG.to_owned(),
                is_read_only: true,
            },
            Volume {
                source: json!({"persistentVolumeClaim": {"claimName": self.claim}}),
                name: "histories",
                path: HISTORIES.to_owned(),
                is_read_only: false,
            },
        ];
        let mut pod = pods.spec(&self.arguments(&pods.target_argument()), volumes);
        pod["containers"][0]["ports"] = json!([{"name": "metrics", "containerPort": METRICS_PORT}]);
        let deployment = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": pods.metadata(name),
            // Two monitors would write into one file.
            "spec": {
                "replicas": 1,
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": pods.labels()},
                "template": {"metadata": {"labels": pods.labels()}, "spec": pod},
            },
        });
        let mut objects: Vec<Value> = pods.profile_object().into_iter().chain([deployment]).collect();
        for object in &mut objects {
            object["metadata"]["namespace"] = self.monitor.namespace.as_str().into();
        }
        Ok(objects)
    }

    /// The arguments of `capsize` in the pod.
    fn arguments(&self, target: &str) -> Vec<String> {
        let kubeconfig = format!("{KUBECONFIG}/kubeconfig");
        let (out, metrics) = (format!("{HISTORIES}/fleet.jsonl"), format!("0.0.0.0:{METRICS_PORT}"));
        let options = [
            ("--kubeconfig", kubeconfig.as_str()),
            ("--out", &out),
            ("--target", target),
            ("--metrics", &metrics),
            ("--rotate", "100MB"),
        ];
        let also = self.monitor.also.iter().map(|path| ("--also", path.as_str()));
        let options = options.into_iter().chain(also);
        let options = options.flat_map(|(flag, value)| [flag.to_owned(), value.to_owned()]);
        ["record".to_owned(), "--follow".to_owned()].into_iter().chain(options).collect()
    }
}
