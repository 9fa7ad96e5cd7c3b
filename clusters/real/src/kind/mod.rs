//! kind: members that are clusters of their own, with nodes in containers of a `kindest/node` image, without the kind binary.

mod boot;
mod credentials;
mod image;
mod kubeadm;
mod member;
mod node;
mod packets;
mod privilege;
mod programs;
mod provider;

pub use image::NodeImage;
pub use privilege::Privilege;
pub use provider::Kind;
