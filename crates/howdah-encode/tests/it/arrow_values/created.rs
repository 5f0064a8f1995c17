//! The types of new tables' columns, and that they take what they were made for.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};
use howdah_encode::arrow::created_type;

fn created(data_type: DataType) -> String {
    created_type(&Field::new("c", data_type, true)).unwrap()
}

fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

#[test]
fn a_new_column_holds_all_of_its_arrow_type() {
    let utf8 = || Arc::new(Field::new("a", DataType::Utf8, true));
    let fields = Fields::from(vec![utf8()]);
    for (data_type, name) in [
        (DataType::Null, "text"),
        (DataType::Boolean, "boolean"),
        (DataType::Int8, "smallint"),
        (DataType::UInt8, "smallint"),
        (DataType::UInt16, "integer"),
        (DataType::UInt32, "bigint"),
        (DataType::Int64, "bigint"),
        (DataType::UInt64, "numeric(20,0)"),
        (DataType::Float16, "real"),
        (DataType::Float64, "double precision"),
        (DataType::Decimal128(10, 2), "numeric(10,2)"),
        (DataType::Decimal32(3, 5), "numeric(3,5)"),
        (DataType::Decimal256(5, -3), "numeric(8,0)"),
        (DataType::Utf8View, "text"),
        (DataType::LargeBinary, "bytea"),
        (DataType::FixedSizeBinary(16), "bytea"),
        (DataType::Date64, "date"),
        (DataType::Time64(TimeUnit::Nanosecond), "time"),
        (DataType::Timestamp(TimeUnit::Second, None), "timestamp"),
        (DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), "timestamptz"),
        (DataType::Duration(TimeUnit::Second), "interval"),
        (DataType::Interval(IntervalUnit::MonthDayNano), "interval"),
        (list(DataType::Int32), "integer[]"),
        (list(list(DataType::Float32)), "real[]"),
        (DataType::FixedSizeList(utf8(), 3), "text[]"),
        (DataType::Struct(fields.clone()), "jsonb"),
        (list(DataType::Struct(fields)), "jsonb[]"),
        (DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)), "text"),
    ] {
        assert_eq!(created(data_type.clone()), name, "{data_type}");
    }
}

#[test]
fn extensions_say_what_a_type_is() {
    let with = |name: &str, data_type| {
        let key = "ARROW:extension:name".to_owned();
        let field = Field::new("c", data_type, true);
        created_type(&field.with_metadata(HashMap::from([(key, name.to_owned())]))).unwrap()
    };
    assert_eq!(with("arrow.uuid", DataType::FixedSizeBinary(16)), "uuid");
    assert_eq!(with("arrow.json", DataType::LargeUtf8), "jsonb");
    assert_eq!(with("else.where", DataType::Utf8), "text");
}

#[test]
fn a_union_has_no_type_wherever_it_is() {
    let union = DataType::Union(UnionFields::empty(), UnionMode::Dense);
    let within = DataType::Struct(vec![Field::new("u", list(union.clone()), true)].into());
    for data_type in [union.clone(), list(union), within] {
        let refusal = created_type(&Field::new("c", data_type, true)).unwrap_err();
        assert!(refusal.reason.ends_with("has no counterpart in PostgreSQL"), "{refusal}");
    }
}
