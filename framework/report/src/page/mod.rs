//! The page: results and time lines in one HTML file, which needs no network.

mod builder;
mod data;
mod html;
mod lanes;
mod problems;
mod tables;
mod text;
mod versions;

pub use builder::{CaseTimeline, TimelineBuilder};
pub use html::{html, live_html};
pub(crate) use tables::escaped;
