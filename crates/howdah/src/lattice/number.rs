//! Which numeric types give a decimal literal back as it was written.

use howdah_encode::wire::{NUMERIC_INTEGER_DIGITS, NUMERIC_SCALE};

use super::InferredType::{Bigint, DoublePrecision, Numeric};
use super::TypeSet;

const ANY: TypeSet = TypeSet::of(&[Bigint, DoublePrecision, Numeric]);
const INTEGER: TypeSet = TypeSet::of(&[Bigint, Numeric]);
const DECIMAL: TypeSet = TypeSet::of(&[DoublePrecision, Numeric]);
const EXACT: TypeSet = TypeSet::of(&[Numeric]);

/// Two decimals of so many significant digits are never the same `double`, so each comes back as its shortest form
/// (below 1e15; see [`classify_scientific`]).
const DOUBLE_DIGITS: usize = 15;
/// `float8out` writes exponents from here on: 1e+15.
const DOUBLE_EXPONENT: usize = 15;
/// … and down from here: 1e-05. One more zero after the point than this allows.
const DOUBLE_ZEROS: usize = 3;
/// Well inside the normal range of a `double`, where all 15 digits hold.
const DOUBLE_EXPONENT_LIMIT: usize = 300;

/// Leading zeros, `+`, a bare or trailing point, spaces, `NaN` and infinities are text: a type would lose them, and
/// more often than not they are no numbers (zip codes, chapters, words). Two liberties: `.5` is `numeric` though it
/// comes back as `0.5`, and so is a negative zero though its sign is lost.
pub(super) fn classify(value: &[u8]) -> TypeSet {
    let negative = value[0] == b'-';
    let digits = &value[usize::from(negative)..];
    let integer = digit_run(digits);
    if integer > 1 && digits[0] == b'0' {
        return TypeSet::NONE;
    }
    match digits.get(integer) {
        None => classify_integer(digits, negative),
        Some(b'.') => classify_decimal(digits, integer),
        Some(b'e') => classify_scientific(digits, integer),
        Some(_) => TypeSet::NONE,
    }
}

#[inline]
fn digit_run(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len())
}

fn classify_integer(digits: &[u8], negative: bool) -> TypeSet {
    match digits.len() {
        0 => TypeSet::NONE,
        1 if negative && digits[0] == b'0' => EXACT,
        1..=DOUBLE_DIGITS => ANY,
        16..=18 => INTEGER,
        19 => {
            let limit: &[u8] = if negative { b"9223372036854775808" } else { b"9223372036854775807" };
            if digits <= limit { INTEGER } else { EXACT }
        }
        20..=NUMERIC_INTEGER_DIGITS => EXACT,
        _ => TypeSet::NONE,
    }
}

fn classify_decimal(digits: &[u8], integer: usize) -> TypeSet {
    let fraction = &digits[integer + 1..];
    let scale = digit_run(fraction);
    if scale == 0 {
        return TypeSet::NONE;
    }
    if scale < fraction.len() {
        return if fraction[scale] == b'e' { classify_scientific(digits, integer) } else { TypeSet::NONE };
    }
    if integer > NUMERIC_INTEGER_DIGITS || scale > NUMERIC_SCALE {
        return TypeSet::NONE;
    }
    if integer == 0 || fraction[scale - 1] == b'0' {
        return EXACT;
    }
    let survives = if digits[0] == b'0' {
        // The last digit is not zero, so there is an end to the zeros.
        let zeros = fraction.iter().take_while(|byte| **byte == b'0').count();
        zeros <= DOUBLE_ZEROS && scale - zeros <= DOUBLE_DIGITS
    } else {
        integer + scale <= DOUBLE_DIGITS
    };
    if survives { DECIMAL } else { EXACT }
}

/// Only the form that `float8out` itself writes, such as `1.5e-07`: a sign and at least two digits, which no hash or
/// product code (`12e4`) has by chance. Large ones are `numeric`: some of them lie halfway between two doubles, and those
/// `float8out` does not shorten (7e+22 comes back as 7.0000000000000004e+22).
#[cold]
fn classify_scientific(digits: &[u8], integer: usize) -> TypeSet {
    if integer != 1 || digits[0] == b'0' {
        return TypeSet::NONE;
    }
    let end = digits.iter().position(|byte| *byte == b'e').unwrap_or(digits.len());
    let (mantissa, exponent) = (&digits[..end], &digits[end + 1..]);
    let significant = match mantissa {
        [_] => 1,
        [_, b'.', .., b'0'] => return TypeSet::NONE,
        [_, b'.', fraction @ ..] if !fraction.is_empty() => 1 + fraction.len(),
        _ => return TypeSet::NONE,
    };
    let [sign @ (b'+' | b'-'), power @ ..] = exponent else { return TypeSet::NONE };
    let canonical = match power {
        [tens, ones] => tens.is_ascii_digit() && ones.is_ascii_digit(),
        [b'1'..=b'9', tens, ones] => tens.is_ascii_digit() && ones.is_ascii_digit(),
        _ => false,
    };
    if !canonical {
        return TypeSet::NONE;
    }
    let power = power.iter().fold(0, |power, digit| power * 10 + usize::from(digit - b'0'));
    let small = *sign == b'-';
    let written_so = if small { power > 1 + DOUBLE_ZEROS } else { power >= DOUBLE_EXPONENT };
    if !written_so || power > DOUBLE_EXPONENT_LIMIT {
        TypeSet::NONE
    } else if small && significant <= DOUBLE_DIGITS {
        DECIMAL
    } else {
        EXACT
    }
}
