//! What rows of a table are held against, and what runs for them.

use howdah_connect::tokio_postgres::Client;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::facts::fact::{self, Fact};

/// A foreign key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForeignKeyFacts {
    /// Its name.
    pub name: String,
    /// The schema of the table that refers.
    pub schema: String,
    /// The table that refers.
    pub table: String,
    /// Its columns there.
    pub columns: Vec<String>,
    /// The schema of the table that is referred to.
    pub parent_schema: String,
    /// The table that is referred to.
    pub parent: String,
    /// The columns there.
    pub parent_columns: Vec<String>,
    /// What a delete there does, in the letters of `pg_constraint`.
    pub on_delete: String,
    /// What an update there does.
    pub on_update: String,
    /// Keys with a NULL in them: `s` simple, `f` full.
    pub r#match: String,
    /// It may be looked at as late as at the commit.
    pub is_deferrable: bool,
    /// It is looked at as late as at the commit.
    pub is_deferred: bool,
    /// The rows that are there were checked.
    pub is_valid: bool,
    /// It is a partition's, of the table that is partitioned.
    pub is_inherited: bool,
    /// An index of the table that refers begins with its columns.
    pub is_indexed: bool,
    /// What it does can be said by the fields above: partitions and lists of columns to set cannot.
    pub is_plain: bool,
}

const FOREIGN_KEYS: &str = "
    select k.conname as name, n.nspname as schema, c.relname as \"table\", pn.nspname as parent_schema, p.relname as parent,
           array(select a.attname from unnest(k.conkey) with ordinality u(at, o)
                   join pg_attribute a on a.attrelid = k.conrelid and a.attnum = at order by o) as columns,
           array(select a.attname from unnest(k.confkey) with ordinality u(at, o)
                   join pg_attribute a on a.attrelid = k.confrelid and a.attnum = at order by o) as parent_columns,
           k.confdeltype as on_delete, k.confupdtype as on_update, k.confmatchtype as match,
           k.condeferrable as is_deferrable, k.condeferred as is_deferred,
           k.convalidated as is_valid, k.conparentid <> 0 as is_inherited,
           exists(select from pg_index i
                   where i.indrelid = k.conrelid and i.indisvalid and i.indpred is null
                     and i.indnkeyatts >= cardinality(k.conkey)
                     and (string_to_array(i.indkey::text, ' ')::int2[])[1:cardinality(k.conkey)] @> k.conkey) as is_indexed,
           k.conparentid = 0 and k.confdelsetcols is null and c.relkind = 'r' and p.relkind = 'r'
             and not coalesce((to_jsonb(k) ->> 'conperiod')::bool, false) as is_plain
      from pg_constraint k
      join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
      join pg_class p on p.oid = k.confrelid join pg_namespace pn on pn.oid = p.relnamespace
     where k.contype = 'f'";

/// Before PostgreSQL 18 every constraint is.
const IS_ENFORCED: &str = "coalesce((to_jsonb(k) ->> 'conenforced')::bool, true)";

/// Those that the table has.
pub(super) async fn foreign_keys(client: &Client, oid: u32) -> Result<Fact<Vec<ForeignKeyFacts>>, Error> {
    let sql = format!("{FOREIGN_KEYS} and {IS_ENFORCED} and k.conrelid = {oid} order by k.conname");
    fact::rows(client, &sql).await
}

/// Those that others have, and itself, to the table.
pub(super) async fn references(client: &Client, oid: u32) -> Result<Fact<Vec<ForeignKeyFacts>>, Error> {
    let sql = format!(
        "{FOREIGN_KEYS} and {IS_ENFORCED} and k.confrelid = {oid} and k.conparentid = 0 order by n.nspname, c.relname, k.conname"
    );
    fact::rows(client, &sql).await
}

/// A CHECK that is enforced, or a NOT NULL that rows may break (NOT VALID, since PostgreSQL 18).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckFacts {
    /// Its name.
    pub name: String,
    /// Functions that it calls and that are not written in C.
    pub calls: Vec<String>,
    /// Rows that were there before it may break it: NOT VALID.
    pub is_not_valid: bool,
}

impl CheckFacts {
    /// Whether it is known to hold for the rows that are there, and judging them runs no function of the user's.
    #[must_use]
    pub fn may_judge_rows(&self) -> bool {
        self.calls.is_empty() && !self.is_not_valid
    }
}

pub(super) async fn checks(client: &Client, oid: u32) -> Result<Fact<Vec<CheckFacts>>, Error> {
    let sql = format!(
        "select k.conname as name, not k.convalidated as is_not_valid,
                array(select distinct f.proname from regexp_matches(k.conbin::text, ':funcid (\\d+)', 'g') m, pg_proc f, pg_language l
                       where f.oid = m[1]::oid and l.oid = f.prolang and l.lanname not in ('c', 'internal')) as calls
           from pg_constraint k
          where k.conrelid = {oid} and (k.contype = 'c' or k.contype = 'n' and not k.convalidated) and {IS_ENFORCED}
          order by k.conname"
    );
    fact::rows(client, &sql).await
}

/// A trigger that an insert runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TriggerFacts {
    /// Its name.
    pub name: String,
    /// It runs for each row.
    pub is_for_rows: bool,
    /// It runs before the row is there, or instead.
    pub is_before: bool,
    /// It also runs for what a replica applies (`ENABLE ALWAYS`).
    pub is_always: bool,
    /// It is handed all rows together.
    pub has_new_table: bool,
    /// The function that it calls.
    pub function: String,
}

pub(super) async fn triggers(client: &Client, oid: u32) -> Result<Fact<Vec<TriggerFacts>>, Error> {
    let sql = format!(
        "select t.tgname as name, t.tgtype & 1 = 1 as is_for_rows, t.tgtype & 66 <> 0 as is_before,
                t.tgenabled = 'A' as is_always,
                t.tgnewtable is not null as has_new_table, f.proname as function
           from pg_trigger t join pg_proc f on f.oid = t.tgfoid
          where t.tgrelid = {oid} and not t.tgisinternal and t.tgenabled in ('O', 'A') and t.tgtype & 4 = 4 order by t.tgname"
    );
    fact::rows(client, &sql).await
}
