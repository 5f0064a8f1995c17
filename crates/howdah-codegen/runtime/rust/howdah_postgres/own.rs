//! Types of a program's own, which stand for those that values have otherwise.

use std::fmt;
use std::marker::PhantomData;

use bytes::BytesMut;
use tokio_postgres::Row;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

use super::codec::{Decode, Encode, Param, Refused, Value};
use super::{BoxedError, Error};

/// How a type of the program's stands for another.
pub trait Mapping {
    /// The program's.
    type Own;
    /// The other.
    type Base;

    /// Makes one of the program's.
    fn decode(value: Self::Base) -> Result<Self::Own, BoxedError>;

    /// Makes the other of one.
    fn encode(value: &Self::Own) -> Result<Self::Base, BoxedError>;
}

/// How it stands for each element of an array.
#[derive(Debug)]
pub struct Each<M>(PhantomData<M>);

impl<M: Mapping> Mapping for Each<M> {
    type Own = Vec<Option<M::Own>>;
    type Base = Vec<Option<M::Base>>;

    fn decode(values: Self::Base) -> Result<Self::Own, BoxedError> {
        let values = values.into_iter();
        values
            .map(|value| value.map(M::decode).transpose())
            .collect()
    }

    fn encode(values: &Self::Own) -> Result<Self::Base, BoxedError> {
        all::<M>(values)
    }
}

fn all<M: Mapping>(values: &[Option<M::Own>]) -> Result<Vec<Option<M::Base>>, BoxedError> {
    let values = values.iter().map(Option::as_ref);
    values
        .map(|value| value.map(M::encode).transpose())
        .collect()
}

fn refused(error: &BoxedError) -> Refused {
    Refused::new(error.to_string())
}

/// Reads a column that can be null.
pub fn nullable_as<M: Mapping<Base: Decode>>(
    row: &Row,
    index: usize,
) -> Result<Option<M::Own>, Error> {
    let value = super::nullable(row, index)?;
    value.map(|value| own::<M>(row, index, value)).transpose()
}

/// Reads a column that cannot be null.
pub fn column_as<M: Mapping<Base: Decode>>(row: &Row, index: usize) -> Result<M::Own, Error> {
    own::<M>(row, index, super::column(row, index)?)
}

fn own<M: Mapping>(row: &Row, index: usize, value: M::Base) -> Result<M::Own, Error> {
    M::decode(value).map_err(|error| Error::Column {
        column: row.columns()[index].name().to_owned(),
        why: refused(&error),
    })
}

/// Reads the only column, which can be null.
pub fn nullable_value_as<M: Mapping<Base: Decode>>(row: &Row) -> Result<Option<M::Own>, Error> {
    nullable_as::<M>(row, 0)
}

/// Reads the only column, which cannot be null.
pub fn value_as<M: Mapping<Base: Decode>>(row: &Row) -> Result<M::Own, Error> {
    column_as::<M>(row, 0)
}

/// A value that was made of one of the program's, if it could be.
pub struct Given<T>(Result<T, Refused>);

impl<T> fmt::Debug for Given<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Given(…)")
    }
}

/// Gives a value.
pub fn given<M: Mapping>(value: &M::Own) -> Given<M::Base> {
    Given(M::encode(value).map_err(|error| refused(&error)))
}

/// Gives a value that can be null.
pub fn given_or_null<M: Mapping>(value: Option<&M::Own>) -> Option<Given<M::Base>> {
    value.map(given::<M>)
}

/// Gives an array.
pub fn given_each<M: Mapping>(values: &[Option<M::Own>]) -> Given<Vec<Option<M::Base>>> {
    Given(all::<M>(values).map_err(|error| refused(&error)))
}

/// Gives an array that can be null.
pub fn given_each_or_null<M: Mapping>(
    values: Option<&[Option<M::Own>]>,
) -> Option<Given<Vec<Option<M::Base>>>> {
    values.map(given_each::<M>)
}

impl<T: Value> Value for Given<T> {
    const BINARY: bool = T::BINARY;

    fn accepts(ty: &Type) -> bool {
        T::accepts(ty)
    }

    fn built_in() -> Option<Type> {
        T::built_in()
    }
}

impl<T: Encode> Encode for Given<T> {
    fn is_null(&self) -> bool {
        self.0.as_ref().is_ok_and(Encode::is_null)
    }

    fn binary(&self, ty: &Type, out: &mut BytesMut) -> Result<(), Refused> {
        self.0.as_ref().map_err(Clone::clone)?.binary(ty, out)
    }

    fn literal(&self, ty: &Type, out: &mut String) -> Result<(), Refused> {
        self.0.as_ref().map_err(Clone::clone)?.literal(ty, out)
    }
}

impl<T: Encode> ToSql for Given<T> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        Param(self).to_sql(ty, out)
    }

    fn accepts(ty: &Type) -> bool {
        Param::<Self>::accepts(ty)
    }

    fn encode_format(&self, ty: &Type) -> Format {
        Param(self).encode_format(ty)
    }

    to_sql_checked!();
}
