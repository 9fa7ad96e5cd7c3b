//! The image of members in containers: this program and the libraries that it has loaded.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use bollard::body_full;
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{
    CreateContainerOptions, CreateImageOptions, LogsOptions, StartContainerOptions, WaitContainerOptions,
};
use bytes::Bytes;
use capsize_sorted::CollectSorted;
use futures::future::ready;
use futures::{StreamExt, TryStreamExt};
use sha2::{Digest, Sha256};

use super::engine::{Engine, EngineError, is_missing, refused};
use super::network::unwritten;
use crate::journal::{Journal, Resource};

const REPOSITORY: &str = "capsize-member";

/// The number of digits of the program's digest in the tag, which differs between builds.
const DIGITS: usize = 12;

/// The image of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image(String);

/// The files in the image.
struct Content {
    program: PathBuf,
    libraries: BTreeSet<PathBuf>,
}

impl Image {
    /// The image of this program.
    ///
    /// # Errors
    /// The program cannot be read.
    pub fn of_this_program() -> io::Result<Self> {
        Self::of(&std::env::current_exe()?)
    }

    /// The image of `program`. Its tag contains a digest of the program.
    ///
    /// # Errors
    /// The program cannot be read.
    pub fn of(program: &Path) -> io::Result<Self> {
        let mut digest = Sha256::new();
        io::copy(&mut File::open(program)?, &mut digest)?;
        let digits: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(format!("{REPOSITORY}:{}-{}", env!("CARGO_PKG_VERSION"), &digits[..DIGITS])))
    }

    /// Its name and tag.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether Docker has it.
    ///
    /// # Errors
    /// Docker does not answer that.
    pub async fn is_there(&self, engine: &Engine) -> Result<bool, EngineError> {
        match engine.0.inspect_image(&self.0).await {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(refused(format!("look for the image {}", self.0))(error)),
        }
    }

    /// Builds the image and starts the program in it once, in a container that is written into `journal`.
    /// Returns the size in bytes.
    ///
    /// # Errors
    /// Docker refuses the image, or the program does not start in it.
    pub async fn build(&self, engine: &Engine, journal: &Journal) -> Result<usize, EngineError> {
        let unreadable = |error: io::Error| EngineError::Refused {
            what: "be given the image".into(),
            why: format!("this program cannot be read: {error}"),
        };
        let content = Content::of_this_program().map_err(unreadable)?;
        let tree = content.tree().map_err(unreadable)?;
        let size = tree.len();
        let (repository, tag) = self.0.split_once(':').unwrap_or((&self.0, "latest"));
        let options = CreateImageOptions {
            from_src: Some("-".into()),
            repo: Some(repository.into()),
            tag: Some(tag.into()),
            changes: vec![format!("ENTRYPOINT {}", content.entry_point())],
            ..Default::default()
        };
        let body = body_full(Bytes::from(tree));
        let created = engine.0.create_image(Some(options), Some(body), None);
        created.try_collect::<Vec<_>>().await.map_err(refused("import the image"))?;
        self.attempt(engine, journal).await?;
        Ok(size)
    }

    /// Runs the program in the image once, to print its version.
    async fn attempt(&self, engine: &Engine, journal: &Journal) -> Result<(), EngineError> {
        let docker = &engine.0;
        let name = format!("capsize-{}-image", journal.run()).to_lowercase();
        let resource = Resource::Container(name.clone());
        journal.will(resource.clone()).map_err(unwritten)?;
        let body = ContainerCreateBody {
            image: Some(self.0.clone()),
            labels: Some(journal.labels().into_iter().collect()),
            cmd: Some(vec!["--version".into()]),
            network_disabled: Some(true),
            ..Default::default()
        };
        let options = CreateContainerOptions { name: Some(name.clone()), ..Default::default() };
        let run = async {
            let made = docker.create_container(Some(options), body).await;
            made.map_err(refused("make a container of the image"))?;
            let started = docker.start_container(&name, None::<StartContainerOptions>).await;
            started.map_err(refused("start the image"))?;
            let ended = docker.wait_container(&name, None::<WaitContainerOptions>).next().await;
            match ended {
                Some(Ok(_)) => Ok(()),
                _ => Err(EngineError::Refused {
                    what: format!("run the image {}", self.0),
                    why: log_end(engine, &name).await,
                }),
            }
        };
        let ran = run.await;
        engine.remove(journal.id(), &resource).await?;
        journal.undone(&resource);
        ran
    }
}

/// The last lines of a container's log.
pub(crate) async fn log_end(engine: &Engine, name: &str) -> String {
    let options = LogsOptions { stdout: true, stderr: true, tail: "10".into(), ..Default::default() };
    let lines = engine.0.logs(name, Some(options)).filter_map(|line| ready(line.ok()));
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect().await;
    let text = lines.concat().trim_end().to_owned();
    if text.is_empty() { "its log is empty".into() } else { text }
}

impl Content {
    /// This program, and the files that the kernel has mapped for it.
    fn of_this_program() -> io::Result<Self> {
        let maps = fs::read_to_string("/proc/self/maps")?;
        Ok(Self { program: std::env::current_exe()?, libraries: libraries(&maps) })
    }

    /// The dynamic loader; a statically linked program has none.
    fn loader(&self) -> Option<String> {
        let mut names = self.libraries.iter().map(|path| file_name(path));
        names.find(|name| name.starts_with("ld-"))
    }

    /// Returns the command that starts the program.
    /// The command starts the program through the loader, so that the libraries may be in another folder.
    fn entry_point(&self) -> String {
        match self.loader() {
            Some(loader) => format!(r#"["/lib/{loader}", "--library-path", "/lib", "/capsize"]"#),
            None => r#"["/capsize"]"#.to_owned(),
        }
    }

    fn tree(&self) -> io::Result<Vec<u8>> {
        let mut tree = tar::Builder::new(Vec::new());
        // Docker does not support the headers of sparse files.
        tree.sparse(false);
        tree.append_path_with_name(&self.program, "capsize")?;
        for library in &self.libraries {
            tree.append_path_with_name(library, format!("lib/{}", file_name(library)))?;
        }
        tree.into_inner()
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The libraries among the mapped files: `7f00-7f01 r-xp 00000000 fe:00 123   /usr/lib/libc.so.6`.
fn libraries(maps: &str) -> BTreeSet<PathBuf> {
    let paths = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
    paths.filter(|path| path.contains(".so")).map(PathBuf::from).collect_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
5581b9a00000-5581b9a02000 r--p 00000000 fe:00 1048602                    /usr/bin/capsize
5581ba0c1000-5581ba0e2000 rw-p 00000000 00:00 0                          [heap]
7f5c9a828000-7f5c9a9bd000 r-xp 00028000 fe:00 1054321                    /usr/lib/x86_64-linux-gnu/libc.so.6
7f5c9a9bd000-7f5c9aa15000 r--p 001bd000 fe:00 1054321                    /usr/lib/x86_64-linux-gnu/libc.so.6
7f5c9aa4a000-7f5c9aa74000 r-xp 00002000 fe:00 1054318                    /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
7ffd3a5f2000-7ffd3a5f4000 r-xp 00000000 00:00 0                          [vdso]
";

    #[test]
    fn the_image_has_what_the_program_has_loaded_and_calls_the_loader() {
        let libraries = libraries(MAPS);
        let content = Content { program: "/usr/bin/capsize".into(), libraries };
        let names: Vec<String> = content.libraries.iter().map(|path| file_name(path)).collect();
        assert_eq!(names, ["ld-linux-x86-64.so.2", "libc.so.6"]);
        let entry_point = r#"["/lib/ld-linux-x86-64.so.2", "--library-path", "/lib", "/capsize"]"#;
        assert_eq!(content.entry_point(), entry_point);
    }

    #[test]
    fn a_program_that_is_linked_statically_is_alone() {
        let content =
            Content { program: "/capsize".into(), libraries: libraries("1-2 r-xp 0 0:0 1 /capsize\n") };
        assert!(content.libraries.is_empty());
        assert_eq!(content.entry_point(), r#"["/capsize"]"#);
    }
}
