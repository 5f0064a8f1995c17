//! Codecs of whole numbers, floating point, numeric and boolean, against the standard library.
#![no_main]

use howdah_fuzz::{Case, NUMBERS, write_literals};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: write_literals("numbers", NUMBERS),
    |data: &[u8]| {
        let Some(case) = Case::read(NUMBERS, data) else { return };
        case.expect_white_space_ignored();
        let verdict = case.verdict().ok();
        let Some(text) = case.trimmed() else { return };
        match case.oid {
            16 => {
                if let Some(value) = verdict {
                    let word = text.to_ascii_lowercase();
                    let words: &[&str] = if value == [1] { &["true", "yes", "on", "1"] } else { &["false", "no", "off", "0"] };
                    assert!(!word.is_empty() && words.iter().any(|full| full.starts_with(&word)), "{text:?}");
                }
            }
            21 => assert_eq!(verdict, text.parse().ok().map(|value: i16| value.to_be_bytes().to_vec())),
            23 => assert_eq!(verdict, text.parse().ok().map(|value: i32| value.to_be_bytes().to_vec())),
            20 => assert_eq!(verdict, text.parse().ok().map(|value: i64| value.to_be_bytes().to_vec())),
            700 => {
                let expected: Option<f32> = text.parse().ok();
                let bytes = expected.map(|value| value.to_be_bytes().to_vec());
                if verdict.is_some() || expected.is_some_and(|value| value.is_finite() && value != 0.0) {
                    assert_eq!(verdict, bytes);
                }
            }
            701 => {
                let expected: Option<f64> = text.parse().ok();
                let bytes = expected.map(|value| value.to_be_bytes().to_vec());
                if verdict.is_some() || expected.is_some_and(|value| value.is_finite() && value != 0.0) {
                    assert_eq!(verdict, bytes);
                }
            }
            1700 => {
                let Some(value) = verdict else { return };
                let stored = decimal(&value);
                if case.typmod == -1 && let Some(stored) = stored {
                    let (stored, written): (f64, f64) = (stored.parse().expect("a number"), text.parse().expect("a number"));
                    // Minus zero is a float's alone.
                    assert_eq!(stored + 0.0, written + 0.0);
                }
            }
            _ => {}
        }
    }
);

/// A stored numeric as a decimal literal, having checked its form; `None` for NaN and the infinities.
fn decimal(value: &[u8]) -> Option<String> {
    let (words, odd) = value.as_chunks::<2>();
    assert!(odd.is_empty());
    let words: Vec<u16> = words.iter().map(|word| u16::from_be_bytes(*word)).collect();
    let [count, weight, sign, scale, digits @ ..] = words.as_slice() else { panic!("a numeric has a head") };
    assert_eq!(usize::from(*count), digits.len());
    if !matches!(sign, 0 | 0x4000) {
        assert!(matches!(sign, 0xc000 | 0xd000 | 0xf000) && digits.is_empty());
        return None;
    }
    assert!(*scale < 0x4000 && digits.iter().all(|digit| *digit < 10_000));
    assert!(digits.first() != Some(&0) && digits.last() != Some(&0), "zeros are not stored at the ends");
    let exponent =
        4 * (i64::from(weight.cast_signed()) + 1 - i64::try_from(digits.len()).expect("few digits"));
    let sign = if *sign == 0 { "" } else { "-" };
    let digits: String = digits.iter().map(|digit| format!("{digit:04}")).collect();
    Some(format!("{sign}0{digits}e{exponent}"))
}
