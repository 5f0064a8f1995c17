//! tokio-postgres' `BinaryCopyInWriter`: values of Rust's types, written as binary COPY.

use std::process::ExitCode;

use bytes::{BufMut, BytesMut};
use chrono::{DateTime, Utc};
use contender::{Failure, Task, begin, boolean, moment, tell, texts};
use rust_decimal::Decimal;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{IsNull, ToSql, Type, accepts, to_sql_checked};
use uuid::Uuid;

/// A field's value, in the type that the driver takes for its column.
#[derive(Debug)]
enum Value {
    Boolean(bool),
    Double(f64),
    Small(i16),
    Integer(i32),
    Big(i64),
    Numeric(Decimal),
    Moment(DateTime<Utc>),
    Id(Uuid),
    Text(String),
    Document(String),
    Texts(Vec<Option<String>>),
}

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        match self {
            Self::Boolean(value) => value.to_sql(ty, out),
            Self::Double(value) => value.to_sql(ty, out),
            Self::Small(value) => value.to_sql(ty, out),
            Self::Integer(value) => value.to_sql(ty, out),
            Self::Big(value) => value.to_sql(ty, out),
            Self::Numeric(value) => value.to_sql(ty, out),
            Self::Moment(value) => value.to_sql(ty, out),
            Self::Id(value) => value.to_sql(ty, out),
            Self::Text(value) => value.to_sql(ty, out),
            Self::Texts(value) => value.to_sql(ty, out),
            // Its text stays as it is, behind the version of jsonb's binary form.
            Self::Document(value) => {
                out.put_u8(1);
                out.put_slice(value.as_bytes());
                Ok(IsNull::No)
            }
        }
    }

    accepts!(BOOL, FLOAT8, INT2, INT4, INT8, NUMERIC, TIMESTAMPTZ, UUID, TEXT, JSONB, TEXT_ARRAY);
    to_sql_checked!();
}

fn type_of(name: &str) -> Result<Type, Failure> {
    Ok(match name {
        "boolean" => Type::BOOL,
        "double precision" => Type::FLOAT8,
        "smallint" => Type::INT2,
        "integer" => Type::INT4,
        "bigint" => Type::INT8,
        "numeric(10,2)" => Type::NUMERIC,
        "timestamptz" => Type::TIMESTAMPTZ,
        "uuid" => Type::UUID,
        "text" => Type::TEXT,
        "jsonb" => Type::JSONB,
        "text[]" => Type::TEXT_ARRAY,
        _ => return Err(format!("no value for {name}").into()),
    })
}

/// An empty field is null.
fn value(field: &str, ty: &Type) -> Result<Option<Value>, Failure> {
    if field.is_empty() {
        return Ok(None);
    }
    Ok(Some(match *ty {
        Type::BOOL => Value::Boolean(boolean(field)?),
        Type::FLOAT8 => Value::Double(field.parse()?),
        Type::INT2 => Value::Small(field.parse()?),
        Type::INT4 => Value::Integer(field.parse()?),
        Type::INT8 => Value::Big(field.parse()?),
        Type::NUMERIC => Value::Numeric(field.parse()?),
        Type::TIMESTAMPTZ => Value::Moment(moment(field)?),
        Type::UUID => Value::Id(field.parse()?),
        Type::JSONB => Value::Document(field.to_owned()),
        Type::TEXT_ARRAY => Value::Texts(texts(field)),
        _ => Value::Text(field.to_owned()),
    }))
}

async fn load() -> Result<u64, Failure> {
    let task = Task::from_environment()?;
    let types = task.columns.iter().map(|(_, typ)| type_of(typ)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<_> = task.columns.iter().map(|(name, _)| name.as_str()).collect();
    let copy = format!("COPY {} ({}) FROM STDIN (FORMAT binary)", task.table, names.join(", "));
    let mut client = task.connect().await?;
    begin()?;
    let transaction = client.transaction().await?;
    let writer = BinaryCopyInWriter::new(transaction.copy_in(&copy).await?, &types);
    let mut writer = std::pin::pin!(writer);
    let mut records = task.records()?;
    let mut record = csv::StringRecord::new();
    let mut row = Vec::with_capacity(types.len());
    while records.read_record(&mut record)? {
        row.clear();
        for (field, ty) in record.iter().zip(&types) {
            row.push(value(field, ty)?);
        }
        writer.as_mut().write_raw(&row).await?;
    }
    let rows = writer.finish().await?;
    transaction.commit().await?;
    Ok(rows)
}

#[tokio::main]
async fn main() -> ExitCode {
    tell(load().await)
}
