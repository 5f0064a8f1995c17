//! The fields of rows that are made already: bound as parameters, or written as literals.

use std::borrow::Cow;
use std::error::Error;
use std::num::TryFromIntError;

use bytes::BytesMut;
use howdah_encode::binary_row::{BinaryRow, BrokenRow};
use howdah_encode::copy_text;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

use crate::plan::Plan;
use crate::plan::row_form::DEFAULT_MARKER;
use crate::plan::row_form::RowForm;

/// Why a value cannot be sent: something in howdah is wrong.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(crate) enum Unsendable {
    #[error(transparent)]
    Broken(#[from] BrokenRow),
    #[error("an array has a value of 2 GiB or more, or as many values")]
    TooLong(#[from] TryFromIntError),
}

/// One value as it travels.
#[derive(Debug)]
pub(crate) struct Field<'r> {
    /// `None` for NULL; of a value that cannot be sent, the driver hears that instead.
    pub(crate) value: Result<Option<Cow<'r, [u8]>>, Unsendable>,
    /// Whether it is read by the type's receive function or by its input function.
    pub(crate) form: RowForm,
}

impl<'r> Field<'r> {
    /// A value where it lies; `None` for NULL.
    fn borrowed(value: Result<Option<&'r [u8]>, BrokenRow>, form: RowForm) -> Field<'r> {
        Field { value: value.map(|value| value.map(Cow::Borrowed)).map_err(Unsendable::from), form }
    }

    /// A binary value.
    pub(crate) fn owned(value: Vec<u8>) -> Field<'r> {
        Field { value: Ok(Some(Cow::Owned(value))), form: RowForm::Binary }
    }
}

impl ToSql for Field<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Some(value) = self.value.as_ref().map_err(|why| *why)? else { return Ok(IsNull::Yes) };
        out.extend_from_slice(value);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        match self.form {
            RowForm::Binary => Format::Binary,
            RowForm::Text | RowForm::Csv(_) => Format::Text,
        }
    }

    to_sql_checked!();
}

/// The fields of a binary row. Of one that is broken, the last cannot be sent.
pub(crate) fn of_binary(row: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let (row, broken) = match BinaryRow::new(row) {
        Ok(row) => (Some(row), None),
        Err(broken) => (None, Some(Err(broken))),
    };
    row.into_iter().flatten().chain(broken).map(|value| Field::borrowed(value, RowForm::Binary))
}

/// Appends the fields of a row of `form`.
pub(crate) fn split<'r>(row: &'r [u8], form: RowForm, plan: &Plan, fields: &mut Vec<Field<'r>>) {
    match form {
        RowForm::Binary => {
            let mut columns = plan.columns.iter();
            fields.extend(of_binary(row).map(|field| match columns.next() {
                Some(column) if column.as_text => Field { form: RowForm::Text, ..field },
                _ => field,
            }));
        }
        RowForm::Text | RowForm::Csv(_) => {
            for raw in raw_text_fields(row) {
                let value = Ok((raw != copy_text::NULL).then(|| unescaped(raw)));
                fields.push(Field { value, form });
            }
        }
    }
}

/// Appends a text row as SQL: literals that mean the same under any `standard_conforming_strings`.
pub(crate) fn put_literals(row: &[u8], expressions: &[(String, String)], out: &mut Vec<u8>) {
    out.push(b'(');
    for (at, (raw, (before, after))) in raw_text_fields(row).zip(expressions).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if raw == copy_text::NULL {
            out.extend_from_slice(b"NULL");
        } else if raw == DEFAULT_MARKER {
            out.extend_from_slice(b"DEFAULT");
        } else {
            out.extend_from_slice(before.as_bytes());
            put_literal(&unescaped(raw), out);
            out.extend_from_slice(after.as_bytes());
        }
    }
    out.push(b')');
}

fn put_literal(value: &[u8], out: &mut Vec<u8>) {
    if memchr::memchr(b'\\', value).is_some() {
        // Only in this form a backslash is the same to every server.
        out.extend_from_slice(b" E");
    }
    out.push(b'\'');
    for byte in value {
        if matches!(byte, b'\'' | b'\\') {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(b'\'');
}

fn raw_text_fields(row: &[u8]) -> impl Iterator<Item = &[u8]> {
    row.strip_suffix(b"\n").unwrap_or(row).split(|byte| *byte == b'\t')
}

fn unescaped(raw: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut value = Vec::with_capacity(raw.len());
    copy_text::unescape(raw, &mut value);
    Cow::Owned(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_row_is_not_sent_as_a_shorter_one() {
        let sent = |row: &[u8]| {
            of_binary(row)
                .map(|field| field.to_sql(&Type::TEXT, &mut BytesMut::new()).is_ok())
                .collect::<Vec<_>>()
        };
        assert_eq!(sent(&[0, 2, 0, 0, 0, 1, b'a', 0xff, 0xff, 0xff, 0xff]), [true, true]);
        assert_eq!(sent(&[0, 2, 0, 0, 0, 1, b'a', 0xff, 0xff]), [true, false]);
        assert_eq!(sent(&[0]), [false]);
    }

    #[test]
    fn no_value_ends_its_literal() {
        let plain = [(String::new(), String::new()), (String::new(), String::new())];
        let sql = |row: &[u8]| {
            let mut out = Vec::new();
            put_literals(row, &plain, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(sql(b"it's\t\\N\n"), "('it''s',NULL)");
        assert_eq!(sql(b"a\\\\'\t\\D\n"), r"( E'a\\''',DEFAULT)");
        assert_eq!(sql(b"\t\\\\N\n"), r"('', E'\\N')");
    }
}
