//! Puts the scenarios of the conformance suite into the binary, and links quick builds.
//!
//! With the scenarios in the binary, `capsize run` needs no files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    link_at_a_fixed_address();
    include_scenarios()
}

/// Links builds that are not optimised at a fixed address, where the linker allows this.
///
/// Otherwise the program loader writes 260 000 addresses at each start. These make the binary 6 MB larger, and double the time
/// that a short command takes. Published binaries are optimised, and keep random addresses as a second line of defence.
fn link_at_a_fixed_address() {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_static =
        env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|features| features.contains("crt-static"));
    if is("OPT_LEVEL", "0")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && !is_static
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

fn include_scenarios() -> io::Result<()> {
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
