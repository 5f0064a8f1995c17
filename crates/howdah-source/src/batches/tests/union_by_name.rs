use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int32Array, LargeStringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field, TimeUnit};

use super::*;
use crate::batches::union_by_name::widen;

fn file(name: &str, columns: Vec<(&str, ArrayRef)>) -> Input {
    memory(name, &grouped(&batch(columns), 1000))
}

fn int64(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn int32(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn text(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn columns_unite_by_name_and_what_a_file_lacks_is_null() {
    let progress = Progress::new();
    let inputs = [
        file("a", vec![("id", int32(&[1, 2])), ("Name", text(&["x", "y"]))]),
        file("b", vec![("name", text(&["z"])), ("id", int64(&[1 << 40])), ("extra", text(&["e"]))]),
    ];
    let batches = Batches::open(&inputs, options(BatchFormat::Parquet), &progress).unwrap();
    let names: Vec<_> =
        batches.schema().fields().iter().map(|f| (f.name().as_str(), f.data_type().clone())).collect();
    assert_eq!(names, [("id", DataType::Int64), ("Name", DataType::Utf8), ("extra", DataType::Utf8)]);
    let taken = take(&batches, 2).unwrap();
    assert_eq!(texts(&taken, "id"), ["1", "2", "1099511627776"]);
    assert_eq!(texts(&taken, "Name"), ["x", "y", "z"]);
    assert_eq!(texts(&taken, "extra"), ["", "", "e"]);
    assert!(taken.iter().all(|batch| batch.rows.schema() == taken[0].rows.schema()));
    assert_eq!(
        progress.take_notices(),
        ["column id: Int32 in a, read as Int64", "a has no extra: NULL in its rows"]
    );
}

#[test]
fn types_without_a_common_one_name_both_files() {
    let inputs = [
        file("a", vec![("id", int32(&[1])), ("day", int32(&[1]))]),
        file("b", vec![("id", int32(&[1])), ("day", text(&["monday"]))]),
    ];
    let error = open(&inputs, BatchFormat::Parquet).err().unwrap();
    assert_eq!(error.to_string(), "column \"day\": it is Int32 in a and Utf8 in b");
    assert!(error.hint().is_some());
}

#[test]
fn files_of_other_tables_and_names_that_come_twice_are_refused() {
    let one = file("a", vec![("id", int32(&[1]))]);
    let other = file("b", vec![("x", int32(&[1]))]);
    let message = open(&[one.clone(), other], BatchFormat::Parquet).err().unwrap().to_string();
    assert_eq!(message, "b has none of the columns of a");
    let twice = file("c", vec![("id", int32(&[1])), ("id", int32(&[2]))]);
    let message = open(&[one, twice.clone()], BatchFormat::Parquet).err().unwrap().to_string();
    assert!(message.contains("c has two columns \"id\""), "{message}");
    assert_eq!(take(&open(&[twice], BatchFormat::Parquet).unwrap(), 1).unwrap()[0].rows.num_columns(), 2);
}

#[test]
fn two_inputs_of_one_name_keep_their_own_columns() {
    let inputs = [
        file("x", vec![("id", int32(&[1])), ("a", text(&["a"]))]),
        file("x", vec![("b", text(&["b"])), ("id", int32(&[2]))]),
    ];
    let taken = take(&open(&inputs, BatchFormat::Parquet).unwrap(), 1).unwrap();
    assert_eq!(texts(&taken, "id"), ["1", "2"]);
    assert_eq!(texts(&taken, "a"), ["a", ""]);
    assert_eq!(texts(&taken, "b"), ["", "b"]);
}

#[test]
fn a_value_is_the_same_in_the_wider_type() {
    let pairs: Vec<(ArrayRef, ArrayRef, DataType, [&str; 2])> = vec![
        (
            Arc::new(Float32Array::from(vec![0.1])),
            Arc::new(Float64Array::from(vec![0.1])),
            DataType::Float64,
            ["0.10000000149011612", "0.1"],
        ),
        (text(&["a"]), Arc::new(LargeStringArray::from(vec!["b"])), DataType::LargeUtf8, ["a", "b"]),
        (Arc::new(DictionaryArray::<Int32Type>::from_iter(["d"])), text(&["e"]), DataType::Utf8, ["d", "e"]),
        (
            Arc::new(Decimal128Array::from(vec![12_345]).with_precision_and_scale(10, 2).unwrap()),
            Arc::new(Decimal128Array::from(vec![12_345]).with_precision_and_scale(38, 4).unwrap()),
            DataType::Decimal128(38, 4),
            ["123.4500", "1.2345"],
        ),
        (
            Arc::new(TimestampMillisecondArray::from(vec![1])),
            Arc::new(TimestampMicrosecondArray::from(vec![1])),
            DataType::Timestamp(TimeUnit::Microsecond, None),
            ["1970-01-01T00:00:00.001", "1970-01-01T00:00:00.000001"],
        ),
    ];
    for (one, other, kind, expected) in pairs {
        let arrays = [("a", one), ("b", other)];
        let inputs = arrays
            .map(|(name, array)| memory(name, &arrow_file(&[batch(vec![("v", array)])], Default::default())));
        let batches = open(&inputs, BatchFormat::Arrow).unwrap();
        assert_eq!(*batches.schema().field(0).data_type(), kind);
        assert_eq!(texts(&take(&batches, 1).unwrap(), "v"), expected);
    }
}

#[test]
fn types_widen_the_same_way_round_and_never_to_what_loses_digits() {
    use DataType::{
        Date32, Decimal32, Decimal128, Decimal256, Float32, Int8, Int16, Int32, Int64, List, UInt8, UInt32,
        UInt64, Utf8,
    };
    let instant = |zone: &str| DataType::Timestamp(TimeUnit::Second, Some(zone.into()));
    let local = DataType::Timestamp(TimeUnit::Second, None);
    let list = |kind, nullable| List(Arc::new(Field::new("item", kind, nullable)));
    for (one, other, expected) in [
        (Int8, Int32, Some(Int32)),
        (UInt8, Int8, Some(Int16)),
        (UInt32, Int32, Some(Int64)),
        (UInt64, Int8, None),
        (UInt64, UInt8, Some(UInt64)),
        (Int32, Float32, None),
        (Int32, Utf8, None),
        (Date32, Utf8, None),
        (Utf8, DataType::Null, Some(Utf8)),
        (Decimal32(9, 0), Decimal32(9, 9), Some(DataType::Decimal64(18, 9))),
        (Decimal128(38, 0), Decimal128(38, 38), Some(Decimal256(76, 38))),
        (Decimal256(76, 0), Decimal128(38, 38), None),
        (instant("UTC"), local, None),
        (list(Int32, false), list(Int64, true), Some(list(Int64, true))),
        (list(Int32, false), Int32, None),
    ] {
        assert_eq!(widen(&one, &other), expected, "{one} and {other}");
        assert_eq!(widen(&other, &one), expected, "{other} and {one}");
    }
    assert!(widen(&instant("UTC"), &instant("+02:00")).is_some());
}

#[test]
fn directories_become_columns_that_the_files_lack() {
    let inputs = [
        file("t/year=2024/city=S%C3%A3o/a.parquet", vec![("id", int32(&[1, 2]))]),
        file("t/year=__HIVE_DEFAULT_PARTITION__/a.parquet", vec![("id", int32(&[3]))]),
    ];
    let batches = open(&inputs, BatchFormat::Parquet).unwrap();
    let taken = take(&batches, 1).unwrap();
    assert_eq!(texts(&taken, "id"), ["1", "2", "3"]);
    assert_eq!(texts(&taken, "year"), ["2024", "2024", ""]);
    assert_eq!(texts(&taken, "city"), ["São", "São", ""]);
    let off = BatchOptions { hive: false, ..options(BatchFormat::Parquet) };
    let batches = Batches::open(&inputs, off, &Progress::new()).unwrap();
    assert_eq!(batches.schema().fields().len(), 1);
}

#[test]
fn a_column_of_the_file_is_not_replaced_by_its_directory() {
    let progress = Progress::new();
    let days = Arc::new(Date32Array::from(vec![0]));
    let input = file("t/day=1999-01-01/id=7/a.parquet", vec![("day", days)]);
    let mut batches = Batches::open(&[input], options(BatchFormat::Parquet), &progress).unwrap();
    assert!(progress.take_notices()[0].contains("column day is in the files"));
    batches.project(&[1]);
    assert_eq!(texts(&take(&batches, 1).unwrap(), "id"), ["7"]);
}
