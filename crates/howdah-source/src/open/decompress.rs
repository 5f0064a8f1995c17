//! Decompression: gzip, zstd, xz and bzip2, known by their first bytes; all members of a file, in memory that does not
//! grow with what they unpack to.

#[cfg(feature = "compression")]
use std::io::BufReader;
use std::io::{self, Cursor, Read};

#[cfg(feature = "compression")]
use howdah_message::Action;
use howdah_message::Message;

use crate::open::fill::read_full;
use crate::open::not_text::{Instead, NotText};

/// The longest mark of a compressed file, and of a file without text.
pub(crate) const MAGIC_BYTES: usize = 10;

/// Big enough that a system call costs nothing beside inflating what it brought.
#[cfg(feature = "compression")]
const READ_BUFFER: usize = 128 * 1024;

/// What decompressing xz may take. `xz -9` needs 65 MiB; only files packed with a dictionary of unusual size need more.
#[cfg(feature = "compression")]
const XZ_MEMORY_BYTES: u64 = 256 * 1024 * 1024;

/// File name endings that say how a file is compressed, in lower case.
const ENDINGS: [&str; 5] = ["gz", "zst", "zstd", "xz", "bz2"];

/// Whether a file of that name is compressed, by its ending.
pub(crate) fn is_name_of_compressed(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&&*ending))
}

/// The text of `raw`, whatever it is compressed with; anything unknown is text already.
///
/// # Errors
/// The first bytes cannot be read, or are those of a file without text.
pub(crate) fn text(mut raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let magic = magic(&mut raw)?;
    if let Some(not_text) = NotText::begins(&magic) {
        return Err(io::Error::other(not_text));
    }
    if is_compressed(&magic) {
        return Ok(Box::new(Decompressed { unpacked: unpacked(magic, raw)?, is_checked: false }));
    }
    unpacked(magic, raw)
}

/// What was compressed, of which the first bytes are looked at as those of a file are.
struct Decompressed {
    unpacked: Box<dyn Read + Send>,
    is_checked: bool,
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.unpacked.read(buffer)?;
        if !self.is_checked && count > 0 {
            self.is_checked = true;
            let bytes = &buffer[..count];
            let twice = NotText {
                what: "it is compressed twice",
                instead: Instead::Say(
                    "unpack it once: gzip -dc FILE, zstd -dc FILE, xz -dc FILE, bzip2 -dc FILE",
                ),
            };
            let not_text = NotText::begins(bytes).or_else(|| NotText::is_tar(bytes));
            if let Some(not_text) = not_text.or(is_compressed(bytes).then_some(twice)) {
                return Err(io::Error::other(not_text));
            }
        }
        Ok(count)
    }
}

/// The content of `raw`, text or not.
///
/// # Errors
/// The first bytes cannot be read.
pub(crate) fn content(mut raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let magic = magic(&mut raw)?;
    unpacked(magic, raw)
}

/// Whether a file that begins so is compressed.
pub(crate) fn is_compressed(magic: &[u8]) -> bool {
    matches!(magic, [0x1F, 0x8B, ..] | [0x28, 0xB5, 0x2F, 0xFD, ..] | [0xFD, b'7', b'z', b'X', b'Z', 0, ..])
        || magic.get(..MAGIC_BYTES).is_some_and(is_bzip2)
}

fn magic(raw: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut magic = vec![0; MAGIC_BYTES];
    let got = read_full(raw, &mut magic)?;
    magic.truncate(got);
    Ok(magic)
}

#[cfg(feature = "compression")]
fn unpacked(magic: Vec<u8>, raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    use liblzma::stream::{CONCATENATED, Stream};

    let whole = Cursor::new(magic.clone()).chain(raw);
    let buffered = |whole| BufReader::with_capacity(READ_BUFFER, whole);
    Ok(match &*magic {
        [0x1F, 0x8B, ..] => Box::new(flate2::read::MultiGzDecoder::new(buffered(whole))),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Box::new(zstd::Decoder::new(whole)?),
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => {
            let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES, CONCATENATED)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(buffered(whole), stream))
        }
        magic if is_bzip2(magic) => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered(whole))),
        _ => Box::new(whole),
    })
}

#[cfg(not(feature = "compression"))]
fn unpacked(magic: Vec<u8>, raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    if is_compressed(&magic) {
        let what =
            "it is compressed, and this program was built without decompression (the feature compression)";
        return Err(io::Error::other(NotText { what, instead: Instead::Say("decompress it first") }));
    }
    Ok(Box::new(Cursor::new(magic).chain(raw)))
}

/// `BZh` alone could start a header: what follows must be a block, or the end of a file without any.
fn is_bzip2(magic: &[u8]) -> bool {
    const BLOCK: &[u8] = &[0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
    const END: &[u8] = &[0x17, 0x72, 0x45, 0x38, 0x50, 0x90];
    match magic {
        [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] => rest == BLOCK || rest == END,
        _ => false,
    }
}

/// What an error of a decompressor means, and what to do about it, where its own words do not say.
pub(crate) fn explain(error: &io::Error) -> Option<(&'static str, Message)> {
    if let Some(not_text) = error.get_ref()?.downcast_ref::<NotText>() {
        return Some(not_text.explain());
    }
    of_xz(error)
}

#[cfg(feature = "compression")]
fn of_xz(error: &io::Error) -> Option<(&'static str, Message)> {
    let cause = error.get_ref()?.downcast_ref::<liblzma::stream::Error>()?;
    match cause {
        liblzma::stream::Error::MemLimit => Some((
            "decompressing it takes more than 256 MiB of memory",
            message!["let xz do it: ", Action::LoadOutput("xz -dc FILE")],
        )),
        _ => Some(("the xz data are damaged", "xz -t FILE says where".into())),
    }
}

#[cfg(not(feature = "compression"))]
fn of_xz(_error: &io::Error) -> Option<(&'static str, Message)> {
    None
}
