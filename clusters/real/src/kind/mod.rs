//! Members that are kind clusters, with nodes in containers of a `kindest/node` image.

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
