//! Statements that happen in the transaction of a batch: together with its rows, or not at all.

use std::sync::Arc;

/// A statement that writes beside the rows of a batch, in their transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// What it is called where it is prepared. No other session's is called so, should a pooler lend a backend to several.
    pub(crate) name: Arc<str>,
    /// It returns no rows, and has no `$` but those of its parameters.
    pub(crate) sql: Arc<str>,
    /// All of them bigint: `$1`, `$2`, …
    pub(crate) parameters: Vec<i64>,
}

impl Entry {
    /// The statement with its parameters in their places, for a message of several statements.
    pub(crate) fn text(&self) -> String {
        // The last first: `$1` is how `$12` begins.
        let numbered = self.parameters.iter().enumerate().rev();
        numbered.fold(self.sql.to_string(), |sql, (at, value)| {
            sql.replace(&format!("${}", at + 1), &format!("'{value}'::pg_catalog.int8"))
        })
    }
}

/// What the transaction of a batch leaves beside its rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommitRecord {
    /// Its number in the ledger, if there is one.
    pub(crate) part: Option<i64>,
    /// What somebody keeps in step with the rows.
    pub(crate) entries: Vec<Entry>,
}

/// What a row is to whoever keeps something in step with rows: where it stands in an input, from the first byte to the one
/// behind the last.
pub(crate) type Tag = std::ops::Range<i64>;

/// Keeps something of its own in the database, in step with a writer's rows.
pub(crate) trait Participant: Send + Sync {
    /// What a transaction writes that settles rows with these tags: they are in the table with it, or they were refused, or
    /// dropped, and will never be. A batch that is narrowed settles its rows in several transactions, each row in one.
    fn entries(&self, tags: &[Tag]) -> Vec<Entry>;

    /// Whether rows that were refused are settled by that. Not where somebody has to keep them first, or to correct them.
    fn counts_refused(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_stand_where_they_belong_however_many_there_are() {
        let sql = (1..=11).map(|n| format!("${n}")).collect::<Vec<_>>().join(" ");
        let entry = Entry { name: "e".into(), sql: sql.into(), parameters: (-1..10).collect() };
        let values: Vec<String> = (-1..10).map(|n| format!("'{n}'::pg_catalog.int8")).collect();
        assert_eq!(entry.text(), values.join(" "));
    }
}
