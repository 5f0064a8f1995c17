use proptest::prelude::*;

use super::*;

fn members(text: &str) -> Result<Vec<(&str, &str)>, SyntaxError> {
    let mut members = Members::of(text.as_bytes())?;
    let mut found = Vec::new();
    while let Some(member) = members.next()? {
        let value = &text[member.value.start..member.value.end];
        found.push((std::str::from_utf8(member.key).unwrap(), value));
    }
    Ok(found)
}

#[test]
fn members_come_in_order_with_their_raw_values() {
    assert_eq!(
        members(" {\"a\" : 1 , \"\":\"x\\\"y\",\"c\":[1, {\"d\":null}],\"e\":-0.5e+10,\"f\":true} \n")
            .unwrap(),
        [("a", "1"), ("", "x\\\"y"), ("c", "[1, {\"d\":null}]"), ("e", "-0.5e+10"), ("f", "true")]
    );
    assert!(members("{ }").unwrap().is_empty());
}

#[test]
fn what_is_no_json_is_found_where_it_is() {
    for (text, position, expected) in [
        ("", 0, "an object"),
        ("[1]", 0, "an object"),
        ("{\"a\":1", 6, "a comma or a closing brace"),
        ("{\"a\":1,}", 7, "a key in quotes"),
        ("{a:1}", 1, "a key in quotes"),
        ("{\"a\" 1}", 5, "a colon"),
        ("{\"a\":}", 5, "a value"),
        ("{\"a\":nul}", 5, "a value"),
        ("{\"a\":01}", 6, "no digit behind a leading zero"),
        ("{\"a\":1.}", 7, "a digit"),
        ("{\"a\":-}", 6, "a digit"),
        ("{\"a\":1e}", 7, "a digit"),
        ("{\"a\":+1}", 5, "a value"),
        ("{\"a\":\"x}", 8, "a closing quote"),
        ("{\"a\":\"\t\"}", 6, "an escape instead of a control character"),
        ("{\"a\":\"\\x\"}", 6, "one of \" \\ / b f n r t u behind a backslash"),
        ("{\"a\":\"\\u12g4\"}", 6, "four hexadecimal digits behind \\u"),
        ("{\"a\":[1 2]}", 8, "a comma or a closing bracket"),
        ("{\"a\":{\"b\":1]}", 11, "a comma or a closing brace"),
        ("{\"a\":1} x", 8, "nothing more"),
        ("{\"a\":1}}", 7, "nothing more"),
    ] {
        assert_eq!(members(text), Err(SyntaxError { position, expected: Some(expected) }), "{text}");
    }
}

#[test]
fn deep_nesting_is_refused_without_a_deep_stack() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(members(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(members(&nested(MAX_DEPTH + 1)).unwrap_err().expected(), None);
    assert!(members(&format!("{{\"a\":{}", "[{\"b\":".repeat(10_000_000))).is_err());
}

proptest! {
    #[test]
    fn an_object_is_taken_iff_serde_json_takes_it(text in r#"\{("[ab\\u0d8"]{0,4}": ?([0-9.eE+-]{1,5}|"[a\\"/u0-9f]{0,9}"|[\[\]{}:,"0a]{0,7}|true|null),?){0,3}\}"#) {
        let by_serde = serde_json::from_str::<serde_json::Value>(&text);
        // What escapes spell is looked at elsewhere, and numbers have no limit here.
        let theirs = match &by_serde {
            Err(error) if error.to_string().contains("surrogate")
                || error.to_string().contains("lone leading") || error.to_string().contains("unexpected end of hex")
                || error.to_string().contains("out of range") => return Ok(()),
            other => other.is_ok(),
        };
        prop_assert_eq!(members(&text).is_ok(), theirs, "{}: {:?}", text, by_serde);
    }

    #[test]
    fn a_run_ends_at_the_first_special_byte(text in proptest::collection::vec(prop_oneof![Just(b'"'), Just(b'\\'), 0_u8..0x30, any::<u8>()], 0..60), plain in 0_usize..40) {
        let text = [vec![b'x'; plain], text].concat();
        let expected = text.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(text.len());
        prop_assert_eq!(plain_run(&text), expected);
    }
}
