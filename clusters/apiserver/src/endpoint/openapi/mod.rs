//! The OpenAPI documents: what every kind looks like and which requests its paths take, in versions 2 and 3.
//!
//! Those of built-in kinds are made once a process, from the types of `k8s-openapi`; those of custom kinds from their
//! definitions, at each request.

mod answer;
mod custom;
mod paths;
mod schemas;
mod topology;
mod types;
mod v2;
mod v2_binary;
mod v3;
mod walk;

pub(crate) use answer::answer;
