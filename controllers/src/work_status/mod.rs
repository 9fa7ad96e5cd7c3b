//! The work status controller: reports on Works the status and health of their copies in members.

mod run;
mod watches;

pub(crate) use run::run;
