//! The indexes of a table. Their predicates and expressions may have literals in them, and stay with the server.

use howdah_connect::tokio_postgres::Client;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::facts::fact::{self, Fact};

/// An index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IndexFacts {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The access method: `btree`, `gin`.
    pub method: String,
    /// The columns of its key; `None` stands for an expression.
    pub columns: Vec<Option<String>>,
    /// Rows may be refused because of it, or rows of other tables and subscribers are found by it.
    pub is_key: bool,
    /// It belongs to an exclusion constraint.
    pub is_exclusion: bool,
    /// Queries may use it.
    pub is_valid: bool,
    /// It belongs to an index of the partitioned table above.
    pub is_part: bool,
    /// Its name, columns and method say all there is to it.
    pub is_plain: bool,
    /// It has a tablespace, a comment or statistics of its own, which its definition does not say.
    pub has_more: bool,
    /// Another index that finds everything that it finds.
    pub covered_by: Option<String>,
    /// Bytes, as the server last knew them.
    pub bytes: f64,
    /// How often a query used it since the counters were set back.
    pub scans: f64,
    /// Of GIN: new rows first go to a list.
    pub has_pending_list: bool,
    /// Where it begins with an expression: how nearly the table lies in its order, from -1 to 1, as far as the role may know.
    pub correlation: Option<f64>,
}

/// Of two that are equal, the one that is no key, or else the younger, is covered. Places in the text of a definition are no
/// part of it.
const INDEXES: &str = "
    with x as (
      select i.*, c.relname, c.relam, c.relpages, c.relkind, c.relispartition, n.nspname, c.reloptions, c.reltablespace,
             indisunique or indisexclusion or indisreplident or indisclustered
               or exists(select from pg_constraint k where k.conindid = i.indexrelid) as is_key,
             c.reltablespace <> 0 or obj_description(c.oid, 'pg_class') is not null
               or exists(select from pg_attribute a where a.attrelid = c.oid and a.attstattarget >= 0) as has_more,
             regexp_replace(coalesce(indpred::text, '') || coalesce(indexprs::text, ''), ':location -?\\d+', '', 'g') as terms
        from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
       where i.indrelid = {oid})
    select x.nspname as schema, x.relname as name, m.amname as method,
           array(select a.attname from generate_series(0, x.indnkeyatts - 1) as at
                   left join pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[at] and a.attnum > 0
                  order by at) as columns,
           x.is_key, x.indisexclusion as is_exclusion, x.indisvalid as is_valid, x.relispartition as is_part,
           x.terms = '' and x.indnatts = x.indnkeyatts and x.reloptions is null and not x.has_more
             and not exists(select from unnest(x.indoption::int2[]) o where o <> 0)
             and not exists(select from unnest(x.indclass::oid[]) o join pg_opclass k on k.oid = o where not k.opcdefault)
             and not exists(select from generate_series(0, x.indnkeyatts - 1) at
                              join pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[at]
                             where a.attcollation <> x.indcollation[at]) as is_plain,
           x.has_more,
           (select y.relname from x as y
             where y.indexrelid <> x.indexrelid and y.indisvalid and y.indisready and y.relam = x.relam and y.terms = x.terms
               and m.amname = 'btree' and not x.is_key and x.indnatts = x.indnkeyatts and x.indnkeyatts <= y.indnkeyatts
               and y.indkey::text || ' ' like x.indkey::text || ' %' and y.indclass::text || ' ' like x.indclass::text || ' %'
               and y.indcollation::text || ' ' like x.indcollation::text || ' %'
               and y.indoption::text || ' ' like x.indoption::text || ' %'
               and (y.indnkeyatts > x.indnkeyatts or y.is_key or y.indexrelid < x.indexrelid)
             order by y.indnkeyatts, y.relname limit 1) as covered_by,
           x.relpages::float8 * current_setting('block_size')::int4 as bytes,
           coalesce(s.idx_scan, 0)::float8 as scans,
           m.amname = 'gin' and coalesce((select option_value not in ('false', 'off', 'no', '0')
             from pg_options_to_table(x.reloptions) where option_name = 'fastupdate'), true) as has_pending_list,
           (select o.correlation::float8 from pg_stats o
             where x.indkey[0] = 0 and o.schemaname = x.nspname and o.tablename = x.relname
               and o.attname = (select a.attname from pg_attribute a where a.attrelid = x.indexrelid and a.attnum = 1)) as correlation
      from x join pg_am m on m.oid = x.relam
      left join pg_stat_all_indexes s on s.indexrelid = x.indexrelid
     where x.indisready order by x.relname";

pub(super) async fn read(client: &Client, oid: u32) -> Result<Fact<Vec<IndexFacts>>, Error> {
    fact::rows(client, &INDEXES.replace("{oid}", &oid.to_string())).await
}
