//! Codecs of text and its relatives, bytes, uuid and json: what is stored can be read back from the literal.
#![no_main]

use howdah_encode::json::is_jsonb;
use howdah_fuzz::{Case, STRINGS, encode, write_literals};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: write_literals("strings", STRINGS),
    |data: &[u8]| {
        let Some(case) = Case::read(STRINGS, data) else { return };
        let Ok(text) = std::str::from_utf8(case.literal) else { return };
        let verdict = case.verdict();
        match case.oid {
            25 | 1042 | 1043 => {
                let kept = text.trim_end_matches(' ').chars().count();
                let limit = usize::try_from(case.typmod - 4).unwrap_or(usize::MAX);
                assert_eq!(verdict.is_ok(), kept <= limit, "characters are counted, trailing blanks are not");
                if let Ok(value) = verdict {
                    assert_eq!(value, case.literal);
                }
            }
            114 => assert_eq!(verdict, Ok(case.literal.to_vec())),
            3802 => {
                assert_eq!(verdict, Ok([b"\x01", case.literal].concat()));
                if is_jsonb(case.literal) {
                    let mut reader = serde_json::Deserializer::from_slice(case.literal);
                    reader.disable_recursion_limit();
                    let read: Result<serde::de::IgnoredAny, _> = serde::Deserialize::deserialize(&mut reader);
                    assert!(read.is_ok() && reader.end().is_ok(), "no JSON: {text:?}");
                }
            }
            17 => {
                if let Ok(value) = verdict {
                    let again = format!("\\x{}", hexadecimal(&value));
                    assert_eq!(encode(17, -1, &case.rules, again.as_bytes()), Ok(value));
                }
            }
            2950 => {
                let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
                match verdict {
                    Ok(value) => assert_eq!(hexadecimal(&value), digits.to_ascii_lowercase()),
                    Err(_) => assert!(digits.len() != 32 || digits.len() != text.len(), "32 digits are a uuid"),
                }
            }
            _ => {}
        }
    }
);

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
