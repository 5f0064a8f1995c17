//! Lossy conversions: those that the user allowed, and how the others are refused.

use crate::verdict::{NotEncoded, shown};

/// The lossy conversions that the user allowed by name; none by default.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// Nanoseconds are cut off to microseconds, towards the past.
    pub nanoseconds: bool,
    /// Decimals are rounded to what the column holds, half away from zero.
    pub decimals: bool,
    /// Numbers are rounded to the nearest `real`, `double precision` or integer, half to even.
    pub floats: bool,
}

/// The refusal of a value that would not arrive as it is: what it is, why, and the [`Allowed`] that would let it pass.
#[cold]
pub(super) fn lossy(value: impl FnOnce(&mut Vec<u8>), why: &str, loss: &str) -> NotEncoded {
    let reason = format!("{} {why} (the lossy conversion \"{loss}\" is not allowed)", written(value));
    NotEncoded::invalid("22000", reason)
}

/// The refusal of a value that no [`Allowed`] would let pass: what it is, and why.
#[cold]
pub(super) fn refused(value: impl FnOnce(&mut Vec<u8>), why: &str) -> NotEncoded {
    NotEncoded::invalid("22000", format!("{} {why}", written(value)))
}

/// A value as a message shows it.
fn written(put: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut text = Vec::new();
    put(&mut text);
    shown(&text)
}
