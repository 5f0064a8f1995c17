use howdah_source::Progress;
use howdah_source::{Cutter, Input};

use super::*;
use crate::catalog::inferred_type::InferredType;
use crate::options::{DialectOptions, Format};

fn seen(text: &str, target: usize, options: &LoadOptions) -> Result<SeenKeys, Error> {
    let dialect = Arc::new(Dialect::resolve(Format::Json, &DialectOptions::default()).unwrap());
    let question = KeyQuestion::about_types(&dialect, options, None, Some(&"a".to_owned()));
    let input = Input::memory("test", text.as_bytes().into());
    let mut cutter = Cutter::new(vec![input], dialect, Progress::new(), target);
    let mut parts = [KeyScan::new(question.clone()), KeyScan::new(question.clone()), KeyScan::new(question)];
    let mut next = 0;
    while let Some(piece) = cutter.cut(Vec::new())? {
        parts[next % 3].see(&piece)?;
        next += 1;
    }
    conclude(parts.into())
}

#[test]
fn keys_come_in_order_of_appearance_with_types_of_all_their_values() {
    let lines = [
        r#"{"a":1,"z":"2024-01-01","s":"12","m":1,"d":{"x":1},"n":1.5,"b":true,"e":null,"big":1e3}"#,
        r#"{"a":2,"z":"2024-01-02T10:00:00","s":"13","m":"x","d":"y","n":2,"b":false,"l":[1]}"#,
        r#"{"b":null,"a":10,"late":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","s":"x","u":"\u0041"}"#,
    ];
    use InferredType::{Bigint, Boolean, DoublePrecision, Jsonb, Numeric, Text, Timestamp, Uuid};
    for text in [lines.join("\n"), format!("[{}]", lines.join(","))] {
        for target in [1, 7, 50, 100_000] {
            let found = seen(&text, target, &LoadOptions::default()).unwrap();
            assert_eq!(found.names, ["a", "z", "s", "m", "d", "n", "b", "e", "big", "l", "late", "u"]);
            assert_eq!(
                found.types,
                [
                    Bigint,
                    Timestamp,
                    Text,
                    Text,
                    Jsonb,
                    DoublePrecision,
                    Boolean,
                    Text,
                    Numeric,
                    Jsonb,
                    Uuid,
                    Text
                ]
            );
            assert_eq!(found.never_null.iter().filter(|never| **never).count(), 2, "a and s");
            assert!(found.first_ascends);
        }
    }
}

#[test]
fn a_bad_record_ends_a_scan_or_leaves_no_column_behind() {
    let text = "{\"a\":1}\n{\"ghost\":1,\n{\"b\":\"x\ty\"}\n{\"c\":2}\n";
    let error = seen(text, 1000, &LoadOptions::default()).unwrap_err();
    assert_eq!((error.location().unwrap().line, error.sqlstate()), (Some(2), Some("22P02")));
    let tolerant = LoadOptions::default().on_error(OnError::Ignore);
    assert_eq!(seen(text, 1000, &tolerant).unwrap().names, ["a", "c"]);
}

#[test]
fn keys_without_end_are_refused_and_those_that_are_named_are_not() {
    let lines: String = (0..2000).map(|n| format!("{{\"k{n}\":1}}\n")).collect();
    assert_eq!(seen(&lines, 1000, &LoadOptions::default()).unwrap_err().sqlstate(), Some("54011"));
    let some = LoadOptions::default().column_list(["k1999", "k7"]);
    assert_eq!(seen(&lines, 1000, &some).unwrap().names, ["k1999", "k7"]);
}

#[test]
fn paths_have_types_of_their_own_and_hide_the_keys_that_they_go_through() {
    let lines = [
        r#"{"o":{"n":1,"s":"x"},"a":1,"k.n":1}"#,
        r#"{"o":null,"a":2}"#,
        r#"{"a":3,"o":{"n":2.5,"z":[1]},"k":{"n":2}}"#,
    ];
    let map = [("o.n", "n"), ("o.z", "z"), ("k.n", "k"), ("o.none", "none")];
    let options = LoadOptions::default().map(map);
    for target in [1, 50, 100_000] {
        let found = seen(&lines.join("\n"), target, &options).unwrap();
        assert_eq!(found.names, ["o.n", "a", "k.n", "o.z", "k"], "{target}");
        use InferredType::{Bigint, DoublePrecision, Jsonb};
        assert_eq!(found.types, [DoublePrecision, Bigint, Bigint, Jsonb, Jsonb]);
        assert_eq!(found.never_null, [false, true, false, false, false]);
        assert_eq!(
            (found.paths.taken, found.paths.ambiguous),
            (vec!["o.n".into(), "o.z".into()], vec!["k.n".into()])
        );
    }
    let bad = "{\"o\":{\"n\":1}}\n{\"ghost\":1,\"o\":[]}\n";
    let error = seen(bad, 1000, &options).unwrap_err();
    assert_eq!((error.location().unwrap().line, error.sqlstate()), (Some(2), Some("2203A")));
    assert_eq!(seen(bad, 1000, &options.on_error(OnError::Ignore)).unwrap().names, ["o.n"]);
}
