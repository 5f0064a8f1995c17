//! Rows of the table as statements bring them: as literals, as parameters, as arrays, and as COPY does.

use bytes::{BufMut, Bytes, BytesMut};
use howdah::name::quote_literal;
use howdah::tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

use super::sample::{HEADER, TRAILER};

/// A value as it is sent in binary; `None`: NULL.
pub(super) type Value = Option<Bytes>;

/// A parameter whose bytes are there already.
#[derive(Debug)]
pub(super) struct Raw(pub(super) Value);

impl ToSql for Raw {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(bytes) = &self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Binary
    }

    to_sql_checked!();
}

/// The rows of a binary COPY; what is cut is left out.
pub(super) fn of_binary(mut bytes: Bytes) -> Vec<Vec<Value>> {
    if bytes.starts_with(HEADER) {
        bytes = bytes.slice(HEADER.len()..);
    }
    let mut rows = Vec::new();
    while let Some(row) = tuple(&mut bytes) {
        rows.push(row);
    }
    rows
}

fn tuple(bytes: &mut Bytes) -> Option<Vec<Value>> {
    let count = take(bytes, 2)?;
    let count = u16::try_from(i16::from_be_bytes(count[..].try_into().ok()?)).ok()?;
    (0..count).map(|_| value(bytes)).collect()
}

fn value(bytes: &mut Bytes) -> Option<Value> {
    let length = i32::from_be_bytes(take(bytes, 4)?[..].try_into().ok()?);
    match usize::try_from(length) {
        Ok(length) => Some(Some(take(bytes, length)?)),
        Err(_) => Some(None),
    }
}

fn take(bytes: &mut Bytes, count: usize) -> Option<Bytes> {
    (bytes.len() >= count).then(|| bytes.split_to(count))
}

/// The rows of a COPY as text, as literals.
pub(super) fn of_text(text: &str) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split('\t').map(literal).collect()).collect()
}

fn literal(field: &str) -> String {
    if field == "\\N" {
        return "NULL".to_owned();
    }
    let mut plain = String::with_capacity(field.len());
    let mut characters = field.chars();
    while let Some(c) = characters.next() {
        plain.push(match (c, c == '\\') {
            (_, true) => match characters.next() {
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('v') => '\u{b}',
                Some(other) => other,
                None => '\\',
            },
            (c, false) => c,
        });
    }
    quote_literal(&plain)
}

/// An array of one column's values.
pub(super) fn array(element: u32, values: &[&Value]) -> Bytes {
    let mut out = BytesMut::new();
    let has_null = values.iter().any(|value| value.is_none());
    out.put_i32(1);
    out.put_i32(i32::from(has_null));
    out.put_u32(element);
    out.put_i32(length(values.len()));
    out.put_i32(1);
    for value in values {
        put(&mut out, value);
    }
    out.freeze()
}

/// A whole COPY of these rows.
pub(super) fn copy(rows: &[Vec<Value>]) -> Bytes {
    let mut out = BytesMut::from(&HEADER[..]);
    for row in rows {
        out.put_i16(i16::try_from(row.len()).unwrap_or(i16::MAX));
        for value in row {
            put(&mut out, value);
        }
    }
    out.extend_from_slice(&TRAILER);
    out.freeze()
}

fn put(out: &mut BytesMut, value: &Value) {
    match value {
        Some(bytes) => {
            out.put_i32(length(bytes.len()));
            out.extend_from_slice(bytes);
        }
        None => out.put_i32(-1),
    }
}

fn length(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_binary_copy_come_apart_and_together_again() {
        let rows = vec![vec![Some(Bytes::from_static(b"ab")), None], vec![Some(Bytes::new()), None]];
        let sent = copy(&rows);
        assert_eq!(of_binary(sent.clone()), rows);
        // Without its beginning, as later messages are, and cut.
        assert_eq!(of_binary(sent.slice(HEADER.len()..sent.len() - 5)), rows[..1]);
        assert_eq!(of_binary(Bytes::new()), Vec::<Vec<Value>>::new());
    }

    #[test]
    fn rows_of_text_become_literals() {
        assert_eq!(
            of_text("1\t\\N\tit's\n2\ta\\tb\\\\c\\nd\t\n"),
            [vec!["'1'", "NULL", "'it''s'"], vec!["'2'", " E'a\tb\\\\c\nd'", "''"]]
        );
    }

    #[test]
    fn an_array_has_its_element_its_length_and_its_nulls() {
        let values = [Some(Bytes::from_static(&[0, 0, 0, 7])), None];
        let sent = array(23, &values.iter().collect::<Vec<_>>());
        let mut expected = Vec::new();
        for word in [1_i32, 1, 23, 2, 1, 4, 7, -1] {
            expected.extend_from_slice(&word.to_be_bytes());
        }
        assert_eq!(sent, expected);
    }
}
