//! How values are written and read: their binary form, and their literal where a type has no binary one here.

use std::error::Error;
use std::fmt;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type, to_sql_checked};
use uuid::Uuid;

/// Why a value is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(String);

impl Refused {
    /// With these words.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Refused {}

/// What values of a type of Rust are to PostgreSQL.
pub trait Value {
    /// They have a binary form. Otherwise they go as literals, and cannot be read.
    const BINARY: bool = true;

    /// Whether they are values of this type, which is no domain.
    fn accepts(ty: &Type) -> bool;

    /// The type, where it is one of PostgreSQL's own.
    fn built_in() -> Option<Type> {
        None
    }
}

/// A value that can be written.
pub trait Encode: Value {
    /// It is null.
    fn is_null(&self) -> bool {
        false
    }

    /// Writes its binary form, without a length.
    fn binary(&self, ty: &Type, out: &mut BytesMut) -> Result<(), Refused>;

    /// Writes its literal.
    fn literal(&self, ty: &Type, out: &mut String) -> Result<(), Refused>;
}

/// A value that can be read.
pub trait Decode: Value + Sized {
    /// Reads its binary form.
    fn decode(ty: &Type, bytes: &[u8]) -> Result<Self, Refused>;
}

/// The type that values of a domain have.
pub fn base(mut ty: &Type) -> &Type {
    while let Kind::Domain(of) = ty.kind() {
        ty = of;
    }
    ty
}

pub(super) fn decode<T: Decode>(ty: &Type, bytes: &[u8]) -> Result<T, Refused> {
    let ty = base(ty);
    if !T::accepts(ty) {
        return Err(Refused::new(format!(
            "it is a {ty}, for which this code was not generated"
        )));
    }
    T::decode(ty, bytes)
}

/// Writes a value behind its length, or that it is null.
pub(super) fn item<T: Encode + ?Sized>(
    value: &T,
    ty: &Type,
    out: &mut BytesMut,
) -> Result<(), Refused> {
    if value.is_null() {
        out.put_i32(-1);
        return Ok(());
    }
    let start = out.len();
    out.put_i32(0);
    value.binary(base(ty), out)?;
    let length = i32::try_from(out.len() - start - 4)
        .map_err(|_| Refused::new("it is longer than 2 GiB"))?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// A value that is given to a statement.
pub struct Param<'a, T: ?Sized>(pub &'a T);

impl<T: ?Sized> fmt::Debug for Param<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Param(…)")
    }
}

impl<T: Encode + ?Sized> ToSql for Param<'_, T> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        if self.0.is_null() {
            return Ok(IsNull::Yes);
        }
        if T::BINARY {
            self.0.binary(base(ty), out)?;
        } else {
            let mut text = String::new();
            self.0.literal(base(ty), &mut text)?;
            out.put_slice(text.as_bytes());
        }
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        T::accepts(base(ty))
    }

    fn encode_format(&self, _: &Type) -> Format {
        if T::BINARY {
            Format::Binary
        } else {
            Format::Text
        }
    }

    to_sql_checked!();
}

/// The literal of a value whose type has no other form here: `10.0.0.1/8` of an `inet`.
///
/// It can be written. To read one, cast it to `text` in the statement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Literal(pub String);

impl From<&str> for Literal {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Value for Literal {
    const BINARY: bool = false;

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl Encode for Literal {
    fn binary(&self, ty: &Type, _: &mut BytesMut) -> Result<(), Refused> {
        Err(Refused::new(format!("a {ty} has no binary form here")))
    }

    fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
        out.push_str(checked(&self.0)?);
        Ok(())
    }
}

impl<T: Value + ?Sized> Value for &T {
    const BINARY: bool = T::BINARY;

    fn accepts(ty: &Type) -> bool {
        T::accepts(ty)
    }

    fn built_in() -> Option<Type> {
        T::built_in()
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    fn is_null(&self) -> bool {
        (**self).is_null()
    }

    fn binary(&self, ty: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        (**self).binary(ty, out)
    }

    fn literal(&self, ty: &Type, out: &mut String) -> Result<(), Refused> {
        (**self).literal(ty, out)
    }
}

impl<T: Value> Value for Option<T> {
    const BINARY: bool = T::BINARY;

    fn accepts(ty: &Type) -> bool {
        T::accepts(ty)
    }

    fn built_in() -> Option<Type> {
        T::built_in()
    }
}

impl<T: Encode> Encode for Option<T> {
    fn is_null(&self) -> bool {
        self.as_ref().is_none_or(Encode::is_null)
    }

    fn binary(&self, ty: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        self.as_ref().map_or(Ok(()), |value| value.binary(ty, out))
    }

    fn literal(&self, ty: &Type, out: &mut String) -> Result<(), Refused> {
        self.as_ref().map_or(Ok(()), |value| value.literal(ty, out))
    }
}

/// Exactly so many bytes.
pub(super) fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Refused> {
    bytes
        .try_into()
        .map_err(|_| Refused::new(format!("it has {} bytes, not {N}", bytes.len())))
}

/// Takes bytes off the front.
pub(super) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], Refused> {
    let (taken, rest) = bytes
        .split_at_checked(count)
        .ok_or_else(|| Refused::new("it ends early"))?;
    *bytes = rest;
    Ok(taken)
}

/// Takes a number off the front.
pub(super) fn take_i32(bytes: &mut &[u8]) -> Result<i32, Refused> {
    Ok(i32::from_be_bytes(exactly(take(bytes, 4)?)?))
}

/// Takes a value off the front, whose length stands before it.
pub(super) fn take_item<'a>(bytes: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Refused> {
    match take_i32(bytes)? {
        -1 => Ok(None),
        length => {
            let length =
                usize::try_from(length).map_err(|_| Refused::new("its length is negative"))?;
            take(bytes, length).map(Some)
        }
    }
}

/// A text that PostgreSQL can hold.
fn checked(text: &str) -> Result<&str, Refused> {
    if text.contains('\0') {
        return Err(Refused::new("PostgreSQL's texts have no character 0"));
    }
    Ok(text)
}

macro_rules! number {
    ($type:ty, $of:ident, $put:ident, $format:literal) => {
        impl Value for $type {
            fn accepts(ty: &Type) -> bool {
                *ty == Type::$of
            }

            fn built_in() -> Option<Type> {
                Some(Type::$of)
            }
        }

        impl Encode for $type {
            fn binary(&self, _: &Type, out: &mut BytesMut) -> Result<(), Refused> {
                out.$put(*self);
                Ok(())
            }

            fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
                out.push_str(&format!($format, self));
                Ok(())
            }
        }

        impl Decode for $type {
            fn decode(_: &Type, bytes: &[u8]) -> Result<Self, Refused> {
                Ok(Self::from_be_bytes(exactly(bytes)?))
            }
        }
    };
}

number!(i16, INT2, put_i16, "{}");
number!(i32, INT4, put_i32, "{}");
number!(i64, INT8, put_i64, "{}");
number!(u32, OID, put_u32, "{}");
// The shortest digits that are this number again.
number!(f32, FLOAT4, put_f32, "{:e}");
number!(f64, FLOAT8, put_f64, "{:e}");

impl Value for bool {
    fn accepts(ty: &Type) -> bool {
        *ty == Type::BOOL
    }

    fn built_in() -> Option<Type> {
        Some(Type::BOOL)
    }
}

impl Encode for bool {
    fn binary(&self, _: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        out.put_u8(u8::from(*self));
        Ok(())
    }

    fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
        out.push(if *self { 't' } else { 'f' });
        Ok(())
    }
}

impl Decode for bool {
    fn decode(_: &Type, bytes: &[u8]) -> Result<Self, Refused> {
        Ok(exactly::<1>(bytes)? != [0])
    }
}

impl Value for str {
    fn accepts(ty: &Type) -> bool {
        matches!(
            *ty,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::JSON | Type::JSONB
        ) || ty.name() == "citext"
    }

    fn built_in() -> Option<Type> {
        Some(Type::TEXT)
    }
}

impl Encode for str {
    fn binary(&self, ty: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        let text = checked(self)?;
        if *ty == Type::JSONB {
            out.put_u8(1);
        }
        out.put_slice(text.as_bytes());
        Ok(())
    }

    fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
        out.push_str(checked(self)?);
        Ok(())
    }
}

impl Value for String {
    fn accepts(ty: &Type) -> bool {
        str::accepts(ty)
    }

    fn built_in() -> Option<Type> {
        str::built_in()
    }
}

impl Encode for String {
    fn binary(&self, ty: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        self.as_str().binary(ty, out)
    }

    fn literal(&self, ty: &Type, out: &mut String) -> Result<(), Refused> {
        self.as_str().literal(ty, out)
    }
}

impl Decode for String {
    fn decode(ty: &Type, bytes: &[u8]) -> Result<Self, Refused> {
        let text = if *ty == Type::JSONB {
            bytes
                .strip_prefix(&[1])
                .ok_or_else(|| Refused::new("it is a jsonb of an unknown version"))?
        } else {
            bytes
        };
        std::str::from_utf8(text)
            .map(str::to_owned)
            .map_err(|error| Refused::new(error.to_string()))
    }
}

impl Value for [u8] {
    fn accepts(ty: &Type) -> bool {
        *ty == Type::BYTEA
    }

    fn built_in() -> Option<Type> {
        Some(Type::BYTEA)
    }
}

impl Encode for [u8] {
    fn binary(&self, _: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        out.put_slice(self);
        Ok(())
    }

    fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
        out.push_str("\\x");
        for byte in self {
            out.push_str(&format!("{byte:02x}"));
        }
        Ok(())
    }
}

impl Value for Vec<u8> {
    fn accepts(ty: &Type) -> bool {
        <[u8]>::accepts(ty)
    }

    fn built_in() -> Option<Type> {
        <[u8]>::built_in()
    }
}

impl Encode for Vec<u8> {
    fn binary(&self, ty: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        self.as_slice().binary(ty, out)
    }

    fn literal(&self, ty: &Type, out: &mut String) -> Result<(), Refused> {
        self.as_slice().literal(ty, out)
    }
}

impl Decode for Vec<u8> {
    fn decode(_: &Type, bytes: &[u8]) -> Result<Self, Refused> {
        Ok(bytes.to_vec())
    }
}

impl Value for Uuid {
    fn accepts(ty: &Type) -> bool {
        *ty == Type::UUID
    }

    fn built_in() -> Option<Type> {
        Some(Type::UUID)
    }
}

impl Encode for Uuid {
    fn binary(&self, _: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        out.put_slice(self.as_bytes());
        Ok(())
    }

    fn literal(&self, _: &Type, out: &mut String) -> Result<(), Refused> {
        out.push_str(&self.to_string());
        Ok(())
    }
}

impl Decode for Uuid {
    fn decode(_: &Type, bytes: &[u8]) -> Result<Self, Refused> {
        Ok(Self::from_bytes(exactly(bytes)?))
    }
}

/// Makes a value one that the driver writes.
macro_rules! driver {
    ($type:ty, $pg:ident) => {
        impl $pg::ToSql for $type {
            fn to_sql(
                &self,
                ty: &$pg::Type,
                out: &mut $pg::BytesMut,
            ) -> Result<$pg::IsNull, $pg::BoxedError> {
                $pg::ToSql::to_sql(&$pg::Param(self), ty, out)
            }

            fn accepts(ty: &$pg::Type) -> bool {
                <$pg::Param<'_, Self> as $pg::ToSql>::accepts(ty)
            }

            fn encode_format(&self, ty: &$pg::Type) -> $pg::Format {
                $pg::ToSql::encode_format(&$pg::Param(self), ty)
            }

            $pg::to_sql_checked!();
        }
    };
}

/// Makes a value one that the driver reads.
macro_rules! readable {
    ($type:ty, $pg:ident) => {
        impl<'a> $pg::FromSql<'a> for $type {
            fn from_sql(ty: &$pg::Type, bytes: &'a [u8]) -> Result<Self, $pg::BoxedError> {
                Ok(<Self as $pg::Decode>::decode($pg::base(ty), bytes)?)
            }

            fn accepts(ty: &$pg::Type) -> bool {
                <Self as $pg::Value>::accepts($pg::base(ty))
            }
        }
    };
}

pub(crate) use {driver, readable};
