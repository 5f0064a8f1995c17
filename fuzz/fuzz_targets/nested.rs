//! Codecs of types made of types: what is stored, printed as PostgreSQL prints it, reads back as the same.
#![no_main]

use std::fmt::Write;

use howdah_encode::literals::{nested_literals, nested_types};
use howdah_encode::{TextCodec, TypeShape};
use howdah_fuzz::{SEEDS_A_TYPE, encode_with, session, write_seed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: seeds(),
    |data: &[u8]| {
        let [ty, rules, literal @ ..] = data else { return };
        // What is not text is refused before it gets here.
        if std::str::from_utf8(literal).is_err() || literal.contains(&0) {
            return;
        }
        let types = nested_types();
        let nested = &types[usize::from(*ty) % types.len()];
        let codec = TextCodec::of(&nested.shape, nested.typmod, session(*rules)).expect("the type has a codec");
        if let Ok(value) = encode_with(&codec, literal)
            && let Some(again) = print(&nested.shape, &value)
        {
            assert_eq!(encode_with(&codec, again.as_bytes()), Ok(value), "{again}");
        }
    }
);

fn seeds() {
    for (at, nested) in nested_types().iter().enumerate() {
        for (n, literal) in nested_literals(nested, 1, SEEDS_A_TYPE).iter().enumerate() {
            let head = [u8::try_from(at).unwrap_or(0), u8::try_from(n % 12).unwrap_or(0)];
            write_seed("nested", &format!("{at}-{n}"), &[&head[..], literal.as_bytes()].concat());
        }
    }
}

/// A stored value as a literal; `None` where a part is of a type that is not printed here.
fn print(shape: &TypeShape, value: &[u8]) -> Option<String> {
    let mut rest = value;
    Some(match shape {
        TypeShape::Base { oid: 23 } => word(&mut rest).to_string(),
        TypeShape::Base { oid: 25 | 1043 } | TypeShape::Enum { .. } => {
            String::from_utf8(value.to_vec()).expect("text")
        }
        TypeShape::Domain { over, .. } => print(over, value)?,
        TypeShape::Array { delimiter, element, .. } => {
            let count = word(&mut rest);
            let _has_nulls = word(&mut rest);
            let _element_oid = word(&mut rest);
            let dimensions: Vec<(i32, i32)> =
                (0..count).map(|_| (word(&mut rest), word(&mut rest))).collect();
            if dimensions.is_empty() {
                return Some("{}".to_owned());
            }
            let mut text = String::new();
            for (length, lower) in &dimensions {
                write!(text, "[{lower}:{}]", lower + length - 1).expect("a string takes all");
            }
            text.push('=');
            elements(&dimensions, char::from(*delimiter), element, &mut rest, &mut text)?;
            text
        }
        TypeShape::Range { subtype, .. } => range(subtype, value)?,
        TypeShape::Multirange { subtype, .. } => {
            let count = word(&mut rest);
            let ranges: Option<Vec<String>> =
                (0..count).map(|_| range(subtype, part(&mut rest).expect("a range"))).collect();
            format!("{{{}}}", ranges?.join(","))
        }
        TypeShape::Composite { fields } => {
            assert_eq!(usize::try_from(word(&mut rest)), Ok(fields.len()));
            let mut texts = Vec::new();
            for field in fields {
                assert_eq!(word(&mut rest).cast_unsigned(), field.oid);
                texts.push(match part(&mut rest) {
                    None => String::new(),
                    Some(value) => quoted(&print(&field.shape, value)?),
                });
            }
            format!("({})", texts.join(","))
        }
        TypeShape::Hstore => {
            let text = |value: &[u8]| escaped(std::str::from_utf8(value).expect("text"));
            let pair = |rest: &mut &[u8]| {
                let key = text(part(rest).expect("a key"));
                format!("{key}=>{}", part(rest).map_or("NULL".to_owned(), text))
            };
            let pairs: Vec<String> = (0..word(&mut rest)).map(|_| pair(&mut rest)).collect();
            pairs.join(", ")
        }
        _ => return None,
    })
}

fn elements(
    dimensions: &[(i32, i32)],
    delimiter: char,
    element: &TypeShape,
    rest: &mut &[u8],
    text: &mut String,
) -> Option<()> {
    let Some(((length, _), inner)) = dimensions.split_first() else {
        match part(rest) {
            None => text.push_str("NULL"),
            Some(value) => text.push_str(&escaped(&print(element, value)?)),
        }
        return Some(());
    };
    for n in 0..*length {
        text.push(if n == 0 { '{' } else { delimiter });
        elements(inner, delimiter, element, rest, text)?;
    }
    text.push('}');
    Some(())
}

fn range(subtype: &TypeShape, value: &[u8]) -> Option<String> {
    let (&flags, mut rest) = value.split_first().expect("flags");
    if flags & 1 != 0 {
        return Some("empty".to_owned());
    }
    let mut bound = |infinite: u8| match flags & infinite {
        0 => Some(quoted(&print(subtype, part(&mut rest)?)?)),
        _ => Some(String::new()),
    };
    let (lower, upper) = (bound(8)?, bound(16)?);
    let (open, close) = (if flags & 2 == 0 { '(' } else { '[' }, if flags & 4 == 0 { ')' } else { ']' });
    Some(format!("{open}{lower},{upper}{close}"))
}

fn escaped(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\"\""))
}

fn word(rest: &mut &[u8]) -> i32 {
    let (word, behind) = rest.split_first_chunk().expect("four bytes");
    *rest = behind;
    i32::from_be_bytes(*word)
}

/// A value with its length in front; `None` for NULL.
fn part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(word(rest)).ok()?;
    let (value, behind) = rest.split_at(length);
    *rest = behind;
    Some(value)
}
