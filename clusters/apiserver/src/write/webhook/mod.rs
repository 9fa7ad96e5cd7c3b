//! Admission webhooks: the matching of writes, the calls, and the use of the answers.

mod admit;
mod configuration;
mod consultation;
mod hook;
mod https;
mod review;
mod subject;
mod transport;
mod trust;

pub(crate) use configuration::{configuration_problems, default_configuration};
pub(crate) use consultation::Consultation;
pub(crate) use hook::Webhooks;
pub(crate) use subject::Subject;
pub(crate) use transport::Transports;
pub use transport::{WebhookCall, WebhookTransport};
