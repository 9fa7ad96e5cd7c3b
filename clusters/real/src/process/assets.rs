//! Finds etcd and kube-apiserver by the conventions of controller-runtime's envtest.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The default folder of the programs.
const FOLDER: &str = "/usr/local/kubebuilder/bin";

/// The variable that names the folder of both programs.
const FOLDER_OF_BOTH: &str = "KUBEBUILDER_ASSETS";

/// A program that members consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asset {
    /// The store of the objects.
    Etcd,
    /// The API server.
    KubeApiserver,
}

/// A program that is in none of the places where it is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no {name}: {}. `setup-envtest use` fetches etcd and kube-apiserver, and prints the folder for {FOLDER_OF_BOTH}",
    looked.join(", ")
)]
pub struct NoAsset {
    /// The name of the program.
    pub name: &'static str,
    /// The places, each with what was found there.
    pub looked: Vec<String>,
}

impl Asset {
    /// The name of the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
        }
    }

    /// The variable with its path.
    fn variable(self) -> &'static str {
        match self {
            Self::Etcd => "TEST_ASSET_ETCD",
            Self::KubeApiserver => "TEST_ASSET_KUBE_APISERVER",
        }
    }

    /// Finds its path.
    ///
    /// # Errors
    /// It is in none of the places; the error names all of them.
    pub fn find(self) -> Result<PathBuf, NoAsset> {
        self.find_by(|name| env::var_os(name).filter(|path| !path.is_empty()), Path::new(FOLDER))
    }

    /// The first of: the path in its own variable, the folder in the variable of both programs, `folder`.
    fn find_by(self, variable: impl Fn(&str) -> Option<OsString>, folder: &Path) -> Result<PathBuf, NoAsset> {
        let name = self.name();
        let mut looked = Vec::new();
        let own = (self.variable(), variable(self.variable()).map(PathBuf::from));
        let of_both = (FOLDER_OF_BOTH, variable(FOLDER_OF_BOTH).map(|path| Path::new(&path).join(name)));
        for (variable, path) in [own, of_both] {
            looked.push(match path {
                Some(path) if path.is_file() => return Ok(path),
                Some(path) => format!("{variable} leads to {}, which is no file", path.display()),
                None => format!("{variable} is not set"),
            });
        }
        let path = folder.join(name);
        if path.is_file() {
            return Ok(path);
        }
        looked.push(format!("{} is not there", path.display()));
        Err(NoAsset { name, looked })
    }
}

/// Both programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assets {
    /// The path of etcd.
    pub etcd: PathBuf,
    /// The path of kube-apiserver.
    pub kube_apiserver: PathBuf,
}

impl Assets {
    /// Finds both programs.
    ///
    /// # Errors
    /// One of them is in none of the places.
    pub fn find() -> Result<Self, NoAsset> {
        Ok(Self { etcd: Asset::Etcd.find()?, kube_apiserver: Asset::KubeApiserver.find()? })
    }

    /// The version that the program at `path` prints.
    ///
    /// # Errors
    /// It cannot be run, or prints nothing.
    pub fn version(path: &Path) -> io::Result<String> {
        let version = Command::new(path).arg("--version").output()?.stdout;
        let version = String::from_utf8_lossy(&version).lines().next().unwrap_or_default().trim().to_owned();
        if version.is_empty() {
            return Err(io::Error::other("it prints nothing when it is started with --version"));
        }
        Ok(version)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn its_own_variable_comes_before_the_folder_of_both_and_that_before_the_usual_one() {
        let [own, both, usual] = [(); 3].map(|()| TempDir::new().unwrap());
        let etcd = |folder: &TempDir| folder.path().join("etcd");
        for folder in [&own, &both, &usual] {
            fs::write(etcd(folder), "").unwrap();
        }
        let find = |set: &[(&str, PathBuf)]| {
            let get = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, path)| path.as_os_str().to_owned())
            };
            Asset::Etcd.find_by(get, usual.path()).unwrap()
        };
        let (named, folder) = (("TEST_ASSET_ETCD", etcd(&own)), (FOLDER_OF_BOTH, both.path().to_owned()));
        assert_eq!(find(&[named, folder.clone()]), etcd(&own));
        assert_eq!(find(&[folder]), etcd(&both));
        assert_eq!(find(&[]), etcd(&usual));
    }

    #[test]
    fn an_error_names_all_that_was_looked_for() {
        let folder = TempDir::new().unwrap();
        let get = |name: &str| (name == FOLDER_OF_BOTH).then(|| folder.path().join("none").into_os_string());
        let error = Asset::KubeApiserver.find_by(get, folder.path()).unwrap_err().to_string();
        let folder = folder.path().display();
        for place in [
            "TEST_ASSET_KUBE_APISERVER is not set".to_owned(),
            format!("KUBEBUILDER_ASSETS leads to {folder}/none/kube-apiserver, which is no file"),
            format!("{folder}/kube-apiserver is not there"),
        ] {
            assert!(error.contains(&place), "{error}");
        }
    }
}
