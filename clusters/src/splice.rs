//! Moves bytes from one socket to another inside the kernel (Linux), through a pipe.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::relay::StopReason;

/// The capacity of the pipe in bytes: the maximum for unprivileged users.
const ROOM: usize = 1 << 20;

/// Moves bytes until the sender closes its side, or `hindered` ends.
/// Returns `None` if no pipe can be created.
pub(crate) async fn carry(
    from: &TcpStream,
    to: &TcpStream,
    mut hindered: Pin<&mut impl Future<Output = ()>>,
) -> io::Result<Option<StopReason>> {
    let Ok((reader, writer)) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC) else { return Ok(None) };
    // A smaller pipe also works, with more system calls.
    let _ = fcntl_setpipe_size(&writer, ROOM);
    let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
    loop {
        let take = || Ok(splice(from, None, &writer, None, ROOM, flags)?);
        let mut left = tokio::select! {
            biased;
            () = hindered.as_mut() => return Ok(Some(StopReason::Hindered(Default::default()))),
            taken = from.async_io(Interest::READABLE, take) => taken?,
        };
        if left == 0 {
            return Ok(Some(StopReason::Ended));
        }
        while left > 0 {
            let give = || Ok(splice(&reader, None, to, None, left, flags)?);
            left -= tokio::select! {
                biased;
                () = hindered.as_mut() => return rest(&reader, left).map(StopReason::Hindered).map(Some),
                given = to.async_io(Interest::WRITABLE, give) => given?,
            };
        }
    }
}

/// Reads the remaining bytes of the pipe.
fn rest(reader: &OwnedFd, left: usize) -> io::Result<bytes::Bytes> {
    let mut rest = vec![0; left];
    let mut read = 0;
    while read < left {
        read += rustix::io::read(reader, &mut rest[read..])?;
    }
    Ok(rest.into())
}
