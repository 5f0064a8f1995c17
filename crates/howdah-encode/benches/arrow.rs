//! Nanoseconds per value of each pair of types: `cargo bench -p howdah-encode --features arrow --bench arrow`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a program for people, with values of its own"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::types::{Decimal128Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, ListArray, PrimitiveArray,
    StringArray, StringViewArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow_schema::Field;
use howdah_encode::arrow::{Allowed, ArrowCodec};
use howdah_encode::{SessionRules, TextCodec, TypeShape};

/// Rows of a batch: as many as leave the caches.
const ROWS: usize = 50_000;
const ROUNDS: usize = 51;

fn main() {
    let numbers: Vec<i64> = (0..ROWS as i64).map(|row| row * 7_919 % 1_000_000).collect();
    let int = |number: &i64| *number as i32;
    let doubles = || Arc::new(Float64Array::from_iter_values(numbers.iter().map(|&n| n as f64 / 1000.0)));
    let texts = || numbers.iter().map(|number| Some(format!("truck_{}", number % 4000)));
    let moments = numbers.iter().map(|number| (1_700_000_000 + number) * 1_000_000);
    let moments = TimestampMicrosecondArray::from_iter_values(moments).with_timezone("UTC");
    let nanos = TimestampNanosecondArray::from_iter_values(moments.values().iter().map(|&m| m * 1000));
    let dictionary = DictionaryArray::<Int32Type>::new(
        numbers.iter().map(|number| (number % 4000) as i32).collect(),
        Arc::new(StringArray::from_iter_values((0..4000).map(|n| format!("truck_{n}")))),
    );
    let decimals = PrimitiveArray::<Decimal128Type>::from_iter_values(numbers.iter().map(|&n| n.into()));
    let lists = numbers.iter().map(|n| Some(vec![Some(int(n)); 8]));
    let dates: StringArray = (0..ROWS).map(|row| Some(format!("2024-01-{:02}", row % 28 + 1))).collect();
    let cases: [(&str, ArrayRef, u32); 12] = [
        ("int32 → integer", Arc::new(numbers.iter().map(|n| Some(int(n))).collect::<Int32Array>()), 23),
        ("int64 → bigint", Arc::new(Int64Array::from(numbers.clone())), 20),
        ("int64 → smallint", Arc::new(numbers.iter().map(|n| Some(n % 9999)).collect::<Int64Array>()), 21),
        ("float64 → double precision", doubles(), 701),
        ("float64 → numeric", doubles(), 1700),
        ("timestamp[us] → timestamptz", Arc::new(moments), 1184),
        ("timestamp[ns] → timestamp", Arc::new(nanos), 1114),
        ("utf8 → text", Arc::new(texts().collect::<StringArray>()), 25),
        ("utf8 view → text", Arc::new(texts().collect::<StringViewArray>()), 25),
        ("dictionary → text", Arc::new(dictionary), 25),
        ("utf8 → date", Arc::new(dates), 1082),
        ("decimal128(38,10) → numeric", Arc::new(decimals), 1700),
    ];
    for (name, array, oid) in cases {
        println!("{name:28} {:6.2} ns/value", measure(&array, &TypeShape::Base { oid }));
    }
    let element = Box::new(TypeShape::Base { oid: 23 });
    let shape = TypeShape::Array { element_oid: 23, delimiter: b',', element };
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
    println!("{:28} {:6.2} ns/value", "list of 8 int32 → integer[]", measure(&lists, &shape));
}

/// Median over the rounds.
fn measure(array: &ArrayRef, shape: &TypeShape) -> f64 {
    let rules = SessionRules::from_settings("UTC", "ISO, MDY", "postgres", "C");
    let text = TextCodec::of(shape, -1, &rules).unwrap();
    let field = Field::new("c", array.data_type().clone(), true);
    let codec = ArrowCodec::of(&field, shape, -1, "c", Some(&text), Allowed::default()).unwrap();
    let mut out = Vec::new();
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            out.clear();
            let begun = Instant::now();
            let column = codec.bind(array).unwrap();
            for row in 0..array.len() {
                assert!(!column.is_null(row));
                assert!(black_box(&column).put(row, &mut out).is_ok());
            }
            black_box(&out);
            begun.elapsed().as_secs_f64() * 1e9 / ROWS as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}
