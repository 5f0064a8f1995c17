//! Limits, epochs, losses and refusals, each value by hand.

use std::sync::Arc;

use arrow_array::types::{Decimal128Type, Decimal256Type};
use arrow_array::{
    Array, BinaryArray, Date32Array, Date64Array, DictionaryArray, DurationNanosecondArray,
    FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array, PrimitiveArray, StringArray,
    Time64NanosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray,
    UInt64Array,
};
use arrow_buffer::i256;
use arrow_schema::{DataType, Field};
use howdah_encode::arrow::Allowed;
use howdah_encode::{NotEncoded, TypeShape};

use super::oracle::{LOOSE, STRICT, codec, field, literal};

fn of(array: &dyn Array, oid: u32, typmod: i32, allowed: Allowed) -> Result<String, (String, String)> {
    literal(&field(array), array, &TypeShape::Base { oid }, typmod, allowed)
}

fn refused(sqlstate: &str, reason: &str) -> Result<String, (String, String)> {
    Err((sqlstate.to_owned(), reason.to_owned()))
}

fn is(text: &str) -> Result<String, (String, String)> {
    Ok(text.to_owned())
}

#[test]
fn integers_beyond_a_type_are_refused_in_the_servers_words() {
    let number = |number| Int64Array::from(vec![number]);
    assert_eq!(
        of(&number(70_000), 21, -1, STRICT),
        refused("22003", "value \"70000\" is out of range for type smallint")
    );
    assert_eq!(
        of(&number(1 << 31), 23, -1, STRICT),
        refused("22003", "value \"2147483648\" is out of range for type integer")
    );
    assert_eq!(
        of(&number(-1), 26, -1, STRICT),
        refused("22003", "value \"-1\" is out of range for type oid")
    );
    let largest = UInt64Array::from(vec![u64::MAX]);
    assert_eq!(
        of(&largest, 20, -1, LOOSE),
        refused("22003", "value \"18446744073709551615\" is out of range for type bigint")
    );
    assert_eq!(of(&largest, 1700, -1, STRICT), is("18446744073709551615"));
    assert_eq!(of(&number(i64::MIN), 20, -1, STRICT), is("-9223372036854775808"));
}

#[test]
fn a_loss_needs_its_name() {
    let half = Float64Array::from(vec![2.5]);
    let reason = "2.5 is no whole number (the lossy conversion \"floats\" is not allowed)";
    assert_eq!(of(&half, 23, -1, STRICT), refused("22000", reason));
    assert_eq!(of(&half, 23, -1, Allowed { floats: true, ..STRICT }), is("2"));
    let odd = Int64Array::from(vec![(1 << 53) + 1]);
    assert!(of(&odd, 701, -1, STRICT).is_err());
    assert_eq!(of(&odd, 701, -1, LOOSE), is("9.007199254740992e+15"));
    let cents = PrimitiveArray::<Decimal128Type>::from(vec![1_235]).with_precision_and_scale(10, 3).unwrap();
    let numeric_5_2 = (5 << 16 | 2) + 4;
    let reason = "1.235 has more than 2 decimal places (the lossy conversion \"decimals\" is not allowed)";
    assert_eq!(of(&cents, 1700, numeric_5_2, STRICT), refused("22000", reason));
    assert_eq!(of(&cents, 1700, numeric_5_2, Allowed { decimals: true, ..STRICT }), is("1.235"));
    assert_eq!(of(&cents, 20, -1, LOOSE), is("1"));
    let instant = TimestampNanosecondArray::from(vec![-1]);
    let reason = "1969-12-31 23:59:59.999999999 is no whole number of microseconds (the lossy conversion \
                  \"nanoseconds\" is not allowed)";
    assert_eq!(of(&instant, 1114, -1, STRICT), refused("22000", reason));
    let cut = Allowed { nanoseconds: true, ..STRICT };
    assert_eq!(of(&instant, 1114, -1, cut), is("1969-12-31 23:59:59.999999"));
    assert_eq!(of(&Time64NanosecondArray::from(vec![1999]), 1083, -1, cut), is("00:00:00.000001"));
    assert_eq!(of(&DurationNanosecondArray::from(vec![-1]), 1186, -1, cut), is("-00:00:00.000001"));
}

#[test]
fn decimals_of_every_scale_are_exact() {
    let decimal = |mantissa: i128, precision, scale| {
        PrimitiveArray::<Decimal128Type>::from(vec![mantissa])
            .with_precision_and_scale(precision, scale)
            .unwrap()
    };
    assert_eq!(of(&decimal(-5, 38, 38), 1700, -1, STRICT), Ok(format!("-0.{:0>38}", 5)));
    assert_eq!(of(&decimal(12, 5, -3), 1700, -1, STRICT), is("12000"));
    assert_eq!(of(&decimal(1500, 5, 2), 23, -1, STRICT), is("15"));
    let reason = "numeric field overflow: A field with precision 3, scale 5 must round to an absolute value \
                  less than 10^-2.";
    assert_eq!(of(&decimal(1, 5, 1), 1700, (3 << 16 | 5) + 4, STRICT), refused("22003", reason));
    let wide =
        PrimitiveArray::<Decimal256Type>::from(vec![i256::MAX]).with_precision_and_scale(76, 3).unwrap();
    let digits = "57896044618658097711785492504343953926634992332820282019728792003956564819.967";
    assert_eq!(of(&wide, 1700, -1, STRICT), is(digits));
}

#[test]
fn moments_count_from_another_epoch_also_before_it() {
    let seconds = |count| TimestampSecondArray::from(vec![count]);
    for (count, text) in [
        (0, "1970-01-01 00:00:00"),
        (-1, "1969-12-31 23:59:59"),
        (946_684_799, "1999-12-31 23:59:59"),
        (-62_135_596_801, "0001-12-31 23:59:59 BC"),
        (-210_866_803_200, "4714-11-24 00:00:00 BC"),
        (9_224_318_015_999, "294276-12-31 23:59:59"),
    ] {
        assert_eq!(of(&seconds(count), 1114, -1, STRICT), is(text));
    }
    for count in [-210_866_803_201, 9_224_318_016_000, i64::MAX, i64::MIN] {
        assert_eq!(of(&seconds(count), 1114, -1, STRICT), refused("22008", "timestamp out of range"));
    }
    // What PostgreSQL takes for infinities is too early, or an ordinary moment with Arrow's epoch.
    let instant = |count| TimestampMicrosecondArray::from(vec![count]).with_timezone("UTC");
    assert_eq!(of(&instant(i64::MIN), 1184, -1, STRICT), refused("22008", "timestamp out of range"));
    assert_eq!(of(&instant(i64::MAX), 1184, -1, STRICT), is("294247-01-10 04:00:54.775807+00"));
    let day = |days| Date32Array::from(vec![days]);
    assert_eq!(of(&day(-719_163), 1082, -1, STRICT), is("0001-12-31 BC"));
    assert_eq!(of(&day(i32::MAX), 1082, -1, STRICT), refused("22008", "date out of range"));
    assert_eq!(of(&day(-1), 1114, -1, STRICT), is("1969-12-31 00:00:00"));
    let noon = Date64Array::from(vec![43_200_000]);
    let reason = "1970-01-01 12:00:00 is no date: it is not at midnight";
    assert_eq!(of(&noon, 1082, -1, LOOSE), refused("22000", reason));
    assert_eq!(of(&noon, 1114, -1, STRICT), is("1970-01-01 12:00:00"));
}

#[test]
fn zones_decide_what_a_timestamp_is() {
    let local = TimestampSecondArray::from(vec![0]);
    let instant = local.clone().with_timezone("America/Lima");
    // Etc/GMT-3 is three hours east.
    let (codec, _) = codec(&field(&local), &TypeShape::Base { oid: 1184 }, -1, STRICT).unwrap();
    let mut out = Vec::new();
    codec.bind(&local).unwrap().put(0, &mut out).unwrap();
    let expected = -(10_957 * 86_400 + 3 * 3600) * 1_000_000_i64;
    assert_eq!(out[4..], expected.to_be_bytes());
    assert_eq!(of(&local, 1184, -1, STRICT), is("1970-01-01 00:00:00"));
    assert_eq!(of(&instant, 1184, -1, STRICT), is("1970-01-01 00:00:00+00"));
    let Err(no_mapping) = super::oracle::codec(&field(&instant), &TypeShape::Base { oid: 1114 }, -1, LOOSE)
    else {
        panic!("an instant went into timestamp")
    };
    assert!(no_mapping.hint.unwrap().starts_with("make the column timestamp with time zone"));
}

#[test]
fn text_that_postgresql_cannot_hold_is_refused() {
    let nul = StringArray::from(vec!["a\0"]);
    let reason = "invalid byte sequence for encoding \"UTF8\": 0x00";
    for oid in [25, 23, 114] {
        assert_eq!(of(&nul, oid, -1, STRICT), refused("22021", reason));
    }
    let bytes = BinaryArray::from(vec![&b"\xc3\x28"[..]]);
    let reason = "invalid byte sequence for encoding \"UTF8\": 0xc3 0x28";
    assert_eq!(of(&bytes, 25, -1, STRICT), refused("22021", reason));
    assert_eq!(of(&bytes, 17, -1, STRICT), is("\\xc328"));
    assert_eq!(of(&bytes, 2950, -1, STRICT), refused("22P03", "a uuid has 16 bytes, not 2"));
    let uuid = FixedSizeBinaryArray::try_from_iter([[0xa0_u8; 16]].into_iter()).unwrap();
    assert_eq!(of(&uuid, 2950, -1, STRICT), is("a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0"));
    assert_eq!(of(&StringArray::from(vec!["seven"]), 1043, 8, STRICT).unwrap_err().0, "22001");
}

#[test]
fn types_without_an_exact_way_have_no_mapping() {
    let none = |array: &dyn Array, oid| codec(&field(array), &TypeShape::Base { oid }, -1, STRICT).err();
    let number = Int32Array::from(vec![1]);
    for oid in [16, 17, 790, 1082, 1114, 2950, 869] {
        let no_mapping = none(&number, oid).unwrap();
        assert_eq!(no_mapping.reason, "Arrow's Int32 has no exact value in the type");
        assert_eq!(no_mapping.hint.as_deref(), Some("a column of type integer would hold it"));
    }
    let long = PrimitiveArray::<Decimal128Type>::from(vec![1]).with_precision_and_scale(16, 2).unwrap();
    assert!(none(&long, 701).is_some() && none(&long, 790).is_some() && none(&long, 1700).is_none());
    let short = FixedSizeBinaryArray::try_from_iter([[0_u8; 3]].into_iter()).unwrap();
    assert!(none(&short, 2950).is_some() && none(&short, 17).is_none());
}

#[test]
fn a_batch_of_another_type_is_not_read() {
    let planned = Field::new("c", DataType::Int32, true);
    let (codec, _) = codec(&planned, &TypeShape::Base { oid: 20 }, -1, STRICT).unwrap();
    assert!(codec.bind(&Int32Array::from(vec![1])).is_ok());
    let Err(no_mapping) = codec.bind(&Int64Array::from(vec![1])) else { panic!("was bound") };
    assert_eq!(no_mapping.reason, "the column is Int64 in this batch, Int32 was planned");
}

#[test]
fn a_domain_is_the_type_below() {
    let below = TypeShape::Base { oid: 1043 };
    let shape = TypeShape::Domain { name: "d".to_owned(), over: Box::new(below), typmod: 7, not_null: true };
    let texts = StringArray::from(vec!["abcd"]);
    let refusal = literal(&field(&texts), &texts, &shape, -1, STRICT).unwrap_err();
    assert_eq!(refusal.1, "value too long for type character varying(3)");
}

#[test]
fn a_type_that_only_the_server_reads_has_literals() {
    let keys = Int32Array::from(vec![Some(1), None]);
    let array = DictionaryArray::new(keys, Arc::new(StringArray::from(vec!["a", "'fat' & rat"])));
    let shape = TypeShape::Base { oid: 3615 };
    let codec = howdah_encode::arrow::ArrowCodec::of(&field(&array), &shape, -1, "tsquery", None, STRICT);
    let codec = codec.unwrap();
    let column = codec.bind(&array).unwrap();
    let mut out = Vec::new();
    assert_eq!(column.put(0, &mut out), Err(NotEncoded::Unsure));
    assert_eq!(column.literal(0, &mut out), Ok(()));
    assert_eq!(out, b"'fat' & rat");
    assert!(column.is_null(1));
}
