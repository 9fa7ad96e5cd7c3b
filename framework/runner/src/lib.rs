//! Runs scenarios against an implementation, and records what happens as a history.

pub mod chaos;
pub mod import;
pub mod nemesis;
pub mod objects;
pub mod record;
pub mod run;
pub mod scenario;
