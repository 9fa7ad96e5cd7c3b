//! The guarantees about the addresses of services: SERVICES.

mod endpoint_addresses;

pub(super) use endpoint_addresses::EndpointAddressesSurviveOutage;
