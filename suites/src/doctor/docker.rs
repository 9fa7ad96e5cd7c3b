//! Findings about Docker, and about containers of Capsize that are left there.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

use capsize_real::{Engine, Image, LabelledResource, runs, state_folder};

use super::finding::{DOCKER, Finding};
use crate::providers::ProviderName;

/// Limits that the documentation of kind asks for. Members in containers need less.
const INOTIFY: [(&str, u64); 2] = [("max_user_watches", 524_288), ("max_user_instances", 512)];

/// All of it.
pub(super) async fn look() -> Vec<Finding> {
    let address = Engine::address();
    let engine = match Engine::find().await {
        Ok(engine) => engine,
        Err(error) => return vec![unreachable(&address, &error.to_string())],
    };
    let mut findings = Vec::new();
    match engine.known().await {
        Ok(known) => {
            let (version, api) = (known.version, known.api);
            findings.push(Finding::good("Docker", format!("{version} at {address}, API {api}")));
            let storage = format!("images in {}, cgroup v{}", known.storage, known.cgroups);
            findings.push(Finding::good("cgroups", storage));
        }
        Err(error) => findings.push(missing("Docker", error.to_string(), "restart it, and look at its log")),
    }
    findings.push(image(&engine).await);
    findings.push(inotify(Path::new("/proc/sys/fs/inotify")));
    findings.push(left(&engine).await);
    findings
}

fn missing(of: &'static str, seen: impl Into<String>, todo: impl Into<String>) -> Finding {
    Finding::wrong(of, seen, DOCKER, todo)
}

/// Why Docker does not answer at `address`, and what to do in that case.
fn unreachable(address: &str, error: &str) -> Finding {
    let Some(socket) = address.strip_prefix("unix://") else {
        return missing("Docker", error, "see whether DOCKER_HOST is right, and whether it runs there");
    };
    let (seen, todo) = match UnixStream::connect(socket).map_err(|error| error.kind()) {
        Err(io::ErrorKind::NotFound) => (
            format!("there is no {socket}"),
            "install Docker Engine and start it, or say in DOCKER_HOST where it is",
        ),
        Err(io::ErrorKind::ConnectionRefused) => {
            (format!("nobody listens at {socket}"), "start Docker: `systemctl start docker`, or `dockerd`")
        }
        Err(io::ErrorKind::PermissionDenied) => (
            format!("{socket} is not for this user"),
            "join its group: `usermod -aG docker $USER`, and log in again",
        ),
        _ => (error.to_owned(), "restart Docker, and look at its log"),
    };
    missing("Docker", seen, todo)
}

async fn image(engine: &Engine) -> Finding {
    let missing = |of, seen: String, todo| Finding::wrong(of, seen, &[ProviderName::Container], todo);
    let image = match Image::of_this_program() {
        Ok(image) => image,
        Err(error) => return missing("image", error.to_string(), "make this program readable"),
    };
    match image.is_there(engine).await {
        Ok(true) => Finding::good("image", image.name()),
        Ok(false) => missing("image", format!("{} is not there", image.name()), "`capsize images build`"),
        Err(error) => missing("image", error.to_string(), "restart Docker, and look at its log"),
    }
}

fn inotify(folder: &Path) -> Finding {
    let limits = INOTIFY.map(|(name, wanted)| {
        let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
        (name, text.trim().parse::<u64>().ok(), wanted)
    });
    let seen = limits.map(|(name, limit, _)| match limit {
        Some(limit) => format!("{name} {limit}"),
        None => format!("{name} unknown"),
    });
    let short = limits.into_iter().filter(|(_, limit, wanted)| limit.is_some_and(|limit| limit < *wanted));
    let raise: Vec<String> = short.map(|(name, _, wanted)| format!("fs.inotify.{name}={wanted}")).collect();
    let advice = match raise.as_slice() {
        [] => String::new(),
        raise => format!("; little for clusters with kubelets: `sysctl {}`", raise.join(" ")),
    };
    Finding::good("inotify", seen.join(", ") + &advice)
}

/// A finding about resources that runs which are over have left.
async fn left(engine: &Engine) -> Finding {
    let folder = state_folder();
    let folder = folder.canonicalize().unwrap_or(folder);
    let ours = engine.ours(&folder.display().to_string()).await;
    match (ours, runs(&folder)) {
        (Ok(ours), Ok(runs)) => {
            let is_over = |one: &&LabelledResource| one.id.as_ref().is_some_and(|id| runs.over.contains(id));
            let over = ours.iter().filter(is_over).count();
            let known = |one: &&LabelledResource| is_over(one) || runs.at_work.contains(&one.run);
            let unknown = ours.iter().filter(|one| !known(one)).count();
            match (over, unknown) {
                (0, 0) => Finding::good("left over", "nothing"),
                (0, _) => Finding::good("left over", of_others(unknown)),
                _ => {
                    let seen = format!("{over} containers and networks of runs that were killed");
                    missing("left over", seen, "`capsize doctor --heal`; the next run does it, too")
                }
            }
        }
        (Err(error), _) => missing("left over", error.to_string(), "restart Docker, and look at its log"),
        (_, Err(error)) => missing("left over", error.to_string(), "name another folder in CAPSIZE_STATE"),
    }
}

/// Nobody here can know whether the runs are over that made these.
fn of_others(count: usize) -> String {
    format!(
        "nothing that is known to be left; {count} containers and networks are of runs of other machines, or of runs whose \
         journals are gone: `docker ps --all --filter label=capsize.run-id` lists the containers"
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn each_way_in_which_docker_is_away_has_its_own_advice() {
        let folder = TempDir::new().unwrap();
        let socket = folder.path().join("docker.sock");
        let address = format!("unix://{}", socket.display());
        let todo = |address: &str| unreachable(address, "?").wrong.unwrap().1;
        assert!(todo(&address).starts_with("install Docker Engine"));
        drop(UnixListener::bind(&socket).unwrap());
        assert!(todo(&address).starts_with("start Docker"));
        assert!(todo("tcp://127.0.0.1:1").starts_with("see whether DOCKER_HOST is right"));
    }

    #[test]
    fn low_limits_of_inotify_come_with_the_command_that_raises_them() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("max_user_watches"), "8192\n").unwrap();
        fs::write(folder.path().join("max_user_instances"), "512\n").unwrap();
        let seen = inotify(folder.path()).seen;
        assert!(seen.contains("max_user_watches 8192"), "{seen}");
        assert!(seen.ends_with("`sysctl fs.inotify.max_user_watches=524288`"), "{seen}");
    }
}
