//! The folder of the journals: its path, and the proof that only its user can have written there.

use std::env;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// Only its user may read it or write there.
const MODE: u32 = 0o700;

/// All permission bits, and those that let other users write.
const ALL: u32 = 0o777;
const WRITTEN_BY_OTHERS: u32 = 0o022;

/// Returns the folder of this user's journals.
/// The folder is `CAPSIZE_STATE`, or `capsize` in the state folder of XDG. Otherwise the folder is among the temporary
/// files, and its name has the user's id. The owner of the folder is not checked yet.
#[must_use]
pub fn state_folder() -> PathBuf {
    let folder = |name: &str| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let xdg = || folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
    let state = folder("CAPSIZE_STATE").or_else(|| Some(xdg()?.join("capsize")));
    state.unwrap_or_else(|| env::temp_dir().join(format!("capsize-state-{}", geteuid().as_raw())))
}

/// Makes the folder if it is missing, and proves that it is this user's.
/// Returns its path without links.
///
/// # Errors
/// It cannot be made, belongs to another user, or is writable by others.
pub fn make(folder: &Path) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(MODE).create(folder)?;
    prove(folder)
}

/// Proves that the folder is this user's, and sets its mode to 0700. Returns its path without links.
///
/// # Errors
/// It does not exist, belongs to another user, or is writable by others.
pub(crate) fn prove(folder: &Path) -> io::Result<PathBuf> {
    // A link of another user could lead anywhere.
    is_own(folder, &fs::symlink_metadata(folder)?)?;
    let folder = folder.canonicalize()?;
    let metadata = fs::metadata(&folder)?;
    is_own(&folder, &metadata)?;
    let (shown, mode) = (folder.display(), metadata.mode() & ALL);
    if !metadata.is_dir() {
        return Err(io::Error::other(format!("{shown} is not a folder")));
    }
    if mode & WRITTEN_BY_OTHERS != 0 {
        return Err(io::Error::other(format!(
            "{shown} has mode {mode:o}, so others may have written there: look at what is in it, and `chmod 700 {shown}`"
        )));
    }
    if mode != MODE {
        fs::set_permissions(&folder, Permissions::from_mode(MODE))?;
    }
    Ok(folder)
}

fn is_own(folder: &Path, metadata: &Metadata) -> io::Result<()> {
    let (owner, user) = (metadata.uid(), geteuid().as_raw());
    match owner == user {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{} belongs to user {owner}, and not to user {user}, who runs this program",
            folder.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use tempfile::TempDir;

    use super::*;

    fn mode(folder: &Path) -> u32 {
        fs::metadata(folder).unwrap().mode() & ALL
    }

    #[test]
    fn a_new_folder_is_for_its_user_only() {
        let parent = TempDir::new().unwrap();
        let folder = parent.path().join("a/b");
        make(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
    }

    #[test]
    fn a_folder_that_others_read_is_closed_and_one_that_others_write_is_refused() {
        for (before, allowed) in
            [(0o755, true), (0o750, true), (0o770, false), (0o777, false), (0o702, false)]
        {
            let folder = TempDir::new().unwrap();
            fs::set_permissions(folder.path(), Permissions::from_mode(before)).unwrap();
            assert_eq!(make(folder.path()).is_ok(), allowed, "{before:o}");
            assert_eq!(mode(folder.path()), if allowed { 0o700 } else { before }, "{before:o}");
        }
    }

    #[test]
    fn a_folder_or_link_of_another_user_is_refused() {
        if !geteuid().is_root() {
            println!("SKIP: only root can give files away");
            return;
        }
        let parent = TempDir::new().unwrap();
        let (theirs, own, link) =
            (parent.path().join("theirs"), parent.path().join("own"), parent.path().join("link"));
        fs::create_dir(&theirs).unwrap();
        fs::create_dir(&own).unwrap();
        chown(&theirs, Some(4242), None).unwrap();
        let refused = make(&theirs).unwrap_err().to_string();
        assert!(refused.contains("belongs to user 4242"), "{refused}");
        symlink(&own, &link).unwrap();
        make(&link).unwrap();
        std::os::unix::fs::lchown(&link, Some(4242), None).unwrap();
        assert!(make(&link).is_err());
    }
}
