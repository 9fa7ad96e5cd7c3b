//! Puts the scenarios of the conformance suite into the binary, so that `capsize run` needs no files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("conformance");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut code = String::from("[\n");
    for folder in sorted(&root)? {
        println!("cargo::rerun-if-changed={}", folder.display());
        for file in sorted(&folder)? {
            let (group, name) = (name_of(&folder), name_of(&file));
            writeln!(code, "({group:?}, {:?}, include_str!({file:?})),", format!("{group}/{name}"))
                .map_err(io::Error::other)?;
        }
    }
    code.push(']');
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("conformance.rs"), code)
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
