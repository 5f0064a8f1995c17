//! Which of two encoded values is the greater, for types whose fields say so.

use std::cmp::Ordering;

use super::TextCodec;

/// How the fields of a type compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Integers in two's complement: int2, int4, int8, date, time, timestamps, money.
    Signed,
    /// Byte by byte: unsigned numbers of one size, `"char"` and bytea.
    Bytes,
    /// `real`, `double precision`: NaN is the greatest.
    Float,
    /// `numeric`: NaN is the greatest.
    Numeric,
    /// Only the server can tell.
    Unknown,
}

impl Order {
    /// The order of a type's fields in its default operator class.
    pub(super) fn of(codec: &TextCodec) -> Order {
        match codec {
            TextCodec::Int2
            | TextCodec::Int4
            | TextCodec::Int8
            | TextCodec::Date
            | TextCodec::Time
            | TextCodec::Money
            | TextCodec::Timestamp
            | TextCodec::Timestamptz { .. } => Order::Signed,
            TextCodec::Oid
            | TextCodec::Char
            | TextCodec::Uuid
            | TextCodec::Bytea
            | TextCodec::Macaddr
            | TextCodec::Macaddr8
            | TextCodec::Lsn => Order::Bytes,
            TextCodec::Float4 | TextCodec::Float8 => Order::Float,
            TextCodec::Numeric { .. } => Order::Numeric,
            _ => Order::Unknown,
        }
    }

    /// Compares two values without their lengths; `None` when only the server can.
    pub(super) fn compare(self, left: &[u8], right: &[u8]) -> Option<Ordering> {
        match self {
            Order::Signed => Some(signed(left)?.cmp(&signed(right)?)),
            Order::Bytes => Some(left.cmp(right)),
            Order::Float => Some(float(left)?.cmp(&float(right)?)),
            Order::Numeric => Some(Numeric::read(left)?.cmp(&Numeric::read(right)?)),
            Order::Unknown => (left == right).then_some(Ordering::Equal),
        }
    }
}

/// An integer of two, four or eight bytes in network order.
pub(super) fn signed(value: &[u8]) -> Option<i64> {
    Some(match *value {
        [a, b] => i16::from_be_bytes([a, b]).into(),
        [a, b, c, d] => i32::from_be_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => i64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => return None,
    })
}

/// The bits of a number such that integers compare as the numbers do.
fn float(value: &[u8]) -> Option<i64> {
    let number = match *value {
        [a, b, c, d] => f64::from(f32::from_be_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => f64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => return None,
    };
    if number.is_nan() {
        return Some(i64::MAX);
    }
    // Adding zero makes both zeros one.
    let bits = i64::from_ne_bytes((number + 0.0).to_ne_bytes());
    Some(if bits < 0 { i64::MIN - bits } else { bits })
}

/// A numeric's parts in the order of their weight in a comparison.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Numeric<'a> {
    NegativeInfinity,
    Negative(std::cmp::Reverse<Magnitude<'a>>),
    Zero,
    Positive(Magnitude<'a>),
    Infinity,
    NaN,
}

/// Power of 10,000 of the first digit, and the digits, without zeros at either end.
type Magnitude<'a> = (i16, &'a [[u8; 2]]);

impl<'a> Numeric<'a> {
    fn read(value: &'a [u8]) -> Option<Self> {
        let ([_count, weight, sign, _scale], digits) = value.as_chunks::<2>().0.split_first_chunk()?;
        let magnitude = (i16::from_be_bytes(*weight), digits);
        Some(match u16::from_be_bytes(*sign) {
            0xc000 => Numeric::NaN,
            0xd000 => Numeric::Infinity,
            0xf000 => Numeric::NegativeInfinity,
            _ if digits.is_empty() => Numeric::Zero,
            0 => Numeric::Positive(magnitude),
            _ => Numeric::Negative(std::cmp::Reverse(magnitude)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionRules;

    /// Asserts that the literals of a type, given in ascending order, are found to be so.
    fn ascending(type_oid: u32, literals: &[&str]) {
        let rules = SessionRules::from_settings("UTC", "ISO, MDY", "postgres", "C");
        let codec = TextCodec::for_type(type_oid, -1, &rules).unwrap();
        let order = Order::of(&codec);
        let value = |literal: &&str| {
            let mut field = Vec::new();
            codec.encode(literal.as_bytes(), &mut field).unwrap();
            field.split_off(4)
        };
        let values: Vec<Vec<u8>> = literals.iter().map(value).collect();
        for (i, left) in values.iter().enumerate() {
            for (j, right) in values.iter().enumerate() {
                assert_eq!(
                    order.compare(left, right),
                    Some(i.cmp(&j)),
                    "{} and {}",
                    literals[i],
                    literals[j]
                );
            }
        }
    }

    #[test]
    fn values_compare_as_in_the_server() {
        ascending(23, &["-2147483648", "-1", "0", "1", "2147483647"]);
        ascending(1082, &["-infinity", "0044-03-15 BC", "1999-12-31", "2000-01-01", "infinity"]);
        ascending(701, &["-Infinity", "-1e300", "-1", "-1e-300", "0", "1e-300", "2", "Infinity", "NaN"]);
        ascending(700, &["-Infinity", "-1", "0", "1e-30", "1e30", "Infinity", "NaN"]);
        ascending(
            1700,
            &[
                "-Infinity",
                "-100000",
                "-10000.1",
                "-10000",
                "-9999",
                "-1.5",
                "-1",
                "-0.0001",
                "0",
                "0.00000001",
                "0.0001",
                "1",
                "1.00001",
                "1.5",
                "9999.9999",
                "10000",
                "10000.1",
                "20000",
                "Infinity",
                "NaN",
            ],
        );
        ascending(17, &["\\x", "\\x00", "\\x0001", "\\x01", "\\xff"]);
        ascending(3220, &["0/0", "0/FFFFFFFF", "1/0", "FFFFFFFF/0"]);
    }

    #[test]
    fn spellings_of_one_number_are_equal() {
        let rules = SessionRules::from_settings("UTC", "ISO, MDY", "postgres", "C");
        for (type_oid, one, other) in [(1700, "1.50", "1.5"), (1700, "0", "-0.00"), (701, "0", "-0")] {
            let codec = TextCodec::for_type(type_oid, -1, &rules).unwrap();
            let value = |literal: &str| {
                let mut field = Vec::new();
                codec.encode(literal.as_bytes(), &mut field).unwrap();
                field.split_off(4)
            };
            assert_eq!(Order::of(&codec).compare(&value(one), &value(other)), Some(Ordering::Equal));
        }
    }
}
