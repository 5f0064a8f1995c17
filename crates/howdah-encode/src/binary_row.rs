//! Reads rows of COPY's binary format: a count of fields in two bytes, then each field as a length in four, -1 for NULL,
//! and so many bytes.

use std::error::Error;
use std::fmt;

/// Bytes that were to be a row, or a field of one, and are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokenRow;

impl fmt::Display for BrokenRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row in COPY's binary format ends before its fields do")
    }
}

impl Error for BrokenRow {}

/// Splits bytes behind the field that they start with: its value, `None` for NULL, and what follows it.
///
/// # Errors
/// They do not start with a whole field.
#[inline]
pub fn split_field(bytes: &[u8]) -> Result<(Option<&[u8]>, &[u8]), BrokenRow> {
    let (length, rest) = bytes.split_first_chunk().ok_or(BrokenRow)?;
    match i32::from_be_bytes(*length) {
        -1 => Ok((None, rest)),
        length => {
            let length = usize::try_from(length).map_err(|_| BrokenRow)?;
            let (value, rest) = rest.split_at_checked(length).ok_or(BrokenRow)?;
            Ok((Some(value), rest))
        }
    }
}

/// The values of the row that bytes start with, `None` for NULL; the last item is an error where they do not hold all of it.
#[derive(Debug, Clone)]
pub struct BinaryRow<'r> {
    rest: &'r [u8],
    left: u16,
}

impl<'r> BinaryRow<'r> {
    /// Reads the count of fields.
    ///
    /// # Errors
    /// There is none.
    #[inline]
    pub fn new(bytes: &'r [u8]) -> Result<BinaryRow<'r>, BrokenRow> {
        let (count, rest) = bytes.split_first_chunk().ok_or(BrokenRow)?;
        Ok(BinaryRow { rest, left: u16::from_be_bytes(*count) })
    }

    /// The bytes behind the row.
    ///
    /// # Errors
    /// The row is not whole.
    pub fn behind(mut self) -> Result<&'r [u8], BrokenRow> {
        for value in &mut self {
            value?;
        }
        Ok(self.rest)
    }
}

impl<'r> Iterator for BinaryRow<'r> {
    type Item = Result<Option<&'r [u8]>, BrokenRow>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let split = split_field(self.rest);
        match split {
            Ok((_, rest)) => self.rest = rest,
            Err(BrokenRow) => self.left = 0,
        }
        Some(split.map(|(value, _)| value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two fields, `ab` and NULL, and the start of what follows.
    const ROW: [u8; 13] = [0, 2, 0, 0, 0, 2, b'a', b'b', 0xff, 0xff, 0xff, 0xff, 9];

    #[test]
    fn the_values_of_a_row_come_in_order_and_what_follows_is_left() {
        let row = BinaryRow::new(&ROW).unwrap();
        let values: Vec<_> = row.clone().map(Result::unwrap).collect();
        assert_eq!(values, [Some(&b"ab"[..]), None]);
        assert_eq!(row.behind(), Ok(&[9][..]));
    }

    #[test]
    fn a_row_that_ends_too_early_is_broken_wherever_it_ends() {
        for end in 0..ROW.len() - 1 {
            let behind = BinaryRow::new(&ROW[..end]).and_then(BinaryRow::behind);
            assert_eq!(behind, Err(BrokenRow), "{end} bytes");
        }
    }

    #[test]
    fn a_length_below_minus_one_is_no_null() {
        assert_eq!(split_field(&[0xff, 0xff, 0xff, 0xfe]), Err(BrokenRow));
        assert_eq!(split_field(&[0xff, 0xff, 0xff, 0xff]), Ok((None, &[][..])));
    }

    #[test]
    fn nothing_follows_a_broken_field() {
        let mut row = BinaryRow::new(&[0, 3, 0, 0, 0, 9, 1]).unwrap();
        assert_eq!(row.next(), Some(Err(BrokenRow)));
        assert_eq!(row.next(), None);
    }
}
