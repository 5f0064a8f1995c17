//! The statements of a promotion.

use super::Promotion;
use crate::catalog::name::{quote, quote_literal};

/// Where refused rows go: the landing table's columns and three of ours.
#[derive(Debug, Clone)]
pub(crate) struct RejectsTable {
    /// Quoted and qualified.
    pub(super) sql: String,
    pub(super) display: String,
    /// What our three columns are called: column, SQLSTATE, reason.
    pub(super) ours: [String; 3],
}

impl RejectsTable {
    pub(super) fn new(sql: String, display: String, landing_columns: &[String]) -> Self {
        let free = |name: &str| {
            let mut name = name.to_owned();
            while landing_columns.contains(&name) {
                name.push('_');
            }
            name
        };
        let ours = [free("reject_column"), free("reject_sqlstate"), free("reject_reason")];
        RejectsTable { sql, display, ours }
    }
}

impl Promotion {
    fn column_list(&self) -> String {
        let names: Vec<String> = self.readers.iter().map(|reader| quote(&reader.name)).collect();
        names.join(", ")
    }

    /// Inserts the rows of the landing table that `condition` picks, all when there is none, and none of tables that inherit
    /// from it: a row's place says nothing across tables. Identity columns get what the input says, as COPY gives it to them.
    pub(super) fn insert_sql(&self, condition: &str) -> String {
        let expressions: Vec<&str> = self.readers.iter().map(|reader| reader.expression.as_str()).collect();
        let filter = if condition.is_empty() { String::new() } else { format!(" WHERE {condition}") };
        format!(
            "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM ONLY {} l{filter}",
            self.into,
            self.column_list(),
            expressions.join(", "),
            self.landing
        )
    }

    /// The statement that a plan shows.
    pub(crate) fn planned_sql(&self) -> Vec<String> {
        let drop = self.drops_landing.then(|| self.drop_sql());
        std::iter::once(self.insert_sql("")).chain(drop).collect()
    }

    /// Keeps writers away until the end; comes before the first query, whose snapshot then has all that they wrote.
    pub(super) fn lock_sql(&self) -> String {
        format!("LOCK TABLE ONLY {} IN SHARE ROW EXCLUSIVE MODE; ", self.landing)
    }

    pub(super) fn drop_sql(&self) -> String {
        format!("DROP TABLE {}", self.landing)
    }

    /// Holds for rows whose every value is one of its column's type.
    pub(super) fn is_valid(&self) -> String {
        let tests: Vec<String> = self
            .readers
            .iter()
            .filter(|reader| !reader.takes_all)
            .map(|reader| {
                let (text, type_name) = (reader.text(), quote_literal(&reader.type_name));
                format!("pg_catalog.pg_input_is_valid({text}, {type_name}) IS NOT FALSE")
            })
            .collect();
        if tests.is_empty() { "true".to_owned() } else { tests.join(" AND ") }
    }

    /// From: rows with a value that is none, each with `e`: the first such column, its SQLSTATE, the reason.
    fn judged(&self) -> String {
        let verdicts: Vec<String> = (0..)
            .zip(self.readers.iter().filter(|reader| !reader.takes_all))
            .map(|(n, reader): (usize, _)| {
                format!(
                    "SELECT {n} AS n, {}::pg_catalog.text AS name, i.sql_error_code, i.message, i.detail
                       FROM pg_catalog.pg_input_error_info({}, {}) i",
                    quote_literal(&reader.name),
                    reader.text(),
                    quote_literal(&reader.type_name)
                )
            })
            .collect();
        format!(
            "ONLY {} l CROSS JOIN LATERAL (
                SELECT v.name, v.sql_error_code AS code, pg_catalog.concat_ws(': ', v.message, v.detail) AS reason
                  FROM ({}) v WHERE v.sql_error_code IS NOT NULL ORDER BY v.n LIMIT 1) e
              WHERE NOT ({})",
            self.landing,
            verdicts.join(" UNION ALL "),
            self.is_valid()
        )
    }

    /// The name of the first column of some row whose value is none; `None` where every text is a value.
    pub(super) fn bad_column_sql(&self) -> Option<String> {
        let judges = self.readers.iter().any(|reader| !reader.takes_all);
        judges.then(|| format!("SELECT e.name FROM {} LIMIT 1", self.judged()))
    }

    /// Puts the rows with a value that is none into `rejects`.
    pub(super) fn reject_sql(&self, rejects: &RejectsTable) -> Option<String> {
        let judges = self.readers.iter().any(|reader| !reader.takes_all);
        let names = self.reject_columns(rejects);
        let values = self.landing_list();
        judges.then(|| {
            format!(
                "INSERT INTO {} ({names}) SELECT {values}, e.name, e.code, e.reason FROM {}",
                rejects.sql,
                self.judged()
            )
        })
    }

    /// Puts the row at `place` into `rejects`, with the column, the SQLSTATE and the reason as parameters.
    pub(super) fn reject_one_sql(&self, rejects: &RejectsTable, place: &str) -> String {
        format!(
            "INSERT INTO {} ({}) SELECT {}, $1, $2, $3 FROM ONLY {} l WHERE l.ctid = {place}",
            rejects.sql,
            self.reject_columns(rejects),
            self.landing_list(),
            self.landing
        )
    }

    /// Makes the table for refused rows, unless there is one.
    pub(super) fn create_rejects_sql(&self, rejects: &RejectsTable) -> String {
        let columns: Vec<String> = self
            .landing_columns
            .iter()
            .chain(&rejects.ours)
            .map(|name| format!("{} pg_catalog.text", quote(name)))
            .collect();
        format!("CREATE TABLE IF NOT EXISTS {} ({})", rejects.sql, columns.join(", "))
    }

    fn landing_list(&self) -> String {
        let names: Vec<String> =
            self.landing_columns.iter().map(|name| format!("l.{}", quote(name))).collect();
        names.join(", ")
    }

    fn reject_columns(&self, rejects: &RejectsTable) -> String {
        let names: Vec<String> =
            self.landing_columns.iter().chain(&rejects.ours).map(|name| quote(name)).collect();
        names.join(", ")
    }
}
