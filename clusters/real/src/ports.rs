//! Finds free ports of this machine's loopback, which no outgoing connection takes meanwhile.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The first port that is given.
/// Linux takes the ports of outgoing connections from 32768 on, other systems from 49152 on.
const FIRST: u16 = 20_000;

/// The number of ports that are given before the first one is given again.
const COUNT: u16 = 12_000;

/// How many ports were looked at.
static LOOKED_AT: AtomicU32 = AtomicU32::new(0);

/// A port of this machine's loopback that is free at present.
/// A program may bind it some seconds later: this process gives it to nobody else soon, and no outgoing connection has
/// it.
///
/// # Errors
/// There is none.
pub fn free_port() -> io::Result<u16> {
    // Processes that run at the same time begin at different ports.
    let first = process::id().wrapping_mul(61);
    for _ in 0..COUNT {
        let turn = first.wrapping_add(LOOKED_AT.fetch_add(1, Ordering::Relaxed)) % u32::from(COUNT);
        let port = FIRST + u16::try_from(turn).unwrap_or_default();
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_port_is_given_twice_or_to_an_outgoing_connection() {
        let ports: Vec<u16> = (0..200).map(|_| free_port().unwrap()).collect();
        assert!(ports.iter().all(|port| (FIRST..32_768).contains(port)), "{ports:?}");
        assert_eq!(BTreeSet::from_iter(&ports).len(), ports.len());
    }

    #[test]
    fn a_port_that_is_taken_is_passed_over() {
        let taken = free_port().unwrap();
        let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, taken)).unwrap();
        let others = (0..COUNT).map(|_| free_port().unwrap());
        assert!(others.filter(|port| *port == taken).count() == 0);
    }
}
