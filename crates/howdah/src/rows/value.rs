//! Values of programs: which of a [`FieldWriter`]'s ways each type takes.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use super::field::FieldWriter;
use super::literal::with_scratch;
use crate::error::Error;

/// A value of a program that becomes one field of a row, by the *column's* type, never by its own alone.
///
/// Integers, floats and truth values go into columns of other types as their literals would: `1_i64` into `numeric`,
/// `true` into `text`. Strings are literals of any type. `Option` is the value or NULL; slices and vectors are arrays,
/// but those of `u8`, which are bytes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value that becomes a field of a row",
    note = "implement `howdah::Value` for it, or wrap it in `howdah::Literal` if PostgreSQL reads what it displays"
)]
pub trait Value {
    /// Puts the value: calls one method of `field` that puts, once.
    ///
    /// # Errors
    /// What that method says.
    fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error>;
}

/// A value that can be an element of an array: every one but `u8`, whose vectors are bytes.
pub trait Element: Value {}

/// What [`Display`] writes, read as the column's type reads literals: for types of other crates, as far as PostgreSQL knows
/// their way of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Literal<T>(pub T);

/// A uuid: its sixteen bytes in the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uuid(pub [u8; 16]);

/// Implements [`Value`] by one expression, and says that it can be an element.
macro_rules! values {
    ($($type:ty: |$value:ident, $field:ident| $put:expr;)+) => {$(
        impl Value for $type {
            #[inline]
            fn put(&self, $field: &mut FieldWriter<'_>) -> Result<(), Error> {
                let $value = self;
                $put
            }
        }
        impl Element for $type {}
    )+};
}

values! {
    bool: |value, field| field.bool(*value);
    i8: |value, field| field.int((*value).into());
    i16: |value, field| field.int((*value).into());
    i32: |value, field| field.int((*value).into());
    i64: |value, field| field.int(*value);
    i128: |value, field| wide(i64::try_from(*value).ok(), *value, field);
    isize: |value, field| wide(i64::try_from(*value).ok(), *value, field);
    u16: |value, field| field.int((*value).into());
    u32: |value, field| field.int((*value).into());
    u64: |value, field| wide(i64::try_from(*value).ok(), *value, field);
    u128: |value, field| wide(i64::try_from(*value).ok(), *value, field);
    usize: |value, field| wide(i64::try_from(*value).ok(), *value, field);
    f32: |value, field| field.float4(*value);
    f64: |value, field| field.float8(*value);
    str: |value, field| field.text(value);
    String: |value, field| field.text(value);
    [u8]: |value, field| field.bytes(value);
    Vec<u8>: |value, field| field.bytes(value);
    Bytes: |value, field| field.bytes(value);
    Uuid: |value, field| field.uuid(value.0);
    serde_json::Value: |value, field| put_json(value, field);
    SystemTime: |value, field| put_moment(*value, field);
}

impl Value for u8 {
    #[inline]
    fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error> {
        field.int((*self).into())
    }
}

/// NULL where it is `None`.
impl<V: Value> Value for Option<V> {
    #[inline]
    fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error> {
        match self {
            Some(value) => value.put(field),
            None => field.null(),
        }
    }
}

impl<V: Element> Element for Option<V> {}

impl<B: Value + ToOwned + ?Sized> Value for Cow<'_, B> {
    #[inline]
    fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error> {
        B::put(self, field)
    }
}

impl<B: Element + ToOwned + ?Sized> Element for Cow<'_, B> {}

impl<T: Display> Value for Literal<T> {
    fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error> {
        with_scratch(|literal| {
            // Memory takes everything.
            let _ = write!(literal, "{}", self.0);
            // What Display writes is text.
            match str::from_utf8(literal) {
                Ok(literal) => field.text(literal),
                Err(_) => field.bytes(literal),
            }
        })
    }
}

impl<T: Display> Element for Literal<T> {}

impl<V: Element> Value for [V] {
    fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error> {
        field.array(self.iter())
    }
}

impl<V: Element> Value for Vec<V> {
    fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error> {
        field.array(self.iter())
    }
}

impl<V: Element, const N: usize> Value for [V; N] {
    fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error> {
        field.array(self.iter())
    }
}

impl<const N: usize> Value for [u8; N] {
    #[inline]
    fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error> {
        field.bytes(self)
    }
}

/// What points to a value is the value.
macro_rules! pointers {
    ($($type:ty),+) => {$(
        impl<V: Value + ?Sized> Value for $type {
            #[inline]
            fn put(&self, field: &mut FieldWriter<'_>) -> Result<(), Error> {
                V::put(self, field)
            }
        }
        impl<V: Element + ?Sized> Element for $type {}
    )+};
}

pointers!(&V, Box<V>, Rc<V>, Arc<V>);

/// An integer that may be none of PostgreSQL's: then its digits, for `numeric`.
#[inline]
fn wide(narrow: Option<i64>, value: impl itoa::Integer, field: &mut FieldWriter<'_>) -> Result<(), Error> {
    match narrow {
        Some(value) => field.int(value),
        None => field.text(itoa::Buffer::new().format(value)),
    }
}

fn put_json(value: &serde_json::Value, field: &mut FieldWriter<'_>) -> Result<(), Error> {
    with_scratch(|json| {
        // A value in memory has string keys and nothing that cannot be written.
        serde_json::to_writer(&mut *json, value).map_err(|error| {
            Error::usage(format!("the JSON document cannot be written: {error}")).caused_by(error)
        })?;
        field.json(json)
    })
}

/// Nanoseconds below a microsecond are cut off, towards the past.
fn put_moment(value: SystemTime, field: &mut FieldWriter<'_>) -> Result<(), Error> {
    let micros = match value.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_micros()).ok(),
        Err(before) => i64::try_from(before.duration().as_nanos().div_ceil(1000)).ok().map(|micros| -micros),
    };
    match micros {
        Some(micros) => field.timestamptz(micros),
        None => Err(field.beyond_the_calendar()),
    }
}
