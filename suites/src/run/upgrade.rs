//! The option `--upgrade-to`: the released programs that take over at a step `upgrade`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use capsize_judge::profile::{Profile, Start};

use crate::exit::{CommandError, input_error};
use crate::kit::Kit;
use crate::targets;

/// A target, and the folder with its released programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UpgradeTo {
    target: String,
    bin: PathBuf,
}

impl FromStr for UpgradeTo {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((target, bin)) if !target.is_empty() && !bin.is_empty() => {
                Ok(Self { target: target.to_owned(), bin: bin.into() })
            }
            _ => Err("expected a target and the folder of its programs, such as karmada-1.19=DIR"),
        }
    }
}

impl fmt::Display for UpgradeTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.target, self.bin.display())
    }
}

impl UpgradeTo {
    /// The profile of the target with the programs of its kit, and the folder of the programs.
    /// Definitions of the user count if `is_defined` is true.
    ///
    /// # Errors
    /// An unknown target, a target without programs, or a folder that does not exist.
    pub(super) fn programs(&self, is_defined: bool) -> Result<(Profile, PathBuf), CommandError> {
        if !self.bin.is_dir() {
            let why = format!("--upgrade-to {self}: there is no folder {}", self.bin.display());
            return Err(input_error!("{why}"));
        }
        let profile = targets::find(&self.target).map_err(CommandError::input)?;
        Ok((with_kit(profile, "--upgrade-to", is_defined)?, self.bin.clone()))
    }
}

/// Returns the profile with the programs of its kit.
/// A profile that starts programs needs no kit. `option` is the option that needs the programs.
///
/// # Errors
/// A target without a kit and without programs; a mistake in the kit.
pub(super) fn with_kit(profile: Profile, option: &str, is_defined: bool) -> Result<Profile, CommandError> {
    match Kit::of(&profile.name).map_err(CommandError::input)? {
        Some(kit) => kit.applied(profile, is_defined).map_err(CommandError::input),
        None if matches!(profile.start, Start::Processes(_)) => Ok(profile),
        None => Err(input_error!(
            "{option}: Capsize has no kit for the target {}: `start: processes` in a profile of your own starts programs",
            profile.name
        )),
    }
}
