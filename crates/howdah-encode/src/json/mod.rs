//! JSON text: its grammar, checked in one pass, and what strings with escapes spell.
//!
//! The grammar is that of [RFC 8259], which PostgreSQL's [`json` and `jsonb`] follow. [`Members`] reads the members of
//! one object in order, [`Cursor`] single values; both hand out ranges of the text, nothing is copied. [`unescape`] turns
//! a string into the characters that it spells, and [`is_jsonb`] answers whether `jsonb` certainly takes a text. That the
//! text is UTF-8 is the caller's to check.
//!
//! ```
//! use howdah_encode::json::{Members, ValueKind};
//! let text = br#"{"id": 7, "tags": ["a", "b"]}"#;
//! let mut members = Members::of(text)?;
//! let id = members.next()?.ok_or("the object has a member")?;
//! assert_eq!((id.key, &text[id.value.range()]), (&b"id"[..], &b"7"[..]));
//! let tags = members.next()?.ok_or("the object has a second member")?;
//! assert_eq!(tags.value.kind, ValueKind::Container);
//! assert!(members.next()?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [RFC 8259]: https://www.rfc-editor.org/rfc/rfc8259
//! [`json` and `jsonb`]: https://www.postgresql.org/docs/current/datatype-json.html

mod grammar;
mod jsonb;
mod strings;

pub use self::grammar::{Cursor, MAX_DEPTH, Member, Members, SyntaxError, Value, ValueKind};
pub use self::jsonb::is_jsonb;
pub use self::strings::{EscapeError, unescape};

/// Whether a byte is white space between tokens: space, tab, line feed or carriage return.
#[inline]
#[must_use]
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
