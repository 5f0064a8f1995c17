//! Ranges of the key: staged rows cut by the order of one of its columns, so that several connections can apply them, and no key
//! is in two ranges.

use super::Staging;
use crate::catalog::name::quote;

/// So many keys are looked at to find where to cut: a range is then wrong by a few hundredths of its size.
const SAMPLE: u64 = 50_000;

/// A column of the key with an order, that of an index of the table.
#[derive(Debug, Clone)]
pub(crate) struct OrderedColumn {
    pub(crate) name: String,
    /// The operator that says which of two values comes first, qualified for SQL: another of that name may be nearer.
    pub(crate) less: String,
}

/// The rows whose keys are neither before one value of a column nor, unless they come to no end, behind another. The default is
/// all rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyRange {
    from: Option<Bound>,
    until: Option<Bound>,
}

/// Keys are compared with it.
#[derive(Debug, Clone)]
struct Bound {
    column: String,
    less: String,
    /// The value, for SQL.
    value: String,
}

impl Bound {
    fn is_behind(&self, prefix: &str) -> String {
        format!("{prefix}{} {} {}", quote(&self.column), self.less, self.value)
    }
}

impl KeyRange {
    /// ` WHERE` a staged row is in it; nothing where that goes without saying. NULLs, which come last, are in the last one.
    pub(super) fn of_staged(&self) -> String {
        let from = self.from.as_ref().map(|bound| bound.is_behind(""));
        let until = self.until.as_ref().map(|bound| bound.is_behind(""));
        match (from, until) {
            (None, None) => String::new(),
            (None, Some(until)) => format!(" WHERE {until}"),
            (Some(from), None) => format!(" WHERE ({from}) IS NOT TRUE"),
            (Some(from), Some(until)) => format!(" WHERE NOT ({from}) AND {until}"),
        }
    }

    /// ` AND` a row `t` of the table can have the key of such a row, so that an index finds where it begins and ends.
    pub(super) fn of_table(&self) -> String {
        let from = self.from.as_ref().map(|bound| format!(" AND NOT ({})", bound.is_behind("t.")));
        let until = self.until.as_ref().map(|bound| format!(" AND {}", bound.is_behind("t.")));
        from.unwrap_or_default() + &until.unwrap_or_default()
    }
}

impl Staging {
    /// The ranges between `cuts`, values of `column` as literals in its order.
    pub(crate) fn ranges(&self, column: &OrderedColumn, cuts: &[String]) -> Vec<KeyRange> {
        let bounds = cuts.iter().map(|cut| Bound {
            column: column.name.clone(),
            less: column.less.clone(),
            value: format!("{cut}::{}", self.definition(&column.name)),
        });
        let bounds: Vec<Option<Bound>> = bounds.map(Some).collect();
        let from = [None].into_iter().chain(bounds.iter().cloned());
        let until = bounds.iter().cloned().chain([None]);
        from.zip(until).map(|(from, until)| KeyRange { from, until }).collect()
    }

    /// Finds where to cut `rows` staged rows into `count` ranges of about one size: literals in order, fewer where many rows have
    /// one value. They are put in order after they were read back: what a type writes may be less than what it knows.
    pub(crate) fn cuts_sql(&self, column: &OrderedColumn, rows: u64, count: usize) -> String {
        let (_, relation) = self.relation();
        let (name, definition) = (quote(&column.name), self.definition(&column.name));
        let percent = (100.0 * SAMPLE as f64 / rows.max(1) as f64).min(100.0);
        // Before the first key there is nothing to cut off.
        let places: Vec<String> = (0..count).map(|at| format!("total * {at} / {count} + 1")).collect();
        format!(
            "SELECT pg_catalog.quote_literal(cut::text) FROM (SELECT DISTINCT s.key::text::{definition} AS cut FROM ( \
             SELECT s.{name} AS key, pg_catalog.row_number() OVER (ORDER BY s.{name}) AS place, count(*) OVER () AS total \
             FROM {relation} AS s TABLESAMPLE SYSTEM ({percent}) REPEATABLE (0) WHERE s.{name} IS NOT NULL) AS s \
             WHERE s.place IN ({})) AS cuts ORDER BY cut OFFSET 1",
            places.join(", ")
        )
    }

    /// The type and collation of a column.
    fn definition(&self, name: &str) -> &str {
        let of = self.columns.iter().find(|(column, _)| column == name);
        of.map_or("text", |(_, definition)| definition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(value: &str) -> Option<Bound> {
        let (column, less) = ("id".to_owned(), "OPERATOR(pg_catalog.<)".to_owned());
        Some(Bound { column, less, value: format!("'{value}'::integer") })
    }

    #[test]
    fn every_key_is_in_one_range_and_nulls_are_in_the_last() {
        let range = |from, until| KeyRange { from, until };
        let is_behind = |value| format!("\"id\" OPERATOR(pg_catalog.<) '{value}'::integer");
        assert_eq!(range(None, None).of_staged(), "");
        assert_eq!(range(None, bound("1")).of_staged(), format!(" WHERE {}", is_behind(1)));
        let middle = format!(" WHERE NOT ({}) AND {}", is_behind(1), is_behind(2));
        assert_eq!(range(bound("1"), bound("2")).of_staged(), middle);
        assert_eq!(range(bound("2"), None).of_staged(), format!(" WHERE ({}) IS NOT TRUE", is_behind(2)));
    }

    #[test]
    fn rows_of_the_table_are_looked_for_between_the_same_values() {
        let range = |from, until| KeyRange { from, until }.of_table();
        let is_behind = |value| format!("t.\"id\" OPERATOR(pg_catalog.<) '{value}'::integer");
        assert_eq!(range(None, None), "");
        assert_eq!(range(None, bound("1")), format!(" AND {}", is_behind(1)));
        assert_eq!(
            range(bound("1"), bound("2")),
            format!(" AND NOT ({}) AND {}", is_behind(1), is_behind(2))
        );
        assert_eq!(range(bound("2"), None), format!(" AND NOT ({})", is_behind(2)));
    }
}
