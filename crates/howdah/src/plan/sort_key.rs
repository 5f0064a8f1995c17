//! The order of an index as bytes: a row's values in it become a number, and rows sorted by that lie as the index has them,
//! or nearly so. That is all that it takes: rows that are neighbours in an index find its pages in the server's caches.

use howdah_encode::binary_row::{BinaryRow, BrokenRow};
use tokio_postgres::types::Type;

use crate::catalog::indexes::BtreeIndex;
use crate::plan::planned_column::PlanColumn;

/// The bytes of a key.
const WIDTH: usize = 16;

/// Sorts behind all values of eight bytes.
const NULL: [u8; 9] = [0xff; 9];

/// An index by which rows can be sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SortKey {
    /// The index's name.
    pub(crate) index: String,
    /// The index's size, in pages.
    pub(crate) pages: u64,
    /// The fields of a row that make the key, and how they are compared.
    fields: Vec<(usize, Comparison)>,
}

/// How the bytes of a value in COPY's binary format become bytes that compare as the values do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// As they are.
    Unsigned,
    /// Two's complement.
    Signed,
    Float,
    Numeric,
    /// Most collations put `a` beside `A`.
    Text,
}

impl Comparison {
    fn of(type_oid: u32) -> Option<Comparison> {
        Some(match Type::from_oid(type_oid)? {
            Type::INT2 | Type::INT4 | Type::INT8 | Type::MONEY => Comparison::Signed,
            Type::DATE | Type::TIME | Type::TIMESTAMP | Type::TIMESTAMPTZ => Comparison::Signed,
            Type::FLOAT4 | Type::FLOAT8 => Comparison::Float,
            Type::NUMERIC => Comparison::Numeric,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR => Comparison::Text,
            Type::BOOL | Type::OID | Type::UUID | Type::BYTEA | Type::MACADDR => Comparison::Unsigned,
            _ => return None,
        })
    }

    /// Appends the first bytes of `value`.
    fn append(self, value: &[u8], key: &mut KeyBytes) {
        match (self, value) {
            (Comparison::Signed, [first, rest @ ..]) => {
                key.push(first ^ 0x80);
                key.extend(rest.iter().copied());
            }
            (Comparison::Float, [first, ..]) if first & 0x80 != 0 => {
                key.extend(value.iter().map(|byte| !byte));
            }
            (Comparison::Float, [first, rest @ ..]) => {
                key.push(first ^ 0x80);
                key.extend(rest.iter().copied());
            }
            // Digits to the base of 10,000: their count, the exponent of the first, the sign, a scale, and then they.
            (Comparison::Numeric, [_, _, high, low, sign, _, _, _, digits @ ..]) => match (*sign, digits) {
                (0x00, []) => key.push(2),
                (0x00, digits) => {
                    key.extend([3, high ^ 0x80, *low]);
                    key.extend(digits.iter().copied());
                }
                (0x40, digits) => {
                    key.extend([1, !(high ^ 0x80), !low]);
                    key.extend(digits.iter().map(|byte| !byte));
                    // The more digits, the smaller.
                    key.push(!0);
                }
                (0xf0, _) => key.push(0),
                _ => key.push(4),
            },
            (Comparison::Text, value) => {
                key.extend(value.iter().take(WIDTH).map(u8::to_ascii_lowercase));
                key.push(0);
            }
            (Comparison::Unsigned, value) => key.extend(value.iter().take(WIDTH).copied()),
            // Bytes that are no such value sort anywhere: the server refuses them.
            _ => {}
        }
    }
}

/// The first bytes of a key.
#[derive(Default)]
struct KeyBytes {
    bytes: [u8; WIDTH],
    len: usize,
}

impl KeyBytes {
    /// What no longer fits does not count.
    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    fn extend(&mut self, bytes: impl IntoIterator<Item = u8>) {
        bytes.into_iter().for_each(|byte| self.push(byte));
    }
}

impl SortKey {
    /// The key of `index` in rows of `columns`; `None` where its first column is not among them, or of a type whose order is
    /// not known here.
    pub(crate) fn new(index: &BtreeIndex, columns: &[PlanColumn]) -> Option<SortKey> {
        let field = |name: &String| {
            let at = columns.iter().position(|column| column.name == *name)?;
            Some((at, Comparison::of(columns[at].base_type.0)?))
        };
        let fields: Vec<_> = index.columns.iter().map_while(field).collect();
        (!fields.is_empty()).then(|| SortKey { index: index.name.clone(), pages: index.pages, fields })
    }

    /// The key of a row in COPY's binary format.
    ///
    /// # Errors
    /// The row ends before its fields do.
    pub(crate) fn of(&self, row: BinaryRow<'_>) -> Result<u128, BrokenRow> {
        let mut key = KeyBytes::default();
        for (at, comparison) in &self.fields {
            match row.clone().nth(*at).ok_or(BrokenRow)?? {
                Some(value) => comparison.append(value, &mut key),
                None => key.extend(NULL),
            }
        }
        Ok(u128::from_be_bytes(key.bytes))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// By the signed number in field `at`.
    pub(crate) fn sort_key(at: usize, pages: u64) -> SortKey {
        SortKey { index: format!("of_{at}"), pages, fields: vec![(at, Comparison::Signed)] }
    }

    fn key(comparison: Comparison, values: &[Option<&[u8]>]) -> u128 {
        let mut row = u16::try_from(values.len()).unwrap().to_be_bytes().to_vec();
        for value in values {
            match value {
                Some(value) => {
                    row.extend(i32::try_from(value.len()).unwrap().to_be_bytes());
                    row.extend(*value);
                }
                None => row.extend((-1i32).to_be_bytes()),
            }
        }
        let fields = (0..values.len()).map(|at| (at, comparison)).collect();
        SortKey { index: "i".into(), pages: 0, fields }.of(BinaryRow::new(&row).unwrap()).unwrap()
    }

    /// That keys of `values`, which ascend, ascend.
    fn ascend<const N: usize>(comparison: Comparison, values: &[[u8; N]]) {
        let keys: Vec<u128> = values.iter().map(|value| key(comparison, &[Some(value)])).collect();
        assert!(keys.is_sorted(), "{comparison:?}: {keys:?}");
        assert!(*keys.last().unwrap() < key(comparison, &[None]), "{comparison:?}");
    }

    #[test]
    fn keys_ascend_as_the_values_do() {
        ascend(Comparison::Signed, &[i64::MIN, -7, -1, 0, 1, 300, i64::MAX].map(i64::to_be_bytes));
        ascend(Comparison::Signed, &[i16::MIN, -1, 0, 256].map(i16::to_be_bytes));
        let floats = [f64::NEG_INFINITY, -1e300, -1.5, -0.0, 0.0, 1e-300, 2.5, f64::INFINITY, f64::NAN];
        ascend(Comparison::Float, &floats.map(f64::to_be_bytes));
        ascend(Comparison::Unsigned, &[0u32, 1, 1 << 31].map(u32::to_be_bytes));
        ascend(Comparison::Text, &[*b"anna", *b"Bert", *b"carl"]);
    }

    #[test]
    fn keys_of_numerics_ascend_as_they_do() {
        let numeric = |weight: i16, sign: u16, digits: &[i16]| {
            let mut value = i16::try_from(digits.len()).unwrap().to_be_bytes().to_vec();
            value.extend(weight.to_be_bytes());
            value.extend(sign.to_be_bytes());
            value.extend([0, 0]);
            digits.iter().for_each(|digit| value.extend(digit.to_be_bytes()));
            key(Comparison::Numeric, &[Some(&value)])
        };
        let ascending = [
            numeric(0, 0xf000, &[]),
            numeric(1, 0x4000, &[2, 5]),
            numeric(0, 0x4000, &[3]),
            numeric(0, 0x4000, &[2, 2500]),
            numeric(0, 0x4000, &[2]),
            numeric(-1, 0x4000, &[9000]),
            numeric(0, 0, &[]),
            numeric(-1, 0, &[1]),
            numeric(0, 0, &[1]),
            numeric(0, 0, &[1, 5000]),
            numeric(2, 0, &[1]),
            numeric(0, 0xd000, &[]),
        ];
        assert!(ascending.is_sorted(), "{ascending:?}");
    }

    #[test]
    fn columns_count_in_their_order_and_what_does_not_fit_is_left_out() {
        let pair =
            |a: i64, b: i64| key(Comparison::Signed, &[Some(&a.to_be_bytes()), Some(&b.to_be_bytes())]);
        assert!(pair(1, 9) < pair(2, -9) && pair(2, -9) < pair(2, 0));
        let long = |text: &[u8]| key(Comparison::Text, &[Some(text)]);
        assert_eq!(long(b"the same sixteen, and more"), long(b"the same sixteen, or less"));
        assert!(
            key(Comparison::Text, &[Some(b"a"), Some(b"z")])
                < key(Comparison::Text, &[Some(b"ab"), Some(b"a")])
        );
    }

    #[test]
    fn a_value_of_another_length_than_its_type_s_breaks_nothing() {
        for comparison in [Comparison::Signed, Comparison::Float, Comparison::Numeric, Comparison::Text] {
            for value in [&b""[..], b"a", b"abc", &[0x40; 300]] {
                key(comparison, &[Some(value)]);
            }
        }
    }

    #[test]
    fn a_broken_row_is_an_error() {
        let wanted = sort_key(1, 0);
        assert_eq!(wanted.of(BinaryRow::new(&[0, 1, 0xff, 0xff, 0xff, 0xff]).unwrap()), Err(BrokenRow));
        assert_eq!(wanted.of(BinaryRow::new(&[0, 2, 0, 0, 0, 9]).unwrap()), Err(BrokenRow));
    }
}
