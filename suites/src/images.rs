//! `capsize images`: what containers are made of.

use std::fmt::Display;

use capsize_clock::{Seed, live};
use capsize_real::{Engine, Image};
use clap::Subcommand;

use crate::exit::{CommandError, ExitStatus, environment_error};
use crate::{cleanup, output};

/// The images of members in containers
#[derive(Debug, Subcommand)]
pub enum Images {
    /// Build an image of this program, for `--provider container`
    Build,
}

impl Images {
    /// Builds the image, and prints its name.
    ///
    /// # Errors
    /// When Docker does not answer, or refuses it.
    pub fn execute(self) -> Result<ExitStatus, CommandError> {
        let Self::Build = self;
        let journal = cleanup::dry_journal()?;
        let build = async {
            let image = Image::of_this_program().map_err(|error| trouble(&error))?;
            let engine = Engine::find().await.map_err(|error| trouble(&error))?;
            let size = image.build(&engine, &journal).await.map_err(|error| trouble(&error))?;
            output::print(&format!("{} ({} MB)\n", image.name(), size.div_ceil(1_000_000)))?;
            Ok(ExitStatus::Conforms)
        };
        live(Seed(0), 1.0, |_| build).map_err(|error| trouble(&error))?
    }
}

fn trouble(error: &dyn Display) -> CommandError {
    environment_error!("{error}")
}
