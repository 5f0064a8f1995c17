//! Whatever the bytes, a codec answers: it never panics, and leaves nothing behind when it refuses.

use howdah_encode::{CompositeField, SessionRules, Steps, TextCodec, TypeShape, copy_text};
use proptest::prelude::*;

/// OIDs with the modifiers of `(5)`, `(3,1)` and `(3,-2)` shapes among them.
const TYPES: &[(u32, i32)] = &[
    (16, -1),
    (17, -1),
    (20, -1),
    (21, -1),
    (23, -1),
    (25, -1),
    (114, -1),
    (700, -1),
    (701, -1),
    (1042, 9),
    (1043, 9),
    (1082, -1),
    (1114, -1),
    (1184, -1),
    (1700, -1),
    (1700, (3 << 16 | 1) + 4),
    (1700, (3 << 16 | 0x7fe) + 4),
    (1700, i32::MAX),
    (2950, -1),
    (3802, -1),
    (869, -1),
    (650, -1),
    (829, -1),
    (774, -1),
    (1560, 5),
    (1562, -1),
    (1562, 3),
    (3220, -1),
    (600, -1),
    (601, -1),
    (602, -1),
    (603, -1),
    (604, -1),
    (628, -1),
    (718, -1),
    (1083, -1),
    (1266, -1),
    (1186, -1),
    (1186, 0x1000 << 16 | 0xffff),
    (26, -1),
    (18, -1),
    (19, -1),
    (790, -1),
];

/// Types made of types, each kind once, and inside each other.
fn shapes() -> Vec<TypeShape> {
    let base = |oid| Box::new(TypeShape::Base { oid });
    let array = |element_oid, element| TypeShape::Array { element_oid, delimiter: b',', element };
    let numbers = array(23, base(23));
    let given = TypeShape::Domain { name: "given".to_owned(), over: base(1043), typmod: 7, not_null: true };
    let fields = [numbers.clone(), given.clone(), *base(1184)];
    let fields =
        fields.into_iter().map(|shape| CompositeField { name: "f".to_owned(), oid: 1, typmod: -1, shape });
    let row = TypeShape::Composite { fields: fields.collect() };
    vec![
        numbers,
        array(25, base(25)),
        array(1, Box::new(given)),
        array(1, Box::new(row.clone())),
        row,
        TypeShape::Range { subtype: base(23), steps: Steps::Whole },
        TypeShape::Range { subtype: base(1082), steps: Steps::Whole },
        TypeShape::Multirange { subtype: base(1700), steps: Steps::None },
        TypeShape::Multirange { subtype: base(701), steps: Steps::None },
        TypeShape::Enum { name: "mood".to_owned(), labels: vec!["a".to_owned(), String::new()] },
        TypeShape::Hstore,
        TypeShape::Vector,
    ]
}

fn answers(literal: &[u8]) {
    for (zone, style) in [("Etc/GMT+5", "postgres"), ("Europe/Berlin", "sql_standard")] {
        let rules = SessionRules::from_settings(zone, "ISO, MDY", style, "C");
        let scalars = TYPES.iter().map(|&(oid, typmod)| TextCodec::for_type(oid, typmod, &rules).unwrap());
        let nested = shapes().into_iter().map(|shape| TextCodec::of(&shape, -1, &rules).unwrap());
        for codec in scalars.chain(nested) {
            let mut out = b"before".to_vec();
            match codec.encode(literal, &mut out) {
                Ok(()) => {
                    let length = i32::from_be_bytes(out[6..10].try_into().unwrap());
                    assert_eq!(usize::try_from(length).unwrap(), out.len() - 10, "{codec:?} {literal:?}");
                }
                Err(_) => assert_eq!(out, b"before", "{codec:?} {literal:?}"),
            }
        }
    }
    copy_text::put_field(&mut Vec::new(), literal);
    copy_text::unescape(literal, &mut Vec::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_bytes_are_answered(literal in prop::collection::vec(any::<u8>(), 0..40)) {
        answers(&literal);
    }

    #[test]
    fn texts_of_the_right_letters_are_answered(literal in "[-+.:0-9TZeE\\\\x{}BCinfat \u{b}]{0,40}") {
        answers(literal.as_bytes());
    }

    #[test]
    fn texts_of_addresses_and_bits_are_answered(literal in "[-+.:/0-9a-fxXbB ]{0,40}") {
        answers(literal.as_bytes());
    }

    #[test]
    fn texts_of_shapes_are_answered(literal in "[-0-9.e, ()<>\\[\\]{}]{0,40}") {
        answers(literal.as_bytes());
    }

    #[test]
    fn nearly_right_intervals_are_answered(
        literal in "P?(@ )?([-+]?[0-9]{1,20}([-:.][0-9]{1,20}){0,3} ?(days?|mon|year|h|ms|T|Y|S|ago)?,? ?){0,6}",
    ) {
        answers(literal.as_bytes());
    }

    #[test]
    fn texts_of_types_made_of_types_are_answered(literal in "[]{}()\\[\\\\\",,,=>12aNULemptyé ]{0,40}") {
        answers(literal.as_bytes());
    }

    #[test]
    fn nearly_right_moments_are_answered(
        literal in "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{0,25})?)?( ?[-+Z][0-9]{0,2}:?[0-9]{0,2})?( BC)?",
    ) {
        answers(literal.as_bytes());
    }
}

#[test]
fn very_long_literals_are_answered() {
    for pattern in [
        "9",
        "0",
        "1.",
        ".0",
        "1e",
        "-",
        " ",
        "\\000",
        "é",
        "2024-01-01 ",
        "1 day ",
        "1,",
        "(",
        "1:",
        "{",
        "{1,",
        "\"",
        "[1:1]",
        "a=>1,",
    ] {
        answers(pattern.repeat(100_000).as_bytes());
    }
    answers(format!("0.{}1", "0".repeat(100_000)).as_bytes());
    answers(format!("{}.5", "9".repeat(131_072)).as_bytes());
}
