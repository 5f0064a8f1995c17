//! Lists, structs and maps into arrays, composite types, vectors, hstore and json.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
use arrow_array::types::{Float32Type, Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float64Array, Int32Array, ListArray, StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use howdah_encode::arrow::ArrowCodec;
use howdah_encode::{CompositeField, NotEncoded, TypeShape};
use howdah_testkit::arrays::{lists, scalars, seeds};
use proptest::prelude::*;

use super::oracle::{LOOSE, STRICT, codec, compare, field, literal};

fn base(oid: u32) -> TypeShape {
    TypeShape::Base { oid }
}

fn array_of(oid: u32) -> TypeShape {
    TypeShape::Array { element_oid: oid, delimiter: b',', element: Box::new(base(oid)) }
}

fn text(array: &dyn Array, shape: &TypeShape) -> Result<String, (String, String)> {
    literal(&field(array), array, shape, -1, STRICT)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn a_nested_field_is_what_the_codec_of_its_literal_makes(seeds in seeds(1..20)) {
        let shapes = [
            array_of(20),
            array_of(701),
            array_of(25),
            array_of(17),
            array_of(1114),
            array_of(1700),
            array_of(1186),
            array_of(3802),
            base(3802),
            TypeShape::Vector,
        ];
        for items in scalars(&seeds) {
            for list in lists(&items) {
                for shape in &shapes {
                    for allowed in [STRICT, LOOSE] {
                        compare(&field(&list), &list, shape, -1, allowed);
                    }
                }
                for list in lists(&list) {
                    for shape in &shapes[..4] {
                        compare(&field(&list), &list, shape, -1, STRICT);
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_is_what_the_codec_of_its_literal_makes(seeds in seeds(1..20)) {
        let columns = scalars(&seeds);
        let (numbers, texts) = (&columns[4], &columns[33]);
        let fields: Fields = vec![
            Field::new("a", numbers.data_type().clone(), true),
            Field::new("b", texts.data_type().clone(), true),
        ]
        .into();
        let rows: ArrayRef =
            Arc::new(StructArray::new(fields, vec![Arc::clone(numbers), Arc::clone(texts)], None));
        let column = |oid| CompositeField { name: String::new(), oid, typmod: -1, shape: base(oid) };
        for second in [25, 1114, 1043] {
            let shape = TypeShape::Composite { fields: vec![column(23), column(second)] };
            compare(&field(&rows), &rows, &shape, -1, STRICT).unwrap();
            let shape = TypeShape::Array { element_oid: 7, delimiter: b',', element: Box::new(shape) };
            for list in lists(&rows) {
                compare(&field(&list), &list, &shape, -1, STRICT).unwrap();
            }
        }
        compare(&field(&rows), &rows, &base(3802), -1, STRICT).unwrap();
    }
}

fn list_of(items: ArrayRef, lengths: &[usize], nulls: Option<Vec<bool>>) -> ListArray {
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    ListArray::new(Arc::new(field(&items)), offsets, items, nulls.map(NullBuffer::from))
}

#[test]
fn lists_become_arrays_with_their_nulls_and_quotes() {
    let list = list_of(Arc::new(Int32Array::from(vec![Some(1), None, Some(-3)])), &[3], None);
    assert_eq!(text(&list, &array_of(23)), Ok("{1,NULL,-3}".to_owned()));
    let empty = list_of(Arc::new(Int32Array::from(vec![1])), &[0], None);
    assert_eq!(text(&empty, &array_of(23)), Ok("{}".to_owned()));
    let words = StringArray::from(vec!["a b", "", "null", "\"\\", "plain", "{,}"]);
    let words = list_of(Arc::new(words), &[6], None);
    let expected = r#"{"a b","","null","\"\\",plain,"{,}"}"#;
    assert_eq!(text(&words, &array_of(25)), Ok(expected.to_owned()));
}

#[test]
fn dimensions_must_be_rectangular_and_there() {
    let numbers = || Arc::new(Int32Array::from_iter_values(0..6));
    let nested = |lengths: &[usize], nulls, outer: usize| {
        list_of(Arc::new(list_of(numbers(), lengths, nulls)), &[outer], None)
    };
    assert_eq!(text(&nested(&[3, 3], None, 2), &array_of(23)), Ok("{{0,1,2},{3,4,5}}".to_owned()));
    assert_eq!(text(&nested(&[0, 0], None, 2), &array_of(23)), Ok("{}".to_owned()));
    assert_eq!(text(&nested(&[1, 2], None, 2), &array_of(23)).unwrap_err().0, "2202E");
    assert_eq!(text(&nested(&[1, 0], None, 2), &array_of(23)).unwrap_err().0, "2202E");
    assert_eq!(text(&nested(&[3, 3], Some(vec![true, false]), 2), &array_of(23)).unwrap_err().0, "22004");
    let (codec, _) = codec(&field(&nested(&[3, 3], None, 2)), &array_of(23), -1, STRICT).unwrap();
    let list = nested(&[3, 3], None, 2);
    let mut out = Vec::new();
    codec.bind(&list).unwrap().put(0, &mut out).unwrap();
    assert_eq!(out[4..8], [0, 0, 0, 2]);
    assert_eq!(out[16..32], [0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 1]);
    let mut deep: ArrayRef = numbers();
    for _ in 0..7 {
        deep = Arc::new(list_of(deep, &[1], None));
    }
    let no_mapping = super::oracle::codec(&field(&deep), &array_of(23), -1, STRICT).unwrap_err();
    assert_eq!(no_mapping.reason, "number of array dimensions (7) exceeds the maximum allowed (6)");
}

#[test]
fn a_domain_refuses_null_among_its_elements() {
    let element =
        TypeShape::Domain { name: "given".to_owned(), over: Box::new(base(23)), typmod: -1, not_null: true };
    let shape = TypeShape::Array { element_oid: 7, delimiter: b',', element: Box::new(element) };
    let list = list_of(Arc::new(Int32Array::from(vec![Some(1), None])), &[2], None);
    let expected = ("23502".to_owned(), "domain given does not allow null values".to_owned());
    assert_eq!(text(&list, &shape), Err(expected));
}

#[test]
fn vectors_are_of_their_columns_length_and_finite() {
    let numbers = |numbers: Vec<f32>| {
        FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
            [Some(numbers.iter().copied().map(Some).collect::<Vec<_>>())],
            numbers.len() as i32,
        )
    };
    let vector = |array: &dyn Array, typmod| {
        literal(&field(array), array, &TypeShape::Vector, typmod, STRICT).map_err(|refusal| refusal.1)
    };
    assert_eq!(vector(&numbers(vec![1.0, -2.5]), 2), Ok("[1,-2.5]".to_owned()));
    assert_eq!(vector(&numbers(vec![1.0]), 2), Err("expected 2 dimensions, not 1".to_owned()));
    assert_eq!(vector(&numbers(vec![f32::NAN]), -1), Err("NaN not allowed in vector".to_owned()));
    let double = |number| ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![Some(number)])]);
    assert_eq!(vector(&double(0.5), -1), Ok("[0.5]".to_owned()));
    assert!(vector(&double(0.1), -1).unwrap_err().starts_with("0.1 is not exactly a real"));
    let with_null = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None])]);
    assert_eq!(vector(&with_null, -1), Err("array must not contain nulls".to_owned()));
}

#[test]
fn maps_become_hstore_or_json() {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    maps.keys().append_value("a \"b\"");
    maps.values().append_value(1);
    maps.keys().append_value("");
    maps.values().append_null();
    maps.append(true).unwrap();
    let maps = maps.finish();
    let hstore = literal(&field(&maps), &maps, &TypeShape::Hstore, -1, STRICT);
    assert_eq!(hstore, Ok(r#""a \"b\""=>"1",""=>NULL"#.to_owned()));
    let array: ArrayRef = Arc::new(maps.clone());
    assert_eq!(compare(&field(&maps), &array, &TypeShape::Hstore, -1, STRICT), Some((1, 0)));
    assert_eq!(text(&maps, &base(3802)), Ok(r#"{"a \"b\"":1,"":null}"#.to_owned()));
}

#[test]
fn structs_go_by_position_and_need_all_columns() {
    let fields: Fields =
        vec![Field::new("x", DataType::Int32, true), Field::new("y", DataType::Utf8, true)].into();
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int32Array::from(vec![None])), Arc::new(StringArray::from(vec!["a \"b\""]))];
    let rows = StructArray::new(fields, columns, None);
    let column = |oid| CompositeField { name: String::new(), oid, typmod: -1, shape: base(oid) };
    let pair = TypeShape::Composite { fields: vec![column(23), column(25)] };
    assert_eq!(text(&rows, &pair), Ok(r#"(,"a ""b""")"#.to_owned()));
    let single = TypeShape::Composite { fields: vec![column(23)] };
    let no_mapping = codec(&field(&rows), &single, -1, STRICT).unwrap_err();
    assert_eq!(no_mapping.reason, "the struct has 2 fields, the type has 1");
    let dates = TypeShape::Composite { fields: vec![column(1082), column(25)] };
    let no_mapping = codec(&field(&rows), &dates, -1, STRICT).unwrap_err();
    let expected = "the field x: Arrow's Int32 has no exact value in column 1 of the type";
    assert_eq!(no_mapping.reason, expected);
}

#[test]
fn parts_that_only_the_server_reads_have_literals() {
    let list = list_of(Arc::new(StringArray::from(vec!["fat & rat"])), &[1], None);
    let shape = array_of(3615);
    let codec = ArrowCodec::of(&field(&list), &shape, -1, "tsquery[]", None, STRICT).unwrap();
    let column = codec.bind(&list).unwrap();
    let mut out = Vec::new();
    assert_eq!(column.put(0, &mut out), Err(NotEncoded::Unsure));
    assert!(out.is_empty());
    column.literal(0, &mut out).unwrap();
    assert_eq!(out, br#"{"fat & rat"}"#);
    let doubles = list_of(Arc::new(Float64Array::from(vec![0.5])), &[1], None);
    assert!(ArrowCodec::of(&field(&doubles), &base(25), -1, "text", None, STRICT).is_err());
}
