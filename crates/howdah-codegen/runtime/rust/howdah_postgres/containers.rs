//! Arrays, composite values and enums.

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{Field, Kind, Type};

use super::codec::{Decode, Encode, Refused, Value, base, decode, item, take_i32, take_item};

/// Writes a literal inside of another one, in quotes.
pub(super) fn quote<T: Encode>(value: &T, ty: &Type, out: &mut String) -> Result<(), Refused> {
    let mut text = String::new();
    value.literal(ty, &mut text)?;
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    Ok(())
}

fn member(ty: &Type) -> Result<&Type, Refused> {
    match ty.kind() {
        Kind::Array(member) => Ok(member),
        _ => Err(Refused::new(format!("{ty} is no array"))),
    }
}

impl<T: Value> Value for [Option<T>] {
    const BINARY: bool = T::BINARY;

    fn accepts(ty: &Type) -> bool {
        member(ty).is_ok_and(|member| T::accepts(base(member)))
    }
}

impl<T: Encode> Encode for [Option<T>] {
    fn binary(&self, ty: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        let count =
            i32::try_from(self.len()).map_err(|_| Refused::new("it has too many elements"))?;
        let member = member(ty)?;
        out.put_i32(i32::from(count > 0));
        out.put_i32(i32::from(self.iter().any(Encode::is_null)));
        out.put_u32(member.oid());
        if count > 0 {
            out.put_i32(count);
            out.put_i32(1);
        }
        self.iter().try_for_each(|value| item(value, member, out))
    }

    fn literal(&self, ty: &Type, out: &mut String) -> Result<(), Refused> {
        let member = base(member(ty)?);
        out.push('{');
        for (index, value) in self.iter().enumerate() {
            if index > 0 {
                out.push(if *member == Type::BOX { ';' } else { ',' });
            }
            match value {
                Some(value) if !value.is_null() => quote(value, member, out)?,
                _ => out.push_str("NULL"),
            }
        }
        out.push('}');
        Ok(())
    }
}

impl<T: Value> Value for Vec<Option<T>> {
    const BINARY: bool = T::BINARY;

    fn accepts(ty: &Type) -> bool {
        <[Option<T>]>::accepts(ty)
    }
}

impl<T: Encode> Encode for Vec<Option<T>> {
    fn binary(&self, ty: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        self.as_slice().binary(ty, out)
    }

    fn literal(&self, ty: &Type, out: &mut String) -> Result<(), Refused> {
        self.as_slice().literal(ty, out)
    }
}

impl<T: Decode> Decode for Vec<Option<T>> {
    fn decode(ty: &Type, mut bytes: &[u8]) -> Result<Self, Refused> {
        let member = member(ty)?;
        let dimensions = take_i32(&mut bytes)?;
        let (_nulls, _oid) = (take_i32(&mut bytes)?, take_i32(&mut bytes)?);
        if dimensions == 0 {
            return Ok(Self::new());
        }
        if dimensions != 1 {
            return Err(Refused::new(format!(
                "an array of {dimensions} dimensions is no Vec"
            )));
        }
        let count = take_i32(&mut bytes)?;
        let first = take_i32(&mut bytes)?;
        if first != 1 {
            return Err(Refused::new(format!(
                "an array that begins at {first} is no Vec"
            )));
        }
        let value = |_| {
            take_item(&mut bytes)?
                .map(|bytes| decode(member, bytes))
                .transpose()
        };
        (0..count).map(value).collect()
    }
}

/// A composite value that can be written.
pub trait Composite {
    /// The name of its type.
    const NAME: &'static str;
    /// All its fields have a binary form.
    const BINARY: bool;

    /// Writes its fields in their order.
    fn put(&self, fields: &mut FieldWriter<'_>) -> Result<(), Refused>;
}

/// A composite value that can be read.
pub trait FromComposite: Sized {
    /// Reads its fields in their order.
    fn take(fields: &mut FieldReader<'_>) -> Result<Self, Refused>;
}

/// What takes the fields of a composite value.
#[derive(Debug)]
pub struct FieldWriter<'a> {
    types: Vec<&'a Type>,
    next: usize,
    out: Out<'a>,
}

#[derive(Debug)]
enum Out<'a> {
    Binary(&'a mut BytesMut),
    Literal(&'a mut String),
}

impl FieldWriter<'_> {
    /// Takes the next field.
    pub fn put<T: Encode>(&mut self, value: &T) -> Result<(), Refused> {
        let ty = *self.types.get(self.next).ok_or_else(changed)?;
        self.next += 1;
        if !T::accepts(base(ty)) {
            return Err(changed());
        }
        match &mut self.out {
            Out::Binary(out) => {
                out.put_u32(ty.oid());
                item(value, ty, out)
            }
            Out::Literal(out) => {
                out.push(if self.next == 1 { '(' } else { ',' });
                if value.is_null() {
                    Ok(())
                } else {
                    quote(value, base(ty), out)
                }
            }
        }
    }
}

fn changed() -> Refused {
    Refused::new("its type has other fields than when this code was generated")
}

fn fields(ty: &Type) -> Result<Vec<&Type>, Refused> {
    match ty.kind() {
        Kind::Composite(fields) => Ok(fields.iter().map(Field::type_).collect()),
        _ => Err(Refused::new(format!("{ty} has no fields"))),
    }
}

/// Writes a composite value in binary.
pub fn put_record<T: Composite>(value: &T, ty: &Type, out: &mut BytesMut) -> Result<(), Refused> {
    let types = fields(ty)?;
    let count = types.len();
    out.put_i32(i32::try_from(count).map_err(|_| changed())?);
    let mut writer = FieldWriter {
        types,
        next: 0,
        out: Out::Binary(out),
    };
    value.put(&mut writer)?;
    if writer.next == count {
        Ok(())
    } else {
        Err(changed())
    }
}

/// Writes a composite value as its literal.
pub fn put_row<T: Composite>(value: &T, ty: &Type, out: &mut String) -> Result<(), Refused> {
    let types = fields(ty)?;
    let count = types.len();
    let mut writer = FieldWriter {
        types,
        next: 0,
        out: Out::Literal(out),
    };
    value.put(&mut writer)?;
    if writer.next != count {
        return Err(changed());
    }
    out.push(')');
    Ok(())
}

/// The fields of a composite value.
#[derive(Debug)]
pub struct FieldReader<'a> {
    types: Vec<&'a Type>,
    next: usize,
    bytes: &'a [u8],
}

impl FieldReader<'_> {
    /// Gives the next field.
    pub fn take<T: Decode>(&mut self) -> Result<Option<T>, Refused> {
        let ty = *self.types.get(self.next).ok_or_else(changed)?;
        self.next += 1;
        let _oid = take_i32(&mut self.bytes)?;
        take_item(&mut self.bytes)?
            .map(|bytes| decode(ty, bytes))
            .transpose()
    }
}

/// Reads a composite value.
pub fn take_record<T: FromComposite>(ty: &Type, mut bytes: &[u8]) -> Result<T, Refused> {
    let types = fields(ty)?;
    let count = types.len();
    if usize::try_from(take_i32(&mut bytes)?) != Ok(count) {
        return Err(changed());
    }
    let mut reader = FieldReader {
        types,
        next: 0,
        bytes,
    };
    let value = T::take(&mut reader)?;
    if reader.next == count {
        Ok(value)
    } else {
        Err(changed())
    }
}

/// An enum.
pub trait Label: Copy + 'static {
    /// The name of its type.
    const NAME: &'static str;
    /// All labels, in their order.
    const LABELS: &'static [Self];

    /// The label as the server spells it.
    fn label(self) -> &'static str;
}

/// The value of a label.
pub fn labelled<T: Label>(label: &str) -> Result<T, Refused> {
    let found = T::LABELS
        .iter()
        .copied()
        .find(|value| value.label() == label);
    found.ok_or_else(|| Refused::new(format!("{} had no label {label:?}", T::NAME)))
}

/// Reads a label.
pub fn take_label<T: Label>(bytes: &[u8]) -> Result<T, Refused> {
    labelled(&String::from_utf8_lossy(bytes))
}

/// Whether values of an enum are of this type.
pub fn is_enum<T: Label>(ty: &Type) -> bool {
    matches!(ty.kind(), Kind::Enum(_)) && ty.name() == T::NAME
}

/// Whether values of a composite type are of this type.
pub fn is_composite<T: Composite>(ty: &Type) -> bool {
    matches!(ty.kind(), Kind::Composite(_)) && ty.name() == T::NAME
}

/// Makes an enum a value of statements and rows.
macro_rules! enumeration {
    ($type:ty, $pg:ident) => {
        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $pg::Refused;

            fn from_str(label: &str) -> Result<Self, $pg::Refused> {
                $pg::labelled(label)
            }
        }

        impl $pg::Value for $type {
            fn accepts(ty: &$pg::Type) -> bool {
                $pg::is_enum::<Self>(ty)
            }
        }

        impl $pg::Encode for $type {
            fn binary(&self, _: &$pg::Type, out: &mut $pg::BytesMut) -> Result<(), $pg::Refused> {
                out.extend_from_slice($pg::Label::label(*self).as_bytes());
                Ok(())
            }

            fn literal(&self, _: &$pg::Type, out: &mut String) -> Result<(), $pg::Refused> {
                out.push_str($pg::Label::label(*self));
                Ok(())
            }
        }

        impl $pg::Decode for $type {
            fn decode(_: &$pg::Type, bytes: &[u8]) -> Result<Self, $pg::Refused> {
                $pg::take_label(bytes)
            }
        }

        $pg::driver!($type, $pg);
        $pg::readable!($type, $pg);
    };
}

/// Makes a [`Composite`] a value of statements.
macro_rules! composite {
    ($type:ty, $pg:ident) => {
        impl $pg::Value for $type {
            const BINARY: bool = <Self as $pg::Composite>::BINARY;

            fn accepts(ty: &$pg::Type) -> bool {
                $pg::is_composite::<Self>(ty)
            }
        }

        impl $pg::Encode for $type {
            fn binary(&self, ty: &$pg::Type, out: &mut $pg::BytesMut) -> Result<(), $pg::Refused> {
                $pg::put_record(self, ty, out)
            }

            fn literal(&self, ty: &$pg::Type, out: &mut String) -> Result<(), $pg::Refused> {
                $pg::put_row(self, ty, out)
            }
        }

        $pg::driver!($type, $pg);
    };
}

/// Makes a [`FromComposite`] a value of rows.
macro_rules! readable_composite {
    ($type:ty, $pg:ident) => {
        impl $pg::Decode for $type {
            fn decode(ty: &$pg::Type, bytes: &[u8]) -> Result<Self, $pg::Refused> {
                $pg::take_record(ty, bytes)
            }
        }

        $pg::readable!($type, $pg);
    };
}

pub(crate) use {composite, enumeration, readable_composite};
