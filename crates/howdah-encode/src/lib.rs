//! Encodes values for PostgreSQL's `COPY … (FORMAT binary)`, exactly as the server's input functions would have stored
//! them. It does no I/O and needs no connection.
//!
//! [`text::TextCodec`] turns a literal, exactly what a type's input function would be given, into the binary field
//! that `COPY … (FORMAT binary)` takes. It never guesses: a literal is *encoded* when the stored value is certain to
//! be the one that the server's input function would have made, *invalid* when the server would certainly refuse it,
//! and *unsure* otherwise, for the server to decide.
//!
//! - [`text`]: codecs of literals, one for each type; [`TypeShape`] describes types that are made of others.
//! - [`wire`]: single values as binary fields. [`copy_text`]: fields of COPY's text format.
//! - [`json`]: JSON's grammar, and what `jsonb` takes. [`civil`]: PostgreSQL's calendar.
//! - `arrow`, with the cargo feature of that name: codecs of values of Arrow arrays.
//!
//! What a literal means depends on the session's settings ([`SessionRules`]), and a refusal is the server's own: SQLSTATE
//! and message ([`Invalid`]).
//!
//! ```
//! use howdah_encode::{NotEncoded, SessionRules, TextCodec};
//! let rules = SessionRules::from_settings("UTC", "ISO, MDY", "postgres", "C");
//! let int4 = TextCodec::for_type(23, -1, &rules).ok_or("int4 has a codec")?;
//! let mut field = Vec::new();
//! assert!(int4.encode(b" 42 ", &mut field).is_ok());
//! assert_eq!(field, [0, 0, 0, 4, 0, 0, 0, 42]);
//!
//! let refused = int4.encode(b"4x2", &mut field);
//! assert!(matches!(refused, Err(NotEncoded::Invalid(invalid)) if invalid.sqlstate == "22P02"));
//! # Ok::<(), &str>(())
//! ```

pub mod arrow;
#[cfg(feature = "arrow")]
pub mod binary_row;
pub mod civil;
pub mod copy_text;
pub mod json;
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
