//! JSON of rows: valid, complete, and exact.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Decimal128Type;
use arrow_array::{
    ArrayRef, BinaryArray, Date32Array, FixedSizeBinaryArray, Float64Array, Int32Array, ListArray,
    PrimitiveArray, StringArray, StructArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Fields, Schema};
use howdah_encode::arrow::json_row;
use howdah_testkit::arrays::{scalars, seeds};
use proptest::prelude::*;

use super::oracle::field;

fn with_extension(name: &str, field: Field) -> Field {
    let key = "ARROW:extension:name".to_owned();
    field.with_metadata(HashMap::from([(key, name.to_owned())]))
}

fn row(columns: Vec<(&str, ArrayRef)>) -> String {
    let fields: Vec<Field> = columns.iter().map(|(name, column)| field(column).with_name(*name)).collect();
    let columns: Vec<ArrayRef> = columns.into_iter().map(|(_, column)| column).collect();
    let mut out = Vec::new();
    json_row(&Schema::new(fields), &columns, 0, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_row_keeps_every_digit() {
    let wide = i128::MAX / 10;
    let decimals = PrimitiveArray::<Decimal128Type>::from(vec![wide]).with_precision_and_scale(38, 10);
    let line = row(vec![
        ("id", Arc::new(UInt64Array::from(vec![u64::MAX]))),
        ("amount", Arc::new(decimals.unwrap())),
        ("at", Arc::new(TimestampNanosecondArray::from(vec![-1]).with_timezone("UTC"))),
        ("day", Arc::new(Date32Array::from(vec![0]))),
        ("nan", Arc::new(Float64Array::from(vec![f64::NAN]))),
        ("half", Arc::new(Float64Array::from(vec![0.5]))),
        ("bytes", Arc::new(BinaryArray::from(vec![&b"\0\xff"[..]]))),
        ("none", Arc::new(Int32Array::from(vec![None]))),
    ]);
    let expected = r#"{"id":18446744073709551615,"amount":1701411834604692317316873037.1588410572,"at":"1969-12-31T23:59:59.999999999+00:00","day":"1970-01-01","nan":"NaN","half":0.5,"bytes":"\\x00ff","none":null}"#;
    assert_eq!(line, expected);
}

#[test]
fn names_and_texts_are_escaped() {
    let line = row(vec![("a\"\n", Arc::new(StringArray::from(vec!["\\ \u{1}\u{1f}\t€"])))]);
    assert_eq!(line, "{\"a\\\"\\n\":\"\\\\ \\u0001\\u001f\\t€\"}");
}

#[test]
fn nested_values_and_extensions_are_what_they_mean() {
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>([
        Some(vec![Some(1), None]),
    ]));
    let uuid: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter([[7_u8; 16]].into_iter()).unwrap());
    let document: ArrayRef = Arc::new(StringArray::from(vec!["{\"k\":\n[1.50]}"]));
    let broken: ArrayRef = Arc::new(StringArray::from(vec!["{\"k\""]));
    let json = |name: &str| with_extension("arrow.json", Field::new(name, DataType::Utf8, true));
    let fields: Fields = vec![
        field(&list).with_name("list"),
        with_extension("arrow.uuid", field(&uuid).with_name("uuid")),
        json("document"),
        json("broken"),
    ]
    .into();
    let columns: ArrayRef = Arc::new(StructArray::new(fields, vec![list, uuid, document, broken], None));
    let expected = r#"{"s":{"list":[1,null],"uuid":"07070707-0707-0707-0707-070707070707","document":{"k": [1.50]},"broken":"{\"k\""}}"#;
    assert_eq!(row(vec![("s", columns)]), expected);
}

proptest! {
    #[test]
    fn every_row_is_one_line_of_json(seeds in seeds(1..20)) {
        let columns = scalars(&seeds);
        let names: Vec<String> = (0..columns.len()).map(|index| format!("c{index}")).collect();
        let fields: Vec<Field> =
            columns.iter().zip(&names).map(|(column, name)| field(column).with_name(name)).collect();
        let schema = Schema::new(fields);
        for (row, seed) in seeds.iter().enumerate() {
            let mut out = Vec::new();
            json_row(&schema, &columns, row, &mut out);
            let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
            let object = value.as_object().unwrap();
            prop_assert_eq!(object.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
            prop_assert!(!out.contains(&b'\n'));
            // A 64-bit integer is read back exactly.
            prop_assert_eq!(object["c5"].as_i64(), *seed);
        }
    }
}
