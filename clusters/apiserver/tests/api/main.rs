//! Tests of the API from outside. They are one program, so that only one program is linked.

#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

mod apply;
mod auth;
mod backup;
mod client;
mod collection;
mod costly;
mod custom;
mod discovery;
mod documented;
mod hostile;
mod kube_rs;
mod kube_rs_kinds;
mod kubectl;
mod lists;
mod model;
mod openapi;
mod parts;
mod patches;
mod pods;
mod recordings;
mod requests;
mod sockets;
mod support;
mod tables;
mod watching;
mod webhooks;
mod webhooks_https;
mod wire;
