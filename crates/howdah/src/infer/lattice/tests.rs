//! Tables of literals and what they must become, and properties that hold for any column.

use howdah_encode::json::is_jsonb;
use proptest::prelude::*;

use super::ColumnLattice;
use super::InferredType::{self, *};

fn lattice(values: &[Option<&str>]) -> ColumnLattice {
    let mut lattice = ColumnLattice::default();
    for value in values {
        lattice.observe(value.map(|value| value.as_bytes().into()));
    }
    lattice
}

fn column(values: &[&str]) -> InferredType {
    lattice(&values.iter().map(|value| Some(*value)).collect::<Vec<_>>()).decide()
}

#[track_caller]
fn each_alone(ty: InferredType, literals: &[&str]) {
    for literal in literals {
        assert_eq!(column(&[literal]), ty, "{literal:?}");
    }
}

#[test]
fn booleans_are_only_the_unambiguous_words() {
    each_alone(Boolean, &["true", "false", "TRUE", "FALSE", "True", "False"]);
    each_alone(Text, &["t", "f", "tRue", "yes", "on", " true", "truefalse", ""]);
    each_alone(Bigint, &["1", "0"]);
}

#[test]
fn leading_zeros_plus_signs_and_overflow_never_become_integers() {
    each_alone(Bigint, &["0", "7", "-7", "9223372036854775807", "-9223372036854775808", "123456789012345"]);
    each_alone(Text, &["00", "007", "-01", "+1", " 1", "1 ", "-", "--1", "1_000", "1,000", "0x10", "１"]);
    each_alone(Numeric, &["9223372036854775808", "-9223372036854775809", "99999999999999999999", "-0"]);
    assert_eq!(column(&["12345", "01234"]), Text);
}

#[test]
fn doubles_are_only_what_prints_back_digit_for_digit() {
    each_alone(
        DoublePrecision,
        &["0.5", "-0.5", "1.25", "0.0001", "123456789012.345", "0.000123456789012345"],
    );
    each_alone(DoublePrecision, &["1e-05", "-1.5e-07", "2.25e-300"]);
    each_alone(Numeric, &["1e+15", "7e+22", "2.25e+300"]);
    each_alone(Numeric, &["2.50", "1.0", "0.0", "0.00001", ".5", "-.5", "-0.0", "1234567890123.456"]);
    each_alone(Numeric, &["0.1234567890123456", "0.30000000000000004", "1.2345678901234567e-07"]);
    each_alone(Text, &["1.", ".", "-.", "1.2.3", "00.5", "01.5", "NaN", "inf", "Infinity", "1.5 ", "1,5"]);
    each_alone(
        Text,
        &["1e5", "12e4", "1e05", "1E-05", "1e+5", "1.0e+20", "10e+20", "0e+20", "1e+14", "1e-04"],
    );
    each_alone(Text, &["1e+301", "1e+400", "1.e+20", "1e-", "1e", "1.5e-0x"]);
}

#[test]
fn mixed_numbers_take_the_narrowest_type_that_changes_none() {
    assert_eq!(column(&["1", "2.5"]), DoublePrecision);
    assert_eq!(column(&["1", "2.50"]), Numeric);
    assert_eq!(column(&["1234567890123456", "2.5"]), Numeric);
    assert_eq!(column(&["1e-07", "3", "2.5"]), DoublePrecision);
    assert_eq!(column(&["1", "true"]), Text);
}

#[test]
fn numerics_past_the_limits_of_the_type_are_text() {
    let integer = |digits: usize| "9".repeat(digits);
    each_alone(Numeric, &[&integer(131_072), &format!("0.{}", integer(16_383))]);
    each_alone(Text, &[&integer(131_073), &format!("0.{}", integer(16_384))]);
}

#[test]
fn dates_that_the_calendar_lacks_are_text() {
    each_alone(Date, &["2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"]);
    each_alone(Text, &["2023-02-29", "1900-02-29", "0000-01-01", "2024-13-01", "2024-00-10", "2024-04-31"]);
    each_alone(
        Text,
        &["2024-1-1", "24-01-01", "2024/01/01", "20240-01-01", "2024-01-0", "2024-01-", "2024-01-01 "],
    );
    each_alone(Bigint, &["20240101"]);
}

#[test]
fn timestamps_that_would_be_rounded_or_moved_are_text() {
    each_alone(Timestamp, &["2024-01-02 03:04", "2024-01-02T03:04:05", "2024-01-02 23:59:59.999999"]);
    each_alone(
        Text,
        &["2024-01-02 24:00", "2024-01-02 00:60", "2024-01-02 00:00:60", "2024-01-02 00:00:00."],
    );
    each_alone(
        Text,
        &["2024-01-02 00:00:00.1234567", "2024-01-02  00:00", "2024-01-02t00:00", "2024-01-02T"],
    );
    each_alone(Text, &["2024-01-02 1:00", "2024-01-02 01", "2024-01-02 01:00:0", "2024-02-30 01:00"]);
    assert_eq!(column(&["2024-01-02", "2024-01-02 03:04"]), Timestamp);
}

#[test]
fn a_zone_is_needed_on_every_value_or_on_none() {
    let zoned = [
        "2024-01-02T03:04Z",
        "2024-01-02 03:04:05+01",
        "2024-01-02 03:04:05.5-0930",
        "2024-01-02T03:04-09:30",
    ];
    each_alone(Timestamptz, &zoned);
    assert_eq!(column(&zoned), Timestamptz);
    assert_eq!(column(&[zoned[0], "2024-01-02T03:04"]), Text);
    assert_eq!(column(&[zoned[0], "2024-01-02"]), Text);
    let t = "2024-01-02 03:04";
    for zone in ["z", "+1", "+1:00", "+001", "+16", "+01:60", "+", "+01:", "+01:0", "+01:00:00", " Z", "UTC"]
    {
        each_alone(Text, &[&format!("{t}{zone}")]);
    }
    each_alone(Timestamptz, &[&format!("{t}+15:59")]);
}

#[test]
fn uuids_are_only_the_canonical_shape() {
    each_alone(Uuid, &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"]);
    each_alone(Uuid, &["00000000-0000-0000-0000-000000000000"]);
    each_alone(Text, &["{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}", "a0eebc999c0b4ef8bb6d6bb9bd380a11"]);
    each_alone(Text, &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g", "a0eebc99-9c0b4-ef8-bb6d-6bb9bd380a11"]);
}

#[test]
fn json_that_jsonb_refuses_is_text() {
    each_alone(Jsonb, &["{}", "[]", "[[],{}]", "{ \"a\" : [1, -2.5e3, true, false, null] }\n", r#"{"":""}"#]);
    each_alone(Jsonb, &[r#"["\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t"]"#, r#"{"a":1,"a":2}"#, "[\"é\u{7f}\"]"]);
    each_alone(
        Text,
        &["{", "[", "{]", "[}", "[1,]", "{\"a\"}", "{\"a\":}", "{1:2}", "[1 2]", "[1]]", "[01]", "{,}"],
    );
    each_alone(
        Text,
        &["[1.]", "[.5]", "[+1]", "[1e]", "[-]", "[tru]", "[nulll]", "[NaN]", "{1,2}", "[x]", "['a']"],
    );
    each_alone(
        Text,
        &[r#"["\u0000"]"#, r#"["\ud800"]"#, r#"["\udc00"]"#, r#"["\ud800\ud800"]"#, r#"["\ud800x"]"#],
    );
    each_alone(
        Text,
        &["[\"\n\"]", "[\"\t\"]", r#"["\x"]"#, r#"["\u12g4"]"#, r#"["a]"#, "\"a\"", "null", " {}"],
    );
    assert!(is_jsonb(b"1"), "scalars are JSON, only the lattice wants containers");
    // The right length and a dash in the right place for a UUID.
    each_alone(Jsonb, &[r#"{"abcdef-": "01234567890123456789ab"}"#]);
}

#[test]
fn json_numbers_outside_numeric_are_text() {
    each_alone(Jsonb, &["[1e131071]", "[1e-16383]", "[0.5e-16382]", "[1E+5]"]);
    each_alone(
        Text,
        &[
            "[1e131072]",
            "[1e-16384]",
            "[0.5e-16383]",
            "[1e99999999999999999999]",
            "[1e-99999999999999999999]",
        ],
    );
}

#[test]
fn deep_json_ends_in_text_instead_of_an_exhausted_stack() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    each_alone(Jsonb, &[&nested(512)]);
    each_alone(Text, &[&nested(513), &"[".repeat(1_000_000)]);
}

#[test]
fn nulls_alone_say_nothing_and_empty_strings_mean_text() {
    assert_eq!(lattice(&[]).decide(), Text);
    assert_eq!(lattice(&[None, None]).decide(), Text);
    assert_eq!(lattice(&[None, Some("1"), None]).decide(), Bigint);
    assert_eq!(lattice(&[Some("1"), Some("")]).decide(), Text);
}

#[test]
fn frequent_null_markers_are_pointed_out_and_rare_words_are_not() {
    let with = |marker, times: usize| {
        let mut values = vec![Some("1"); 1000 - times];
        values.extend(vec![Some(marker); times]);
        lattice(&values).null_markers()
    };
    assert_eq!(with(r"\N", 20), Some((r"\N", 0.02)));
    assert_eq!(with("NULL", 11), Some(("NULL", 0.011)));
    assert_eq!(with("NA", 10), None);
    assert_eq!(with("N/A", 500), None);
    assert_eq!(with("na", 500), None);
    assert_eq!(lattice(&[Some("NA"), Some("NULL"), Some("NA"), None]).null_markers(), Some(("NA", 0.5)));
    assert_eq!(lattice(&[]).null_markers(), None);
}

#[test]
fn ddl_names_are_those_of_the_catalogue() {
    let names = [Boolean, Bigint, DoublePrecision, Numeric, Date, Timestamp, Timestamptz, Uuid, Jsonb, Text];
    assert_eq!(
        names.map(InferredType::sql).join(","),
        concat!(
            "boolean,bigint,double precision,numeric,date,timestamp without time zone,",
            "timestamp with time zone,uuid,jsonb,text"
        )
    );
}

/// Whether `value` keeps its meaning in `ty`, worked out by other means than the lattice's.
fn keeps(ty: InferredType, value: &str) -> bool {
    match ty {
        Boolean => value.to_lowercase().parse::<bool>().is_ok(),
        Bigint => value.parse::<i64>().is_ok_and(|number| number.to_string() == value),
        DoublePrecision => value.parse::<f64>().is_ok_and(|number| like_float8out(number) == value),
        Numeric => value.parse::<f64>().is_ok_and(f64::is_finite) && !value.starts_with('+'),
        Date => value.len() == 10 && is_day(value),
        Timestamp => is_day(&value[..10]) && (value.len() == 10 || is_time(&value[11..])),
        Timestamptz => {
            let zone = value[11..].find(['Z', '+', '-']).expect("a zone") + 11;
            is_day(&value[..10]) && is_time(&value[11..zone])
        }
        Uuid => u128::from_str_radix(&value.replace('-', ""), 16).is_ok(),
        Jsonb => serde_json::from_str::<serde_json::Value>(value).is_ok_and(|json| !json.is_number()),
        Text => true,
    }
}

/// Shortest digits; an exponent of two digits at least outside 1e-4 .. 1e15.
fn like_float8out(number: f64) -> String {
    if number == 0.0 || (1e-4..1e15).contains(&number.abs()) {
        return number.to_string();
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("an exponent");
    let exponent: i32 = exponent.parse().expect("a number");
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// Counts days from the first one instead of knowing months.
fn is_day(value: &str) -> bool {
    let parts: Vec<u32> = value.split('-').filter_map(|part| part.parse().ok()).collect();
    let [year, month, day] = parts[..] else { return false };
    let february = if year % 400 == 0 || (year % 4 == 0 && year % 100 != 0) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    year >= 1
        && lengths.get(month.wrapping_sub(1) as usize).is_some_and(|length| (1..=*length).contains(&day))
}

fn is_time(value: &str) -> bool {
    let parts: Vec<f64> = value.split(':').filter_map(|part| part.parse().ok()).collect();
    matches!(parts[..], [hour, minute] | [hour, minute, _] if hour < 24.0 && minute < 60.0)
        && parts.get(2).is_none_or(|second| *second < 60.0)
}

/// Literals near the borders between types.
fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[0-9]{1,20}",
        "-?[0-9]{0,3}\\.[0-9]{0,18}",
        "-?[0-9]{1,17}\\.[0-9]{1,4}",
        "-?0\\.0{0,6}[0-9]{1,16}",
        "-?[0-9](\\.[0-9]{1,4})?e[+-][0-9]{2,3}",
        "[012][0-9]{3}-[01][0-9]-[0-3][0-9]",
        "2024-0[1-9]-[0-3][0-9][ T][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\\.[0-9]{1,7})?)?(Z|[+-][01][0-9](:?[0-6][0-9])?)?",
        "true|false|True|FALSE|NA|NULL",
        "[0-9a-fA-F]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{11,12}",
        "\\{\"a\":[0-9]{1,3}\\}|\\[(1|null|\"x\")?(,2)?\\]",
        "[ -~]{0,12}",
    ]
}

/// A column mostly of one kind, so that something other than text is decided often.
fn values() -> impl Strategy<Value = Vec<Option<String>>> {
    let kinds = prop_oneof![
        "-?[1-9][0-9]{0,18}|0",
        "-?[1-9][0-9]{0,5}(\\.[0-9]{0,3}[1-9])?",
        "-?[1-9][0-9]{0,5}(\\.[0-9]{1,14})?",
        "20[0-9]{2}-0[1-9]-[0-2][1-9]( [01][0-9]:[0-5][0-9])?",
        "20[0-9]{2}-0[1-9]-[0-2][1-9]T[01][0-9]:[0-5][0-9](Z|[+-]0[0-9])",
    ];
    (kinds, prop::collection::vec(prop::option::weighted(0.9, literal()), 0..4)).prop_flat_map(
        |(first, others)| Just(std::iter::once(Some(first)).chain(others).collect::<Vec<_>>()).prop_shuffle(),
    )
}

fn observed(values: &[Option<String>]) -> ColumnLattice {
    lattice(&values.iter().map(Option::as_deref).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_type_of_one_value_never_changes_it(value in literal()) {
        let ty = column(&[&value]);
        prop_assert!(keeps(ty, &value), "{value:?} became {ty:?}");
    }

    #[test]
    fn the_type_decided_keeps_every_value_of_the_column(values in values()) {
        let ty = observed(&values).decide();
        for value in values.iter().flatten() {
            prop_assert!(keeps(ty, value), "{value:?} in a column of {ty:?}");
        }
    }

    #[test]
    fn parts_seen_by_threads_in_any_order_give_the_type_of_the_whole(values in values(), at in 0_usize..5) {
        let (left, right) = values.split_at(at.min(values.len()));
        let whole = observed(&values);
        for (first, second) in [(left, right), (right, left)] {
            let mut merged = observed(first);
            merged.merge(&observed(second));
            prop_assert_eq!(merged.decide(), whole.decide());
            prop_assert_eq!(merged.null_markers(), whole.null_markers());
        }
    }

    #[test]
    fn the_json_check_agrees_with_a_whole_parser(text in r#"[\[{]([\[\]{},:" 0-9.eE+\-tn\\]|true|null|"a":|\\u0041|\\n){0,10}[\]}]?"#) {
        let parsed = serde_json::from_str::<serde_json::Value>(&text);
        let extreme = parsed.as_ref().is_err_and(|error| error.to_string().contains("out of range"));
        prop_assert!(extreme || is_jsonb(text.as_bytes()) == parsed.is_ok(), "{:?}: {:?}", text, parsed);
    }
}
