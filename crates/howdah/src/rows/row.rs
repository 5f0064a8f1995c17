//! Rows: what puts its values into the fields of one, in the order of the columns.

use howdah_encode::binary_row::split_field;

use super::field::FieldWriter;
use super::open::OpenField;
use super::shape::RowColumn;
use super::value::Value;
use crate::error::Error;

/// One row of a program. Derive it for structs with named fields (`#[derive(howdah::Row)]`), or use tuples; slices and
/// vectors of values are rows whose length is known only when they are written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no row",
    note = "tuples of up to sixteen values are rows, and structs that derive `howdah::Row`"
)]
pub trait Row {
    /// The columns that the fields are for, in order; `None`: those that the writer was made for.
    const COLUMNS: Option<&'static [&'static str]>;

    /// Puts all fields, in order.
    ///
    /// # Errors
    /// What [`Fields::put`] says.
    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Error>;
}

/// The fields of one row, in the making.
pub struct Fields<'r> {
    pub(super) columns: &'r [RowColumn],
    /// How many were put.
    pub(super) count: usize,
    pub(super) out: &'r mut Vec<u8>,
    /// Where the row starts in `out`.
    pub(super) start: usize,
    pub(super) open: &'r mut Vec<OpenField>,
}

impl Fields<'_> {
    /// Puts the next field.
    ///
    /// # Errors
    /// The value is none of the column's type, with SQLSTATE and column; or the row has more fields than columns.
    #[inline]
    pub fn put<V: Value + ?Sized>(&mut self, value: &V) -> Result<(), Error> {
        self.put_by(|field| V::put(value, field))
    }

    /// Puts the next field by what `put` does.
    #[inline]
    pub(super) fn put_by(
        &mut self,
        put: impl FnOnce(&mut FieldWriter<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(column) = self.columns.get(self.count) else {
            return Err(wrong_count(self.columns, "more"));
        };
        let at = self.out.len();
        let mut field = FieldWriter {
            column,
            index: self.count,
            row_start: self.start,
            out: &mut *self.out,
            open: &mut *self.open,
        };
        put(&mut field)?;
        if !is_one_field(&self.out[at..]) {
            return Err(not_one_field(column));
        }
        self.count += 1;
        Ok(())
    }

    /// Whether every column has its field.
    pub(super) fn finish(&self) -> Result<(), Error> {
        if self.count == self.columns.len() { Ok(()) } else { Err(wrong_count(self.columns, "fewer")) }
    }
}

/// Whether bytes are one field: its length word, and as many bytes as that says.
#[inline]
pub(super) fn is_one_field(bytes: &[u8]) -> bool {
    matches!(split_field(bytes), Ok((_, [])))
}

#[cold]
pub(super) fn not_one_field(column: &RowColumn) -> Error {
    Error::usage("the value put no field, or more than one")
        .in_column(&column.name)
        .with_hint("an implementation of Value calls exactly one method of the FieldWriter that puts a field")
}

#[cold]
fn wrong_count(columns: &[RowColumn], than: &str) -> Error {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    Error::usage(format!("the row has {than} fields than the {} columns it is for", columns.len()))
        .with_sqlstate("42601")
        .with_detail(format!("columns: {}", names.join(", ")))
        .with_hint("name the columns that the rows have fields for")
}

impl<R: Row + ?Sized> Row for &R {
    const COLUMNS: Option<&'static [&'static str]> = R::COLUMNS;

    #[inline]
    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Error> {
        R::put(self, fields)
    }
}

impl<V: Value> Row for [V] {
    const COLUMNS: Option<&'static [&'static str]> = None;

    #[inline]
    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Error> {
        self.iter().try_for_each(|value| fields.put(value))
    }
}

impl<V: Value> Row for Vec<V> {
    const COLUMNS: Option<&'static [&'static str]> = None;

    #[inline]
    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Error> {
        Row::put(self.as_slice(), fields)
    }
}

/// Tuples, by the names and numbers of their members.
macro_rules! tuples {
    ($(($($name:ident $at:tt),+))+) => {$(
        impl<$($name: Value),+> Row for ($($name,)+) {
            const COLUMNS: Option<&'static [&'static str]> = None;

            #[inline]
            fn put(&self, fields: &mut Fields<'_>) -> Result<(), Error> {
                $(fields.put(&self.$at)?;)+
                Ok(())
            }
        }
    )+};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15)
}
