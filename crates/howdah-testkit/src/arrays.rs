//! Random Arrow arrays: values of every type, behind dictionaries and runs, in lists, structs and maps.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "numbers of every size out of one, and arrays of a few values"
)]

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType,
    IntervalMonthDayNanoType, IntervalYearMonthType, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray,
    FixedSizeListArray, Int16Array, Int32Array, LargeBinaryArray, LargeListArray, LargeListViewArray,
    LargeStringArray, ListArray, ListViewArray, MapArray, NullArray, PrimitiveArray, RunArray, StringArray,
    StringViewArray, StructArray,
};
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{Field, Fields};
use half::f16;
use proptest::prelude::*;

/// Numbers, each of which becomes a value of every type; `None` is NULL.
pub type Seeds = [Option<i64>];

fn primitive<T: ArrowPrimitiveType>(seeds: &Seeds, of: impl Fn(i64) -> T::Native) -> PrimitiveArray<T> {
    let mut values = PrimitiveArray::<T>::builder(seeds.len());
    seeds.iter().for_each(|seed| values.append_option(seed.map(&of)));
    values.finish()
}

/// A float out of a number: sometimes whole, sometimes any bits.
fn float(seed: i64) -> f64 {
    match seed % 4 {
        0 => seed as f64,
        1 => (seed % 100_000) as f64 / 1000.0,
        2 => (seed % 1000) as f64,
        _ => f64::from_bits(seed as u64),
    }
}

/// A text out of a number: of some types, or of none.
fn text(seed: i64) -> String {
    match seed.rem_euclid(8) {
        0 => seed.to_string(),
        1 => format!("{}.{:02}", seed / 7, seed.rem_euclid(100)),
        2 => "2024-02-29".to_owned(),
        3 => format!("2024-02-29 12:34:56.{}", seed.rem_euclid(1_000_000)),
        4 => "true".to_owned(),
        5 => format!("a0eebc99-9c0b-4ef8-bb6d-{:012x}", seed.rem_euclid(1 << 48)),
        6 => "it\\'s \"é\"".to_owned(),
        _ => format!("nul {}\0", seed),
    }
}

/// An array of every type that holds one value, and decimals of several scales.
pub fn scalars(seeds: &Seeds) -> Vec<ArrayRef> {
    let in_day = |seed: i64, counts: i64| seed.rem_euclid(counts + counts / 50) - counts / 100;
    let texts: Vec<Option<String>> = seeds.iter().map(|seed| seed.map(text)).collect();
    let bytes: Vec<Option<&[u8]>> = texts.iter().map(|text| text.as_deref().map(str::as_bytes)).collect();
    let sixteen = seeds.iter().map(|seed| seed.map(|seed| [seed.to_le_bytes(), seed.to_be_bytes()].concat()));
    let local = primitive::<TimestampMicrosecondType>(seeds, |s| s);
    let mut arrays: Vec<ArrayRef> = vec![
        Arc::new(NullArray::new(seeds.len())),
        Arc::new(BooleanArray::from(seeds.iter().map(|s| s.map(|s| s % 2 == 0)).collect::<Vec<_>>())),
        Arc::new(primitive::<Int8Type>(seeds, |s| s as i8)),
        Arc::new(primitive::<Int16Type>(seeds, |s| s as i16)),
        Arc::new(primitive::<Int32Type>(seeds, |s| s as i32)),
        Arc::new(primitive::<Int64Type>(seeds, |s| s)),
        Arc::new(primitive::<UInt8Type>(seeds, |s| s as u8)),
        Arc::new(primitive::<UInt16Type>(seeds, |s| s as u16)),
        Arc::new(primitive::<UInt32Type>(seeds, |s| s as u32)),
        Arc::new(primitive::<UInt64Type>(seeds, |s| s as u64)),
        Arc::new(primitive::<Float16Type>(seeds, |s| f16::from_bits(s as u16))),
        Arc::new(primitive::<Float32Type>(seeds, |s| float(s) as f32)),
        Arc::new(primitive::<Float64Type>(seeds, float)),
        Arc::new(primitive::<Date32Type>(seeds, |s| s as i32)),
        Arc::new(primitive::<Date64Type>(seeds, |s| if s % 3 == 0 { s } else { s % 90_000 * 86_400_000 })),
        Arc::new(primitive::<Time32SecondType>(seeds, |s| in_day(s, 86_400) as i32)),
        Arc::new(primitive::<Time32MillisecondType>(seeds, |s| in_day(s, 86_400_000) as i32)),
        Arc::new(primitive::<Time64MicrosecondType>(seeds, |s| in_day(s, 86_400_000_000))),
        Arc::new(primitive::<Time64NanosecondType>(seeds, |s| in_day(s, 86_400_000_000_000))),
        Arc::new(primitive::<TimestampSecondType>(seeds, |s| s)),
        Arc::new(primitive::<TimestampMillisecondType>(seeds, |s| s)),
        Arc::new(local.clone()),
        Arc::new(primitive::<TimestampNanosecondType>(seeds, |s| s)),
        Arc::new(local.with_timezone("Asia/Tokyo")),
        Arc::new(primitive::<TimestampSecondType>(seeds, |s| s >> 20).with_timezone("+05:00")),
        Arc::new(primitive::<TimestampNanosecondType>(seeds, |s| s / 1000 * 1000).with_timezone("UTC")),
        Arc::new(primitive::<DurationSecondType>(seeds, |s| s)),
        Arc::new(primitive::<DurationMillisecondType>(seeds, |s| s)),
        Arc::new(primitive::<DurationMicrosecondType>(seeds, |s| s)),
        Arc::new(primitive::<DurationNanosecondType>(seeds, |s| s)),
        Arc::new(primitive::<IntervalYearMonthType>(seeds, |s| s as i32)),
        Arc::new(primitive::<IntervalDayTimeType>(seeds, |s| {
            IntervalDayTime::new(s as i32, (s >> 32) as i32)
        })),
        Arc::new(primitive::<IntervalMonthDayNanoType>(seeds, |s| {
            IntervalMonthDayNano::new(s as i32, (s >> 32) as i32, s / 1000 * 1000)
        })),
        Arc::new(StringArray::from(texts.clone())),
        Arc::new(LargeStringArray::from(texts.clone())),
        Arc::new(StringViewArray::from_iter(texts.clone())),
        Arc::new(BinaryArray::from(bytes.clone())),
        Arc::new(LargeBinaryArray::from(bytes.clone())),
        Arc::new(BinaryViewArray::from_iter(bytes)),
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(sixteen, 16).unwrap()),
    ];
    let decimals = |precision, scale| -> Vec<ArrayRef> {
        let digits = |precision: u32| 10_i64.pow(precision.min(18));
        let wide = |s: i64| i256::from_i128(i128::from(s) * i128::from(s)) * i256::from_i128(s.into());
        vec![
            Arc::new(
                primitive::<Decimal32Type>(seeds, |s| (s % digits(9)) as i32)
                    .with_precision_and_scale(9, scale)
                    .unwrap(),
            ),
            Arc::new(
                primitive::<Decimal64Type>(seeds, |s| s % digits(18))
                    .with_precision_and_scale(18, scale)
                    .unwrap(),
            ),
            Arc::new(
                primitive::<Decimal128Type>(seeds, |s| i128::from(s) << 20)
                    .with_precision_and_scale(precision, scale)
                    .unwrap(),
            ),
            Arc::new(primitive::<Decimal256Type>(seeds, wide).with_precision_and_scale(76, scale).unwrap()),
        ]
    };
    for (precision, scale) in [(38, 0), (15, 2), (38, 9), (20, -3)] {
        arrays.extend(decimals(precision, scale));
    }
    arrays
}

/// Numbers of every size, and those at which something changes.
pub fn seeds(count: Range<usize>) -> impl Strategy<Value = Vec<Option<i64>>> {
    let number = prop_oneof![
        any::<i64>(),
        any::<(i64, u32)>().prop_map(|(number, bits)| number >> (bits % 64)),
        -1000_i64..1000,
        (0_u32..63, -2_i64..3).prop_map(|(bits, by)| (1_i64 << bits).wrapping_add(by)),
        // Around now in every unit.
        (0_u32..4, -1_i64 << 40..1 << 40)
            .prop_map(|(unit, by)| (1_700_000_000 + by / 1000) * 1000_i64.pow(unit) + by % 1000),
    ];
    prop::collection::vec(prop::option::weighted(0.9, number), count)
}

/// The array behind a dictionary in which keys and values can be NULL, and behind runs; twice as long.
pub fn behind(array: &ArrayRef) -> [ArrayRef; 2] {
    let length = array.len() as i32;
    let keys =
        (0..2 * length).map(|key| (key % 5 != 4).then_some((key * 7) % length)).collect::<Int32Array>();
    let ends = Int16Array::from_iter_values((1..=array.len()).map(|run| 2 * run as i16));
    [
        Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::clone(array))),
        Arc::new(RunArray::<Int16Type>::try_new(&ends, array).unwrap()),
    ]
}

/// Every layout of lists with the items of `items`, in lists of two; every third list is NULL.
pub fn lists(items: &ArrayRef) -> Vec<ArrayRef> {
    let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    let count = items.len() / 2;
    let nulls = || Some(NullBuffer::from_iter((0..count).map(|row| row % 3 != 2)));
    let offsets = || OffsetBuffer::<i32>::from_lengths(std::iter::repeat_n(2, count));
    let large = OffsetBuffer::<i64>::from_lengths(std::iter::repeat_n(2, count));
    let starts = || (0..count).map(|row| 2 * (count - 1 - row));
    let paired = items.slice(0, 2 * count);
    let list = ListArray::new(Arc::clone(&item), offsets(), Arc::clone(items), nulls());
    vec![
        Arc::new(list.slice(count / 2, count - count / 2)),
        Arc::new(LargeListArray::new(Arc::clone(&item), large, Arc::clone(items), nulls())),
        Arc::new(FixedSizeListArray::new(Arc::clone(&item), 2, paired, nulls())),
        Arc::new(ListViewArray::new(
            Arc::clone(&item),
            starts().map(|start| start as i32).collect::<ScalarBuffer<i32>>(),
            std::iter::repeat_n(2, count).collect::<ScalarBuffer<i32>>(),
            Arc::clone(items),
            nulls(),
        )),
        Arc::new(LargeListViewArray::new(
            item,
            starts().map(|start| start as i64).collect::<ScalarBuffer<i64>>(),
            std::iter::repeat_n(2, count).collect::<ScalarBuffer<i64>>(),
            Arc::clone(items),
            nulls(),
        )),
    ]
}

/// The columns side by side, which are equally long; every fifth row is NULL as a whole.
pub fn structs(columns: &[ArrayRef]) -> StructArray {
    let field =
        |(at, column): (usize, &ArrayRef)| Field::new(format!("f{at}"), column.data_type().clone(), true);
    let fields: Fields = columns.iter().enumerate().map(field).collect();
    let rows = columns.first().map_or(0, |column| column.len());
    let nulls = NullBuffer::from_iter((0..rows).map(|row| row % 5 != 4));
    StructArray::new(fields, columns.to_vec(), Some(nulls))
}

/// Maps of no entries up to three from texts to numbers.
pub fn maps(seeds: &Seeds) -> MapArray {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for (row, seed) in seeds.iter().enumerate() {
        let entries = seeds.iter().cycle().skip(row).take(seed.map_or(0, |seed| seed.rem_euclid(4) as usize));
        for (at, value) in entries.enumerate() {
            maps.keys().append_value(format!("{at} \"{}\"", text(seed.unwrap_or_default())));
            maps.values().append_option(value.map(|value| value as i32));
        }
        maps.append(seed.is_some()).unwrap();
    }
    maps.finish()
}
