//! `money` as the C locale writes it: `$1,234.56`, in cents.

use super::space::is_space;
use crate::verdict::NotEncoded;

const TYPE_NAME: &str = "money";
/// Digits after the point, where the locale does not say.
const PLACES: u32 = 2;

#[inline]
pub(super) fn parse_money(literal: &[u8]) -> Result<i64, NotEncoded> {
    // What surrounds the number may be mixed freely; even a number is not asked for.
    let (text, negative) = before_number(literal);
    let (cents, after) = Cents::read(text);
    let Some(negative) = after_number(after, negative) else {
        return Err(match cents {
            Some(_) => NotEncoded::syntax(TYPE_NAME, literal),
            None => NotEncoded::out_of_range(TYPE_NAME, literal),
        });
    };
    // The lowest amount has no positive counterpart.
    let cents = if negative { cents } else { cents.and_then(i64::checked_neg) };
    cents.ok_or_else(|| NotEncoded::out_of_range(TYPE_NAME, literal))
}

/// What follows signs, blanks and dollars, and whether a sign was negative.
fn before_number(literal: &[u8]) -> (&[u8], bool) {
    let text = after_dollar(literal);
    let (text, negative) = match text {
        [b'-' | b'(', rest @ ..] => (rest, true),
        [b'+', rest @ ..] => (rest, false),
        _ => (text, false),
    };
    (after_dollar(text), negative)
}

/// Without a dollar and blanks around it.
fn after_dollar(text: &[u8]) -> &[u8] {
    let text = after_blanks(text);
    after_blanks(text.strip_prefix(b"$").unwrap_or(text))
}

fn after_blanks(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_space(*first)
    {
        text = rest;
    }
    text
}

/// Whether the number is negative after all; `None` when something else follows it.
fn after_number(text: &[u8], negative: bool) -> Option<bool> {
    text.iter().try_fold(negative, |negative, byte| match byte {
        b'-' => Some(true),
        b'+' | b')' | b'$' => Some(negative),
        _ => is_space(*byte).then_some(negative),
    })
}

/// An amount while its digits are read, below zero: that side reaches further.
struct Cents(Option<i64>);

impl Cents {
    /// The digits, as a negative number of cents (`None` beyond the limits), and what follows them. Commas are ignored
    /// wherever they stand before the last place.
    fn read(text: &[u8]) -> (Option<i64>, &[u8]) {
        let mut cents = Cents(Some(0));
        let mut places = None;
        let mut rest = text;
        while let [byte, tail @ ..] = rest {
            match (byte, places) {
                (b'0'..=b'9', None | Some(0..PLACES)) => {
                    cents.push(byte - b'0');
                    places = places.map(|places| places + 1);
                }
                (b'.', None) => places = Some(0),
                (b',', _) => {}
                _ => break,
            }
            rest = tail;
        }
        if let [b'5'..=b'9', ..] = rest {
            cents.0 = cents.0.and_then(|cents| cents.checked_sub(1));
        }
        for _ in places.unwrap_or(0)..PLACES {
            cents.push(0);
        }
        let more = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (cents.0, &rest[more..])
    }

    fn push(&mut self, digit: u8) {
        let next = |cents: i64| cents.checked_mul(10)?.checked_sub(i64::from(digit));
        self.0 = self.0.and_then(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn money(text: &str) -> Result<i64, NotEncoded> {
        parse_money(text.as_bytes())
    }

    #[test]
    fn amounts_are_read_in_every_spelling() {
        for (text, cents) in [
            ("12", 1200),
            ("$1,234.56", 123_456),
            ("-$1,234.56", -123_456),
            ("($1,234.56)", -123_456),
            ("$ -1.5", -150),
            ("1.005", 101),
            ("1.0049", 100),
            ("-1.005", -101),
            ("12.50-", -1250),
            ("12.50 $", 1250),
            (" .5 ", 50),
            ("1,2,3", 12_300),
            ("", 0),
            ("$", 0),
            ("-92233720368547758.08", i64::MIN),
            ("92233720368547758.07", i64::MAX),
        ] {
            assert_eq!(money(text), Ok(cents), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused_in_the_servers_words() {
        for text in ["abc", "1.2.3", "1e5", "12 34", "€5", "1.234,50", "--1", "1x"] {
            match money(text) {
                Err(NotEncoded::Invalid(invalid)) => {
                    let reason = format!("invalid input syntax for type money: \"{text}\"");
                    assert_eq!((invalid.sqlstate, invalid.reason), ("22P02", reason));
                }
                other => assert!(!text.is_ascii() && other == Err(NotEncoded::Unsure), "{text}: {other:?}"),
            }
        }
        for text in
            ["92233720368547758.08", "-92233720368547758.09", "99999999999999999999", "99999999999999999999x"]
        {
            let Err(NotEncoded::Invalid(invalid)) = money(text) else { panic!("{text} was read") };
            let reason = format!("value \"{text}\" is out of range for type money");
            assert_eq!((invalid.sqlstate, invalid.reason), ("22003", reason));
        }
    }

    proptest! {
        #[test]
        fn every_amount_reads_back(cents: i64) {
            let (sign, amount) = (if cents < 0 { "-" } else { "" }, cents.unsigned_abs());
            let text = format!("{sign}${}.{:02}", amount / 100, amount % 100);
            prop_assert_eq!(money(&text), Ok(cents));
        }
    }
}
