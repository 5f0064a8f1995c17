//! The statements that apply staged rows in segments, after the server refused them as a whole: which rows to try are laid out in
//! a table of their own, in order.

use std::ops::Range;

use super::ranges::KeyRange;
use super::{Apply, StageKind, Staging};
use crate::catalog::name::quote;

/// Rows to try: at first the last of each key, then those that had given way to one that was refused.
pub(crate) struct Round<'a> {
    staging: &'a Staging,
    number: u32,
}

/// A foreign key of a table to itself.
pub(crate) struct SelfReference {
    /// Schema and name.
    pub(crate) constraint: (String, String),
    pub(crate) columns: Vec<String>,
    /// The columns of the parent, one for each of those.
    pub(crate) parents: Vec<String>,
    /// What compares a parent's column with one of those.
    pub(crate) operators: Vec<String>,
}

/// Where the parents are of rows that refer to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parents {
    /// In the table: all rows to try were applied.
    Applied,
    /// In the table, or still among the rows to try.
    AppliedOrNot,
}

impl<'a> Round<'a> {
    /// The first round.
    pub(crate) fn first(staging: &'a Staging) -> Self {
        Round { staging, number: 1 }
    }

    /// The round behind this one; `None` where no row gives way to another.
    pub(crate) fn next(&self) -> Option<Self> {
        let gives_way = !matches!(self.staging.apply, Apply::Insert { .. });
        gives_way.then(|| Round { staging: self.staging, number: self.number + 1 })
    }

    fn relation(&self) -> String {
        let (name, _) = self.staging.relation();
        let schema = match self.staging.place {
            StageKind::Temporary => "pg_temp".to_owned(),
            StageKind::Beside => quote(&self.staging.schema),
        };
        format!("{schema}.{}", quote(&format!("{name}_{}", self.number)))
    }

    /// Its rank says when a row is tried; that of a refused row is negative.
    fn rank(&self) -> String {
        quote(&format!("{}_rank", self.staging.ordinal))
    }

    /// Lays out the rows.
    pub(crate) fn create_sql(&self) -> Vec<String> {
        let (staging, relation, rank) = (self.staging, self.relation(), self.rank());
        let (_, staged) = staging.relation();
        let ordinal = quote(&staging.ordinal);
        let (order, rows) = match staging.apply.key() {
            Some(key) => {
                (format!("{}, {ordinal}", key.list("s.")), staging.last_row_a_key(key, &KeyRange::default()))
            }
            None => (ordinal, format!("SELECT * FROM {staged}")),
        };
        let before = (self.number > 1).then(|| Round { staging, number: self.number - 1 }.relation());
        let refused = match (&before, staging.apply.key()) {
            (Some(before), Some(key)) => {
                format!(" WHERE EXISTS (SELECT FROM {before} AS t WHERE t.{rank} < 0 AND {})", key.equal())
            }
            _ => String::new(),
        };
        let kind = match staging.place {
            StageKind::Temporary => "TEMP",
            StageKind::Beside => "UNLOGGED",
        };
        let mut statements = vec![
            format!(
                "CREATE {kind} TABLE {relation} AS SELECT pg_catalog.row_number() OVER (ORDER BY {order}) AS {rank}, s.* \
                 FROM ({rows}) AS s{refused}"
            ),
            format!("CREATE UNIQUE INDEX ON {relation} ({rank})"),
            format!("ANALYZE {relation}"),
        ];
        statements.extend(before.map(|before| format!("DROP TABLE {before}")));
        statements
    }

    /// How many rows there are to try.
    pub(crate) fn count_sql(&self) -> String {
        format!("SELECT count(*) FROM {}", self.relation())
    }

    /// Applies `rows`, whose numbers start at 0.
    pub(crate) fn apply_sql(&self, rows: Range<usize>) -> String {
        let rows = format!(
            "SELECT * FROM {} WHERE {} BETWEEN {} AND {}",
            self.relation(),
            self.rank(),
            rows.start + 1,
            rows.end
        );
        self.staging.apply_rows_sql(&rows, &KeyRange::default())
    }

    /// Finds the rank of the first of `rows` rows whose parent is not there, and 0 where there is none. All columns of the `key` are staged.
    pub(crate) fn first_orphan_sql(&self, key: &SelfReference, rows: usize, parents: Parents) -> String {
        let (relation, rank) = (self.relation(), self.rank());
        let pairs =
            || key.columns.iter().map(|name| quote(name)).zip(key.parents.iter().map(|name| quote(name)));
        let lacks = |parents: &str| {
            let equal = pairs()
                .zip(&key.operators)
                .map(|((column, parent), equals)| format!("p.{parent} {equals} s.{column}"));
            format!(
                " AND NOT EXISTS (SELECT FROM {parents} AS p WHERE {})",
                equal.collect::<Vec<_>>().join(" AND ")
            )
        };
        let refers: Vec<String> = pairs().map(|(column, _)| format!("s.{column} IS NOT NULL")).collect();
        format!(
            "SELECT coalesce(min(s.{rank}), 0) FROM {relation} AS s WHERE s.{rank} BETWEEN 1 AND {rows} AND {}{}{}",
            refers.join(" AND "),
            lacks(&self.staging.target),
            if parents == Parents::Applied { String::new() } else { lacks(&relation) },
        )
    }

    /// Notes that row `at` was refused, and answers with its place in the input.
    pub(crate) fn refuse_sql(&self, at: usize) -> String {
        let (relation, rank, ordinal) = (self.relation(), self.rank(), quote(&self.staging.ordinal));
        format!("UPDATE {relation} SET {rank} = -{rank} WHERE {rank} = {} RETURNING {ordinal}", at + 1)
    }

    /// Takes the refused rows out of the staged ones.
    pub(crate) fn forget_refused_sql(&self) -> String {
        let (_, staged) = self.staging.relation();
        let ordinal = quote(&self.staging.ordinal);
        format!(
            "DELETE FROM {staged} AS s USING {} AS t WHERE t.{} < 0 AND s.{ordinal} = t.{ordinal}",
            self.relation(),
            self.rank()
        )
    }

    /// Removes the table.
    pub(crate) fn drop_sql(&self) -> String {
        format!("DROP TABLE {}", self.relation())
    }
}
