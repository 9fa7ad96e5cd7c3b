//! `capsize envtest`: makes a folder for `KUBEBUILDER_ASSETS`.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{self, Path, PathBuf};

use clap::Args;

use crate::exit::{CommandError, ExitStatus, environment_error, input_error};
use crate::output;

/// The names under which envtest starts this program. Each is also the name of a hidden command.
const PROGRAMS: [&str; 2] = ["kube-apiserver", "etcd"];

/// Make a folder with a kube-apiserver and an etcd for envtest
///
/// Tests in Go that use envtest start them if `KUBEBUILDER_ASSETS` names the folder. Both are this program: the first is the
/// embedded API server, and the second stores nothing. The printed line sets the variable in a shell.
#[derive(Args, Debug)]
pub struct Envtest {
    /// The folder; it is created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Envtest {
    /// Makes the folder, and prints the variable.
    ///
    /// # Errors
    /// A folder that cannot be written, or that has other programs with these names.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let wrong = |path: &Path, error: io::Error| input_error!("{}: {error}", path.display());
        let folder = path::absolute(&self.folder).map_err(|error| wrong(&self.folder, error))?;
        fs::create_dir_all(&folder).map_err(|error| wrong(&folder, error))?;
        let program =
            env::current_exe().map_err(|error| environment_error!("cannot find this program: {error}"))?;
        for name in PROGRAMS {
            let link = folder.join(name);
            if link.is_symlink() {
                fs::remove_file(&link).map_err(|error| wrong(&link, error))?;
            }
            symlink(&program, &link).map_err(|error| wrong(&link, error))?;
        }
        output::print(&format!("export KUBEBUILDER_ASSETS='{}'\n", folder.display()))?;
        Ok(ExitStatus::Conforms)
    }
}

/// The command that this program runs if it is started under the name `program`.
#[must_use]
pub fn command_of(program: &OsStr) -> Option<&'static str> {
    let name = Path::new(program).file_name()?;
    PROGRAMS.into_iter().find(|known| name == *known)
}
