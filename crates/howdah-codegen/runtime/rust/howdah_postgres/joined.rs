//! Calls whose text is joined from constants: what callers give decides which, and is never among them.

use std::fmt;

use tokio_postgres::types::ToSql;

use super::codec::{Encode, Param};

/// A text that grows, and the values of the parameters that have a place in it.
#[derive(Default)]
pub struct Joined<'a> {
    sql: String,
    values: Vec<Box<dyn ToSql + Send + Sync + 'a>>,
    /// The parameters, in the order of their places.
    placed: Vec<usize>,
}

impl<'a> Joined<'a> {
    /// Joins a text.
    pub fn add(&mut self, sql: &'static str) {
        self.sql.push_str(sql);
    }

    /// Joins the place of a parameter, which the server reads as a `ty`. However often it is there, its value goes
    /// once.
    pub fn place<T>(&mut self, parameter: usize, ty: &'static str, value: T)
    where
        T: Encode + Send + Sync + 'a,
    {
        let known = self.placed.iter().position(|placed| *placed == parameter);
        let place = known.unwrap_or_else(|| {
            self.placed.push(parameter);
            self.values.push(Box::new(Param(value)));
            self.placed.len() - 1
        });
        self.sql.push_str(&format!("(${}::{ty})", place + 1));
    }

    /// The text.
    pub fn sql(&self) -> &str {
        self.sql.trim_end()
    }

    /// The values, in the order of their places.
    pub fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        let values = self.values.iter();
        values
            .map(|value| &**value as &(dyn ToSql + Sync))
            .collect()
    }
}

impl fmt::Debug for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Joined").field(&self.sql).finish()
    }
}
