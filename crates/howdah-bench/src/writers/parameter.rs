//! Encoded values as parameters of statements.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

/// A value in the binary form of its type, or NULL.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a>(pub(super) Option<&'a [u8]>);

/// Every `step`-th field from the `first` on as a one-dimensional array.
#[derive(Debug)]
pub(super) struct ArrayParameter<'a> {
    pub(super) fields: &'a [Field<'a>],
    pub(super) first: usize,
    pub(super) step: usize,
}

impl ToSql for Field<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Field(Some(value)) = self else { return Ok(IsNull::Yes) };
        out.put_slice(value);
        Ok(IsNull::No)
    }

    /// Data sets know what their columns hold.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl ToSql for ArrayParameter<'_> {
    fn to_sql(&self, r#type: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Kind::Array(element) = r#type.kind() else { return Err("the parameter is no array".into()) };
        let fields = || self.fields.iter().skip(self.first).step_by(self.step);
        // Dimensions, whether there are NULLs, the elements' type; length and lower bound of the one dimension.
        out.put_i32(1);
        out.put_i32(i32::from(fields().any(|Field(value)| value.is_none())));
        out.put_u32(element.oid());
        out.put_i32(i32::try_from(fields().count())?);
        out.put_i32(1);
        for Field(value) in fields() {
            match value {
                Some(value) => {
                    out.put_i32(i32::try_from(value.len())?);
                    out.put_slice(value);
                }
                None => out.put_i32(-1),
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(r#type: &Type) -> bool {
        matches!(r#type.kind(), Kind::Array(_))
    }

    to_sql_checked!();
}
