//! Reads from the catalog what the nulls of a tree depend on.

use std::collections::BTreeSet;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::Error;
use super::types::get;
use crate::tree::{Catalog, Function, ReferencedOids, Relation, Value, parse};

/// A column is NOT NULL if it is so in all tables below, and no constraint is there that old rows may break. Foreign tables
/// only say so, and a virtual column is computed anew.
const RELATIONS: &str = "
with recursive below(root, relation) as (
    select oid, oid from unnest($1) as u(oid)
    union
    select b.root, i.inhrelid from below b join pg_catalog.pg_inherits i on i.inhparent = b.relation)
select c.oid, c.relname::text, c.relkind::text,
       c.relkind <> 'v' and exists (select from pg_catalog.pg_rewrite w where w.ev_class = c.oid),
       array(select a.attnum::int4 from pg_catalog.pg_attribute a
             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and not exists (
                 select from below b join pg_catalog.pg_class d on d.oid = b.relation
                 left join pg_catalog.pg_attribute e on e.attrelid = d.oid and e.attname = a.attname
                 where b.root = c.oid
                   and (d.relkind not in ('r', 'p') or e.attnotnull is not true or e.attgenerated = 'v'
                        or exists (select from pg_catalog.pg_constraint k
                                   where k.conrelid = d.oid and k.contype = 'n' and not k.convalidated
                                     and k.conkey = array[e.attnum])))),
       (select w.ev_action::text from pg_catalog.pg_rewrite w
        where w.ev_class = c.oid and c.relkind = 'v' and w.rulename = '_RETURN')
from unnest($1) as u(oid) join pg_catalog.pg_class c on c.oid = u.oid";

const FUNCTIONS: &str = "
select p.oid, case when n.nspname = 'pg_catalog'
                   then p.proname || '(' || pg_catalog.oidvectortypes(p.proargtypes) || ')' else '' end,
       p.proisstrict, not p.proretset
from unnest($1) as u(oid) join pg_catalog.pg_proc p on p.oid = u.oid
join pg_catalog.pg_namespace n on n.oid = p.pronamespace";

const DOMAINS: &str = "
with recursive over(root, type) as (
    select oid, oid from unnest($1) as u(oid)
    union
    select o.root, t.typbasetype from over o join pg_catalog.pg_type t on t.oid = o.type where t.typtype = 'd')
select o.root, bool_or(t.typtype = 'd' and t.typnotnull)
from over o join pg_catalog.pg_type t on t.oid = o.type group by 1";

/// So many views in views are followed.
const MOST_ROUNDS: usize = 200;

/// What the catalog says of all that `tree` names, and the views in it.
pub(super) async fn read(client: &Client, tree: &Value) -> Result<Catalog, Error> {
    let mut catalog = Catalog::default();
    let mut named = ReferencedOids::default();
    named.add(tree);
    let mut read: BTreeSet<u32> = BTreeSet::new();
    for _ in 0..MOST_ROUNDS {
        let relations: Vec<u32> = named.relations.difference(&read).copied().collect();
        if relations.is_empty() {
            break;
        }
        read.extend(&relations);
        for row in &asked(client, RELATIONS, &relations).await? {
            let relation = relation(row)?;
            if let Some(view) = &relation.view {
                named.add(view);
            }
            catalog.relations.insert(get(row, 0)?, relation);
        }
    }
    let functions: Vec<u32> = named.functions.into_iter().collect();
    for row in &asked(client, FUNCTIONS, &functions).await? {
        let function = Function { signature: get(row, 1)?, strict: get(row, 2)?, scalar: get(row, 3)? };
        catalog.functions.insert(get(row, 0)?, function);
    }
    let domains: Vec<u32> = named.domains.into_iter().collect();
    for row in &asked(client, DOMAINS, &domains).await? {
        catalog.domains.insert(get(row, 0)?, get(row, 1)?);
    }
    Ok(catalog)
}

fn relation(row: &Row) -> Result<Relation, Error> {
    let not_null: Vec<i32> = get(row, 4)?;
    let view: Option<String> = get(row, 5)?;
    Ok(Relation {
        name: get(row, 1)?,
        kind: get(row, 2)?,
        ruled: get(row, 3)?,
        not_null: not_null.into_iter().map(i64::from).collect(),
        view: view.as_deref().and_then(parse),
    })
}

async fn asked(client: &Client, question: &str, oids: &Vec<u32>) -> Result<Vec<Row>, Error> {
    if oids.is_empty() {
        return Ok(Vec::new());
    }
    client.query_typed(question, &[(oids, Type::OID_ARRAY)]).await.map_err(Error::of_question)
}
