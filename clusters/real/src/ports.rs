//! Free ports of this machine.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// A port of this machine's loopback that is free at present.
///
/// # Errors
/// There is none.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
