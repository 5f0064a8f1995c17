//! Texts that are joined from constants: what callers give decides which, and is not among them.

use std::collections::HashMap;
use std::fmt;

use bytes::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{GenericClient, Statement};

use super::codec::{Encode, Param};
use super::{BoxedError, Error};

/// A value of a joined text, which has it for as long as it runs.
struct Kept<T>(T);

impl<T> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept(…)")
    }
}

impl<T: Encode> ToSql for Kept<T> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        Param(&self.0).to_sql(ty, out)
    }

    fn accepts(ty: &Type) -> bool {
        Param::<T>::accepts(ty)
    }

    fn encode_format(&self, ty: &Type) -> Format {
        Param(&self.0).encode_format(ty)
    }

    to_sql_checked!();
}

/// A text with the values of its parameters.
#[derive(Debug)]
pub struct Joined<'a> {
    sql: String,
    /// The parameters as they are numbered in the text, each by its place among those of the function.
    numbers: Vec<usize>,
    values: Vec<Box<dyn ToSql + Sync + Send + 'a>>,
}

impl<'a> Joined<'a> {
    /// Begins a text.
    pub fn new(sql: &'static str) -> Self {
        Self {
            sql: sql.to_owned(),
            numbers: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Joins a constant.
    pub fn add(&mut self, sql: &'static str) {
        self.sql.push_str(sql);
    }

    /// Joins the number of a parameter, which is read as a type. Its value goes once.
    pub fn bind<T: Encode + Sync + Send + 'a>(&mut self, place: usize, value: T, ty: &'static str) {
        let known = self.numbers.iter().position(|bound| *bound == place);
        let index = known.unwrap_or_else(|| {
            self.numbers.push(place);
            self.values.push(Box::new(Kept(value)));
            self.numbers.len() - 1
        });
        self.sql.push_str(&format!("(${}::{ty})", index + 1));
    }

    /// The text.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// The values in the order of their numbers.
    pub fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values
            .iter()
            .map(|value| &**value as &(dyn ToSql + Sync))
            .collect()
    }
}

/// The texts of a batch, each of which is prepared once.
pub struct Calls<'a, C> {
    db: &'a C,
    known: HashMap<String, Statement>,
    prepared: Vec<(Statement, Joined<'a>)>,
}

impl<C> fmt::Debug for Calls<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls")
            .field("prepared", &self.prepared.len())
            .finish_non_exhaustive()
    }
}

impl<'a, C: GenericClient> Calls<'a, C> {
    /// None as yet.
    pub fn new(db: &'a C) -> Self {
        Self {
            db,
            known: HashMap::new(),
            prepared: Vec::new(),
        }
    }

    /// Adds a text, and prepares it if it is the first of its kind.
    pub async fn add(&mut self, joined: Joined<'a>) -> Result<(), Error> {
        let statement = if let Some(known) = self.known.get(joined.sql()) {
            known.clone()
        } else {
            let statement = self.db.prepare(joined.sql()).await?;
            let sql = joined.sql().to_owned();
            self.known.insert(sql, statement.clone());
            statement
        };
        self.prepared.push((statement, joined));
        Ok(())
    }

    /// All of them in their order.
    pub fn prepared(self) -> Vec<(Statement, Joined<'a>)> {
        self.prepared
    }
}
