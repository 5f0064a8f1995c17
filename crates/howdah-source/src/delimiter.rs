//! What stands between the fields of a record: one byte, as in COPY, or a few.

use std::fmt;

use howdah_message::setting;

use crate::error::Error;

/// A delimiter has at most so many bytes.
const MOST: usize = 4;

/// What stands between fields: one ASCII character as COPY has it, or up to four bytes of UTF-8, as `||` or `§`.
///
/// ```
/// use howdah_source::Delimiter;
///
/// assert_eq!(Delimiter::from(b';').as_bytes(), b";");
/// assert_eq!(Delimiter::new("||").unwrap().to_string(), "||");
/// assert!(Delimiter::new("").is_err() && Delimiter::new("\n").is_err() && Delimiter::new("=====").is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Delimiter {
    bytes: [u8; MOST],
    length: u8,
}

impl Delimiter {
    /// The delimiter that `text` is.
    ///
    /// # Errors
    /// A usage error: it is empty, has more than four bytes, a line end or a NUL byte.
    pub fn new(text: &str) -> Result<Delimiter, Error> {
        let refuse = |why: String| Err(Error::usage(message![setting::DELIMITER, " ", why]));
        let has = |unwanted: &[u8]| text.bytes().any(|byte| unwanted.contains(&byte));
        match text.len() {
            0 => refuse("is empty".to_owned()),
            length if length > MOST => refuse(format!("has at most {MOST} bytes: {text:?} has {length}")),
            _ if has(b"\n\r") => refuse(format!("cannot contain a line end: {text:?}")),
            _ if has(b"\0") => refuse("cannot contain a NUL byte".to_owned()),
            length => {
                let mut bytes = [0; MOST];
                bytes[..length].copy_from_slice(text.as_bytes());
                Ok(Delimiter { bytes, length: u8::try_from(length).unwrap_or_default() })
            }
        }
    }

    /// Its bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// The only byte of one that COPY can take.
    #[inline]
    pub fn byte(&self) -> Option<u8> {
        (self.length == 1).then_some(self.bytes[0])
    }

    /// The first byte.
    #[inline]
    pub(crate) fn first(&self) -> u8 {
        self.bytes[0]
    }

    /// Whether it stands in `text`.
    pub fn is_in(&self, text: &[u8]) -> bool {
        memchr::memmem::find(text, self.as_bytes()).is_some()
    }
}

impl From<u8> for Delimiter {
    fn from(byte: u8) -> Self {
        Delimiter { bytes: [byte, 0, 0, 0], length: 1 }
    }
}

impl PartialEq<u8> for Delimiter {
    fn eq(&self, byte: &u8) -> bool {
        self.byte() == Some(*byte)
    }
}

/// As it is typed.
impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

impl fmt::Debug for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}
