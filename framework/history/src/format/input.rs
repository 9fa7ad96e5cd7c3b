//! Opens a file that may be compressed by gzip, and may begin with a byte order mark.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// The text of a file.
pub type Input = BufReader<Box<dyn Read>>;

/// The size of the read buffer, in bytes.
const BUFFERED: usize = 1 << 17;

/// The first bytes of a file that is compressed by gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The byte order mark, which some editors write first.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Opens the file at `path`. Its first bytes say whether it is compressed, whatever its name is.
///
/// # Errors
/// When the file cannot be read.
pub fn open(path: &Path) -> io::Result<Input> {
    text_of(Box::new(File::open(path)?))
}

/// The text in `bytes`, which may be compressed.
///
/// # Errors
/// When the bytes cannot be read.
pub fn text_of(bytes: Box<dyn Read>) -> io::Result<Input> {
    let mut raw = BufReader::with_capacity(BUFFERED, bytes);
    let is_compressed = raw.fill_buf()?.starts_with(&GZIP);
    let mut text: Input = if is_compressed {
        BufReader::with_capacity(BUFFERED, Box::new(MultiGzDecoder::new(raw)))
    } else {
        raw
    };
    if text.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        text.consume(BYTE_ORDER_MARK.len());
    }
    Ok(text)
}
