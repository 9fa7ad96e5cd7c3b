//! HTTP: requests and responses, their forms and limits, and the server on a socket.

pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod client_certificate;
pub(crate) mod failure;
pub(crate) mod long_list;
pub(crate) mod negotiate;
pub(crate) mod output_form;
pub(crate) mod request;
pub(crate) mod respond;
pub(crate) mod serve;
pub(crate) mod service;
