//! The encoding of an input for which nobody names one: guessed from its first part where the guess is safe. One damaged byte
//! must not turn a file of UTF-8 into something else, so what speaks for UTF-8 goes before what speaks against it.

use std::collections::BTreeSet;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use howdah_message::setting;

use crate::error::Error;
use crate::open::encoding::Encoding;

/// Input bytes that are looked at.
pub const FIRST_PART_BYTES: usize = 512 * 1024;

/// So many different words with other characters than ASCII are evidence; fewer may be an accident, or one value.
const ENOUGH_WORDS: usize = 5;

/// One short word of so many may happen to be UTF-8 as well, but for scripts in which few letters have high bytes.
const UTF8_ONE_IN: usize = 10;

/// One word of so many may look odd.
const ODD_ONE_IN: usize = 50;

/// Encodings that text in others is more often taken for than written in.
const RARE: [&str; 5] = ["LATIN4", "LATIN8", "ISO_8859_6", "ISO_8859_8", "WIN1258"];

/// What the first part of an input says of its encoding.
#[derive(Debug, PartialEq, Eq)]
pub enum Guess {
    /// It is UTF-8, or nothing else with certainty.
    Utf8,
    /// Certain enough to load it, and to say so.
    Is(Encoding),
    /// It is not UTF-8, and two encodings fit; with the first value that differs, as each has it.
    Either([(Encoding, String); 2]),
}

/// Guesses the encoding of an input that starts with `first`; with `is_whole` that is all of it.
pub fn guess(first: &[u8], is_whole: bool) -> Guess {
    let Err(error) = simdutf8::compat::from_utf8(first) else {
        return if is_utf16(first) { Guess::Is(byte_order(first)) } else { Guess::Utf8 };
    };
    if matches!(first, [0xEF, 0xBB, 0xBF, ..] | [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]) {
        return Guess::Utf8;
    }
    if is_utf16(first) {
        return Guess::Is(byte_order(first));
    }
    // What the first part cut in two is no fault.
    let is_cut = error.error_len().is_none() && !is_whole;
    let whole = if is_cut { &first[..error.valid_up_to()] } else { first };
    // A line that the first part cut in two says nothing: a character may be cut with it.
    let end = if is_whole { None } else { memchr::memrchr2(b'\n', b'\r', whole) };
    let lines = &whole[..end.map_or(whole.len(), |at| at + 1)];
    let words = Words::of(lines);
    if words.different < ENOUGH_WORDS {
        return Guess::Utf8;
    }
    let telling = telling_lines(lines);
    let detector = detector(&telling);
    let found = detector.guess(None, Utf8Detection::Deny);
    // Where no encoding fits, the answer is this one; or what is usual in the country one asks for.
    let is_usual_only = |country: &[u8]| detector.guess(Some(country), Utf8Detection::Deny) != found;
    if found == encoding_rs::WINDOWS_1252 && [&b"gr"[..], b"kr", b"th"].into_iter().all(is_usual_only) {
        return Guess::Utf8;
    }
    let encoding = Encoding::from_whatwg(found);
    let utf8_allowed = if encoding.is_latin() { 0 } else { words.all / UTF8_ONE_IN };
    let is_usual = !RARE.contains(&encoding.name());
    if !is_usual || words.utf8 > utf8_allowed || !reads_well(lines, encoding) {
        return Guess::Utf8;
    }
    match rival(&telling, encoding).and_then(|rival| differing(lines, encoding, rival)) {
        Some(two) => Guess::Either(two),
        None => Guess::Is(encoding),
    }
}

/// The encodings that text which is not UTF-8 may be written in, the likeliest first: for a hint, however weak. Few words tell
/// the Latin ones not apart, of which WIN1252 is the usual.
pub fn likely(bytes: &[u8]) -> Vec<Encoding> {
    if let Some(found) = utf16(bytes) {
        return vec![found];
    }
    let found = Encoding::from_whatwg(detector(bytes).guess(None, Utf8Detection::Deny));
    let usual = Encoding::from_whatwg(encoding_rs::WINDOWS_1252);
    let is_unclear = found != usual
        && found.is_latin()
        && Words::of(bytes).different < ENOUGH_WORDS
        && reads_well(bytes, usual);
    if is_unclear { vec![usual, found] } else { vec![found] }
}

/// UTF-16 without its byte order mark shows by its NULs: every other byte of what is mostly ASCII.
pub fn utf16(bytes: &[u8]) -> Option<Encoding> {
    let [even, odd] = nuls(bytes);
    // Delimiters, digits and line ends are ASCII in any language's table.
    (even.max(odd) > bytes.len() / 10).then(|| byte_order(bytes))
}

/// Two different readings, as an error.
pub fn ambiguous(name: &str, two: &[(Encoding, String); 2]) -> Error {
    let [(one, first), (other, second)] = two;
    let (one, other) = (one.name(), other.name());
    Error::usage(format!("{name} is not UTF-8 and can be read in two ways"))
        .with_detail(format!("as {one}: {first}\nas {other}: {second}"))
        .with_hint(message![
            "say which: ",
            setting::ENCODING.word(one),
            ", or ",
            setting::ENCODING.word(other)
        ])
}

/// The NULs at even and at odd places.
fn nuls(bytes: &[u8]) -> [usize; 2] {
    [0, 1].map(|from| bytes.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count())
}

fn byte_order(bytes: &[u8]) -> Encoding {
    let [even, odd] = nuls(bytes);
    if odd > even { Encoding::UTF16LE } else { Encoding::UTF16BE }
}

/// Whether `bytes` are certainly UTF-16: mostly ASCII in it, and nothing that text does not have.
fn is_utf16(bytes: &[u8]) -> bool {
    const ENOUGH_UNITS: usize = 8;
    let [even, odd] = nuls(bytes);
    let units = bytes.len() / 2;
    // The last two units may be half of something.
    let whole = &bytes[..units.saturating_sub(2) * 2];
    let is_control = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    units >= ENOUGH_UNITS
        && even.max(odd) > units / 2
        && even.min(odd) <= units / ODD_ONE_IN
        && byte_order(bytes).reads(whole).is_some_and(|text| !text.contains(is_control))
}

fn detector(bytes: &[u8]) -> EncodingDetector {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector
}

/// The words with other characters than ASCII.
#[derive(Debug, Default)]
struct Words {
    all: usize,
    different: usize,
    /// Those that are UTF-8.
    utf8: usize,
}

impl Words {
    fn of(bytes: &[u8]) -> Words {
        let is_word = |byte: &u8| !byte.is_ascii() || byte.is_ascii_alphanumeric();
        let mut words = Words::default();
        let mut seen = BTreeSet::new();
        for word in bytes.split(|byte| !is_word(byte)).filter(|word| !word.is_ascii()) {
            words.all += 1;
            words.utf8 += usize::from(std::str::from_utf8(word).is_ok());
            if seen.len() < ENOUGH_WORDS {
                seen.insert(word);
            }
        }
        words.different = seen.len();
        words
    }
}

/// Whether `bytes` read in `encoding` look like words that somebody wrote.
fn reads_well(bytes: &[u8], encoding: Encoding) -> bool {
    let Some(text) = encoding.reads(bytes) else { return false };
    let is_written = |c: char| c.is_alphanumeric() || !c.is_ascii() && !c.is_whitespace();
    let words = text.split(|c| !is_written(c)).filter(|word| !word.is_ascii());
    let (mut all, mut odd) = (0, 0);
    for word in words {
        all += 1;
        odd += usize::from(if encoding.is_bytewise() { is_odd(word) } else { is_mixed(word) });
    }
    odd <= all / ODD_ONE_IN
}

/// A sign in a word, a capital letter behind a small one, a letter behind a digit: what the encodings of DOS and the Macintosh,
/// which are not guessed, look like in others.
fn is_odd(word: &str) -> bool {
    let is_sign = |c: char| {
        let has_signs = matches!(c, '\u{80}'..='\u{ff}' | '\u{2000}'..='\u{2bff}');
        // Quotes, apostrophes, hyphens, and the point between two l of Catalan, stand in words and around them.
        let belongs =
            matches!(c, '«' | '»' | '¿' | '¡' | '´' | '·' | '\u{ad}' | '\u{2010}'..='\u{201e}' | '‹' | '›');
        has_signs && !c.is_alphabetic() && !belongs
    };
    let is_letter = |c: char| !c.is_ascii() && c.is_alphabetic() && !matches!(c, 'ª' | 'º');
    let chars: Vec<char> = word.chars().collect();
    let of_two = chars.windows(2).any(|two| {
        let [before, c] = *two else { return false };
        is_letter(c)
            && (is_sign(before) || before.is_ascii_digit() || before.is_lowercase() && c.is_uppercase())
    });
    let of_three = chars.windows(3).any(|three| {
        let [before, c, after] = *three else { return false };
        is_sign(c) && before.is_alphabetic() && after.is_alphabetic()
    });
    of_two || of_three || chars.iter().any(|c| c.is_control())
}

/// Letters of ASCII within a word of another script, or the half-width Katakana that signs of other encodings look like.
fn is_mixed(word: &str) -> bool {
    let is_half_width = |c: char| ('\u{ff61}'..='\u{ff9f}').contains(&c);
    word.contains(|c: char| c.is_ascii_alphabetic()) || word.chars().all(|c| c.is_ascii() || is_half_width(c))
}

/// Lines with other characters than ASCII, as many as tell the encoding: looking closely takes time.
fn telling_lines(bytes: &[u8]) -> Vec<u8> {
    const ENOUGH_BYTES: usize = 64 * 1024;
    let mut telling = Vec::new();
    let lines = bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r'));
    for line in lines.filter(|line| !line.is_ascii()) {
        telling.extend_from_slice(line);
        if telling.len() >= ENOUGH_BYTES {
            break;
        }
    }
    telling
}

/// Another encoding that is as good: what each half of the lines, taken alone, speaks for.
fn rival(bytes: &[u8], encoding: Encoding) -> Option<Encoding> {
    if encoding.name() == "WIN1252" && bytes.contains(&0xA4) {
        // The euro sign of LATIN9, or a sign that nobody uses.
        return Encoding::named("LATIN9").ok();
    }
    let mut halves = [Vec::new(), Vec::new()];
    for (at, line) in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')).enumerate() {
        halves[at % 2].extend_from_slice(line);
    }
    let speaks_for = |half: &Vec<u8>| {
        let is_enough = Words::of(half).different >= ENOUGH_WORDS;
        is_enough.then(|| Encoding::from_whatwg(detector(half).guess(None, Utf8Detection::Deny)))
    };
    halves.iter().filter_map(speaks_for).find(|found| *found != encoding)
}

/// The first value that two encodings read differently, if there is one.
fn differing(bytes: &[u8], one: Encoding, other: Encoding) -> Option<[(Encoding, String); 2]> {
    let is_end = |c: char| matches!(c, '\n' | '\r' | ',' | ';' | '\t' | '|' | '"');
    let (first, second) = (one.reads(bytes)?, other.reads(bytes)?);
    let mut values = first.split(is_end).zip(second.split(is_end));
    values.find(|(a, b)| a != b).map(|(a, b)| [(one, a.to_owned()), (other, b.to_owned())])
}

#[cfg(test)]
mod tests;
