//! The statements around staged rows. They take rows in the order of the key, so that loads which meet do not deadlock.

use super::ranges::KeyRange;
use super::{Apply, StageKind, Staging};
use crate::catalog::name::quote;
use crate::plan::match_key::MatchKey;

impl Staging {
    /// Makes the staging table.
    pub(crate) fn create_sql(&self) -> String {
        let mut columns: Vec<String> =
            self.columns.iter().map(|(name, definition)| format!("{} {definition}", quote(name))).collect();
        columns.push(format!("{} bigint", quote(&self.ordinal)));
        let (_, relation) = self.relation();
        let columns = columns.join(", ");
        match self.place {
            StageKind::Temporary => format!("CREATE TEMP TABLE {relation} ({columns}) ON COMMIT DROP"),
            // Autovacuum would only get in the way of the DROP.
            StageKind::Beside => {
                format!("CREATE UNLOGGED TABLE {relation} ({columns}) WITH (autovacuum_enabled = false)")
            }
        }
    }

    /// Removes the staging table, where COMMIT does not.
    pub(crate) fn drop_sql(&self) -> Option<String> {
        let (_, relation) = self.relation();
        (self.place == StageKind::Beside).then(|| format!("DROP TABLE {relation}"))
    }

    /// Tells the planner how many rows there are; without it a join could take for ever.
    pub(crate) fn analyze_sql(&self) -> String {
        let (_, relation) = self.relation();
        match self.apply.key() {
            Some(key) => format!("ANALYZE {relation} ({})", key.list("")),
            None => format!("ANALYZE {relation}"),
        }
    }

    /// Counts the rows of a range that no other row of the input has to give way to.
    pub(crate) fn count_sql(&self, range: &KeyRange) -> Option<String> {
        let key = self.apply.key()?;
        let (_, relation) = self.relation();
        Some(format!(
            "SELECT count(*) FROM (SELECT DISTINCT {} FROM {relation}{}) AS s",
            key.distinction(&quote(&self.ordinal)),
            range.of_staged()
        ))
    }

    /// Locks the rows that will be updated or deleted, in the order of the key: those statements take no ORDER BY.
    pub(crate) fn lock_sql(&self, range: &KeyRange) -> Option<String> {
        let (key, strength) = match &self.apply {
            Apply::Update(key) => (key, "NO KEY UPDATE"),
            Apply::Delete(key) => (key, "UPDATE"),
            _ => return None,
        };
        let (_, relation) = self.relation();
        self.locks.then(|| {
            format!(
                "SELECT count(*) FROM (SELECT FROM {} AS t WHERE EXISTS (SELECT FROM {relation} AS s WHERE {}){} \
                 ORDER BY {} FOR {strength} OF t) AS locked",
                self.target,
                key.equal(),
                range.of_table(),
                key.list("t."),
            )
        })
    }

    /// Empties the table, in `truncate`.
    pub(crate) fn truncate_sql(&self) -> Option<String> {
        matches!(self.apply, Apply::Insert { truncates: true }).then(|| self.truncate.clone())
    }

    /// The statement that applies the rows of a range. Those of `upsert`, `update` and `delete` answer with their counts: rows inserted
    /// and updated; rows of the table touched and rows of the input that matched.
    pub(crate) fn apply_sql(&self, range: &KeyRange) -> String {
        match &self.apply {
            Apply::Insert { .. } => {
                let (_, relation) = self.relation();
                self.apply_rows_sql(&format!("SELECT * FROM {relation}{}", range.of_staged()), range)
            }
            Apply::Upsert(key) | Apply::Ignore(key) | Apply::Update(key) | Apply::Delete(key) => {
                self.apply_rows_sql(&self.last_row_a_key(key, range), range)
            }
        }
    }

    /// The same for `rows` of the range, a query of which no two rows have one key.
    pub(super) fn apply_rows_sql(&self, rows: &str, range: &KeyRange) -> String {
        let names: Vec<String> = self.columns.iter().map(|(name, _)| quote(name)).collect();
        let list = names.join(", ");
        let overriding = if self.overrides_identity { " OVERRIDING SYSTEM VALUE" } else { "" };
        let into = format!("INSERT INTO {} AS t ({list}){overriding}", self.target);
        let ordinal = quote(&self.ordinal);
        match &self.apply {
            Apply::Insert { .. } => format!("{into} SELECT {list} FROM ({rows}) AS s ORDER BY {ordinal}"),
            Apply::Ignore(key) => format!(
                "{into} SELECT {list} FROM ({rows}) AS s ORDER BY {} ON CONFLICT ({}) DO NOTHING",
                key.list(""),
                key.list(""),
            ),
            Apply::Upsert(key) => self.upsert_sql(key, &into, rows),
            Apply::Update(key) => format!(
                "WITH applied AS (UPDATE {} AS t SET {} FROM ({rows}) AS s WHERE {}{} RETURNING s.{ordinal} AS origin) \
                 SELECT count(*), count(DISTINCT origin) FROM applied",
                self.target,
                self.assignments(key, "s"),
                key.equal(),
                range.of_table(),
            ),
            Apply::Delete(key) => format!(
                "WITH applied AS (DELETE FROM {} AS t USING ({rows}) AS s WHERE {}{} RETURNING s.{ordinal} AS origin) \
                 SELECT count(*), count(DISTINCT origin) FROM applied",
                self.target,
                key.equal(),
                range.of_table(),
            ),
        }
    }

    /// Inserts or updates `rows`. What tells the ones from the others is `xmax`, or else what each row leaves behind in a setting:
    /// every row passes "no", and "yes" where it meets its like. That takes an eighth of the server's time where the key is the
    /// only index.
    fn upsert_sql(&self, key: &MatchKey, into: &str, rows: &str) -> String {
        let names: Vec<String> = self.columns.iter().map(|(name, _)| quote(name)).collect();
        let (passes, where_met, is_new) = if self.has_xmax {
            (None, String::new(), "t.xmax = 0")
        } else {
            let is_new = "pg_catalog.current_setting('howdah.met') = 'no'";
            (Some(met("no")), format!(" WHERE {}", met("yes")), is_new)
        };
        let action = match self.assignments(key, "excluded").as_str() {
            "" => "NOTHING".to_owned(),
            assignments => format!("UPDATE SET {assignments}{where_met}"),
        };
        let values = names.iter().enumerate().map(|(at, name)| match &passes {
            Some(passes) if at == 0 => format!("CASE WHEN {passes} THEN {name} END"),
            _ => name.clone(),
        });
        format!(
            "WITH applied AS ({into} SELECT {} FROM ({rows}) AS s ORDER BY {} ON CONFLICT ({}) DO {action} \
             RETURNING {is_new} AS is_new) \
             SELECT count(*) FILTER (WHERE is_new), count(*) FILTER (WHERE NOT is_new) FROM applied",
            values.collect::<Vec<_>>().join(", "),
            key.list("s."),
            key.list(""),
        )
    }

    fn assignments(&self, key: &MatchKey, from: &str) -> String {
        let names = self.columns.iter().map(|(name, _)| name).filter(|name| !key.has(name));
        let assignments: Vec<String> = names.map(|name| format!("{0} = {from}.{0}", quote(name))).collect();
        assignments.join(", ")
    }

    /// The last row of each key of a range: the others of the input give way to it, in every mode.
    pub(super) fn last_row_a_key(&self, key: &MatchKey, range: &KeyRange) -> String {
        let (_, relation) = self.relation();
        let distinction = key.distinction(&quote(&self.ordinal));
        format!(
            "SELECT DISTINCT ON ({distinction}) * FROM {relation}{} ORDER BY {distinction}, {} DESC",
            range.of_staged(),
            quote(&self.ordinal)
        )
    }
}

/// A setting of the transaction that upserting leaves behind at each row; true.
fn met(what: &str) -> String {
    format!("pg_catalog.set_config('howdah.met', '{what}', true) = '{what}'")
}
