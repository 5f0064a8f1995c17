//! What every pair of types must fulfil: a field is what the type's own codec makes of the literal, or both are refused.

use arrow_array::{Array, ArrayRef};
use arrow_schema::Field;
use howdah_encode::arrow::{Allowed, ArrowCodec, NoMapping};
use howdah_encode::{NotEncoded, SessionRules, TextCodec, TypeShape};

pub(crate) const STRICT: Allowed = Allowed { nanoseconds: false, decimals: false, floats: false };
pub(crate) const LOOSE: Allowed = Allowed { nanoseconds: true, decimals: true, floats: true };

pub(crate) fn rules() -> SessionRules {
    SessionRules::from_settings("Etc/GMT-3", "ISO, MDY", "sql_standard", "C")
}

pub(crate) fn field(array: &dyn Array) -> Field {
    Field::new("c", array.data_type().clone(), true)
}

pub(crate) fn codec(
    field: &Field,
    shape: &TypeShape,
    typmod: i32,
    allowed: Allowed,
) -> Result<(ArrowCodec, TextCodec), NoMapping> {
    let text = TextCodec::of(shape, typmod, &rules()).unwrap();
    Ok((ArrowCodec::of(field, shape, typmod, "the type", Some(&text), allowed)?, text))
}

/// How many values were compared, and how many refused; `None` when there is no mapping.
pub(crate) fn compare(
    field: &Field,
    array: &ArrayRef,
    shape: &TypeShape,
    typmod: i32,
    allowed: Allowed,
) -> Option<(usize, usize)> {
    let (codec, text) = codec(field, shape, typmod, allowed).ok()?;
    let column = codec.bind(array).unwrap();
    let (mut compared, mut refused) = (0, 0);
    let nulls = array.logical_nulls();
    for row in 0..array.len() {
        assert_eq!(column.is_null(row), nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)));
        if column.is_null(row) {
            continue;
        }
        let mut field = b"before".to_vec();
        let mut literal = b"before".to_vec();
        let put = column.put(row, &mut field);
        let written = column.literal(row, &mut literal);
        let shown = String::from_utf8_lossy(&literal[6..]).into_owned();
        let context = format!("{} as {shape:?} {typmod} {allowed:?}: {shown}", array.data_type());
        if put.is_err() {
            assert_eq!(field, b"before", "{context}");
        }
        if written.is_err() {
            assert_eq!(literal, b"before", "{context}");
        }
        let mut expected = b"before".to_vec();
        let read = match &written {
            Ok(()) => text.encode(&literal[6..], &mut expected),
            Err(refusal) => Err(refusal.clone()),
        };
        match (put, read) {
            (Ok(()), Ok(())) => {
                assert_eq!(field, expected, "{context}");
                compared += 1;
            }
            // What only the server can read may be known here.
            (Ok(()), Err(NotEncoded::Unsure)) => assert!(written.is_ok(), "{context}"),
            (Err(NotEncoded::Invalid(_)), Err(NotEncoded::Invalid(_))) => refused += 1,
            // Of two parts, the one refused and the other unsure, each finds the one that it comes to first.
            (Err(_), Err(_)) if !matches!(shape, TypeShape::Base { .. }) => {}
            (Err(NotEncoded::Unsure), Err(NotEncoded::Unsure)) => {}
            (put, read) => panic!("{context}: put {put:?}, read {read:?}"),
        }
    }
    Some((compared, refused))
}

/// The literal of the first row, or how it is refused.
pub(crate) fn literal(
    field: &Field,
    array: &dyn Array,
    shape: &TypeShape,
    typmod: i32,
    allowed: Allowed,
) -> Result<String, (String, String)> {
    let (codec, _) =
        codec(field, shape, typmod, allowed).map_err(|no| ("no mapping".to_owned(), no.reason))?;
    let column = codec.bind(array).unwrap();
    let mut out = Vec::new();
    let verdict = column.put(0, &mut out);
    out.clear();
    match (verdict, column.literal(0, &mut out)) {
        (Err(NotEncoded::Invalid(invalid)), _) | (_, Err(NotEncoded::Invalid(invalid))) => {
            Err((invalid.sqlstate.to_owned(), invalid.reason))
        }
        (_, literal) => {
            literal.unwrap();
            Ok(String::from_utf8(out).unwrap())
        }
    }
}
