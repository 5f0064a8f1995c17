//! The columns of a table: how their values come about, and what is known of them.

use howdah_connect::tokio_postgres::Client;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::facts::fact::{self, Fact};

/// A column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ColumnFacts {
    /// Its name.
    pub name: String,
    /// Its type, as SQL has it.
    pub r#type: String,
    /// It is computed from others as rows come, and stored.
    pub is_generated: bool,
    /// It is computed from others whenever somebody reads it, since version 18.
    pub is_virtual: bool,
    /// Functions that its default calls for each row, but for `nextval`.
    pub default_calls: Vec<String>,
    /// The sequence from which it gets its numbers.
    pub sequence: Option<SequenceFacts>,
    /// Its values may be compressed by `pglz`.
    pub uses_pglz: bool,
    /// `pglz` was chosen for the column, and not by the server's default.
    pub asks_for_pglz: bool,
    /// Its values stay in their row as long as that can be, compressed: `STORAGE MAIN`.
    pub stays_in_row: bool,
    /// Bytes of a value, of those that ANALYZE looked at; `None`: nothing is known, or the role may not see it.
    pub width: Option<f64>,
    /// How far rows lie in the order of the column: from -1 to 1.
    pub correlation: Option<f64>,
}

/// A sequence.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SequenceFacts {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The numbers that are left to it; `None`: the role may not see it.
    pub left: Option<f64>,
    /// It starts again at its end.
    pub cycles: bool,
    /// The numbers that it has in all.
    pub all: f64,
    /// The greatest number that its column can hold.
    pub most_of_column: Option<f64>,
    /// The greatest number that it gives.
    pub most: f64,
}

/// The functions of a default stand in its tree; those that come with the server have no dependencies.
const COLUMNS: &str = "
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attgenerated = 's' as is_generated,
           a.attgenerated = 'v' as is_virtual,
           array(select distinct f.proname
                   from pg_attrdef d, regexp_matches(d.adbin::text, ':funcid (\\d+)', 'g') m, pg_proc f
                  where d.adrelid = a.attrelid and d.adnum = a.attnum and a.attgenerated = ''
                    and f.oid = m[1]::oid and f.provolatile = 'v' and f.proname <> 'nextval') as default_calls,
           (select row_to_json(s) from (
               select n.nspname as schema, c.relname as name, q.seqcycle as cycles,
                      abs(q.seqmax::float8 - q.seqmin::float8) as \"all\", q.seqmax::float8 as most,
                      case a.atttypid when 'int2'::regtype then 32767 when 'int4'::regtype then 2147483647 end
                        as most_of_column,
                      case when has_sequence_privilege(c.oid, 'usage, select')
                           then (least(q.seqmax, case a.atttypid when 'int2'::regtype then 32767
                                                      when 'int4'::regtype then 2147483647 else q.seqmax end)::float8
                                 - coalesce(pg_sequence_last_value(c.oid), q.seqstart)::float8) / q.seqincrement end as \"left\"
                 from pg_depend p join pg_class c on c.oid = p.objid and c.relkind = 'S'
                 join pg_sequence q on q.seqrelid = c.oid join pg_namespace n on n.oid = c.relnamespace
                where p.classid = 'pg_class'::regclass and p.refclassid = 'pg_class'::regclass and p.refobjid = a.attrelid
                  and p.refobjsubid = a.attnum and p.deptype in ('a', 'i') and q.seqincrement > 0 limit 1) as s) as sequence,
           exists(
               -- Of a partitioned table, its partitions store the values.
               with recursive stored (oid, kind) as (
                   select c.oid, c.relkind
                   union all select k.oid, k.relkind from stored s join pg_inherits h on h.inhparent = s.oid
                                        join pg_class k on k.oid = h.inhrelid where s.kind = 'p')
               select from stored s join pg_attribute v on v.attrelid = s.oid and v.attname = a.attname
                where (s.kind <> 'p' or s.oid = c.oid and not exists(select from pg_inherits where inhparent = c.oid))
                  and v.attstorage in ('x', 'm')
                  and (v.attcompression = 'p' or v.attcompression = ''
                       and current_setting('default_toast_compression') = 'pglz')) as uses_pglz,
           a.attcompression = 'p' as asks_for_pglz, a.attstorage = 'm' as stays_in_row,
           s.avg_width::float8 as width, s.correlation::float8 as correlation
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      left join pg_stats s on s.schemaname = n.nspname and s.tablename = c.relname and s.attname = a.attname
                          and s.inherited = (c.relkind = 'p')
     where a.attnum > 0 and not a.attisdropped";

pub(super) async fn read(client: &Client, oid: u32) -> Result<Fact<Vec<ColumnFacts>>, Error> {
    fact::rows(client, &format!("{COLUMNS} and a.attrelid = {oid} order by a.attnum")).await
}
