//! The OpenAPI documents: the schemas of kinds and the requests of paths, in versions 2 and 3.
//!
//! The documents of built-in kinds are created once per process from the types of `k8s-openapi`. The documents of
//! custom kinds are created from their definitions at each request.

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
