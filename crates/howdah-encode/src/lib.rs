//! Values in, PostgreSQL COPY bytes out. No I/O, no async, no connection.
//!
//! [`text::TextCodec`] turns a literal, exactly what a type's input function would be given, into the binary field
//! that `COPY … (FORMAT binary)` takes. It never guesses: a literal is *encoded* when the stored value is certain to
//! be the one that the server's input function would have made, *invalid* when the server would certainly refuse it,
//! and *unsure* otherwise, for the server to decide. [`wire`] writes single values, [`copy_text`] reads and writes
//! fields of COPY's text format. With the cargo feature `arrow`, `arrow` does for values of Arrow arrays what `text`
//! does for literals.
//!
//! ```
//! use howdah_encode::{SessionRules, TextCodec};
//! let rules = SessionRules::from_settings("UTC", "ISO, MDY", "postgres", "C");
//! let int4 = TextCodec::for_type(23, -1, &rules).ok_or("int4 has a codec")?;
//! let mut field = Vec::new();
//! assert!(int4.encode(b" 42 ", &mut field).is_ok());
//! assert_eq!(field, [0, 0, 0, 4, 0, 0, 0, 42]);
//! # Ok::<(), &str>(())
//! ```

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod copy_text;
#[cfg(feature = "literals")]
pub mod literals;
mod session;
mod shape;
pub mod text;
mod verdict;
pub mod wire;

pub use session::{DateOrder, SessionRules, Zone};
pub use shape::{CompositeField, Steps, TypeShape};
pub use text::TextCodec;
pub use verdict::{Invalid, Loss, NotEncoded, Verdict};
