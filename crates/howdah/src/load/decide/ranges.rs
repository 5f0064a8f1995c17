//! Whether several connections apply staged rows, each a range of the key: wherever rows of two ranges never meet, and what is half
//! done can be done again.

use howdah_connect::Connection;
use howdah_message::{Message, setting};
use howdah_source::Input;
use tokio_postgres::types::Type;

use crate::catalog::table::{RelationKind, Table};
use crate::error::Error;
use crate::load::{Circumstances, Load};
use crate::options::{Mode, OnError};
use crate::plan::match_key::MatchKey;
use crate::publish::staged::{AppliedBy, OrderedColumn, Staging};
use crate::publish::triggers::TriggerScope;

/// What there is in the database that rows of table `$1` and its partitions can meet in, where `$2` is the key and `$3` are the
/// columns that change in rows which are there.
const MEETINGS: &str = "
    with family(oid) as (
        select relid::oid from pg_catalog.pg_partition_tree($1::oid) union select $1::oid
    ), keyed as (
        select i.*, k.attnum, i.indclass[k.n - 1] as class, i.indcollation[k.n - 1] as collation
          from pg_catalog.pg_index i,
               pg_catalog.unnest(i.indkey::int2[]) with ordinality as k(attnum, n)
         where i.indrelid in (select oid from family) and k.n <= i.indnkeyatts
    ), named as (
        select x.*, a.attname::text as name, a.attcollation, a.attgenerated <> '' as generated
          from keyed x join pg_catalog.pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.attnum
    )
    select c.relkind = 'r' and c.relhassubclass,
           exists(select from pg_catalog.pg_rewrite r where r.ev_class in (select oid from family)),
           exists(select from keyed x where (x.indisunique or x.indisexclusion)
                     and (x.indexprs is not null or x.indpred is not null))
             or exists(select from named x where (x.indisunique or x.indisexclusion)
                     and (x.name = any($3) or x.generated)),
           exists(select from pg_catalog.pg_constraint f
                   where f.contype = 'f' and f.confrelid in (select oid from family)
                     and f.confdeltype in ('c', 'n', 'd')),
           exists(select from named x join pg_catalog.pg_opclass o on o.oid = x.class
                   where x.indisunique and x.name = any($2) and not (o.opcdefault and x.collation = x.attcollation)),
           coalesce(o.names, '{}'), coalesce(o.operators, '{}')
      from pg_catalog.pg_class c
      left join (select pg_catalog.array_agg(u.name order by u.at) as names,
                        pg_catalog.array_agg(u.operator order by u.at) as operators
                   from (select x.name, pg_catalog.array_position($2, x.name) as at,
                                min(pg_catalog.format('OPERATOR(%I.%s)', s.nspname, p.oprname)) as operator
                           from named x
                           join pg_catalog.pg_opclass o on o.oid = x.class
                           join pg_catalog.pg_am m on m.oid = o.opcmethod and m.amname = 'btree'
                           join pg_catalog.pg_amop w on w.amopfamily = o.opcfamily and w.amopstrategy = 1
                                and w.amoplefttype = o.opcintype and w.amoprighttype = o.opcintype
                           join pg_catalog.pg_operator p on p.oid = w.amopopr
                           join pg_catalog.pg_namespace s on s.oid = p.oprnamespace
                          where x.indrelid = $1 and x.indisvalid and x.name = any($2)
                            and o.opcdefault and x.collation = x.attcollation
                          group by x.name) as u) as o on true
     where c.oid = $1";

/// What keeps rows of two ranges apart, or not.
#[derive(Debug, Clone, Default)]
struct Meetings {
    inherited: bool,
    has_rules: bool,
    /// A unique index or exclusion constraint in which a row can take what another gives up.
    hands_over: bool,
    /// Deleting a row does something to rows of other tables.
    cascades: bool,
    /// A unique index holds other keys for equal than the order of its columns does.
    compares_otherwise: bool,
    /// A trigger fires for the rows.
    has_triggers: bool,
}

/// Why one statement applies the rows in `mode`, as far as the `table` is why; `None`: rows of two ranges meet nowhere.
fn why_together(mode: Mode, table: &Table, found: &Meetings) -> Option<Message> {
    let runs = table.hazards.code.first().filter(|_| mode.inserts());
    let changes = matches!(mode, Mode::Upsert | Mode::Update);
    Some(if !matches!(table.kind, RelationKind::Table | RelationKind::Partitioned) {
        message![table.display(), " is not a table"]
    } else if table.row_security {
        "row-level security applies to the role".into()
    } else if found.inherited {
        "other tables inherit from the table".into()
    } else if found.has_rules {
        "the table has a rule".into()
    } else if found.has_triggers {
        "a trigger fires for the rows".into()
    } else if let Some(runs) = runs {
        message!["the table has ", *runs]
    } else if table.hazards.refers_to_itself {
        "the table has a foreign key to itself".into()
    } else if changes && found.hands_over {
        "a unique index or exclusion constraint has columns that change: a row can take what another gives up"
            .into()
    } else if mode == Mode::Delete && found.cascades {
        "a foreign key of another table passes deletions on".into()
    } else if mode.inserts() && found.compares_otherwise {
        "a unique index does not compare as its columns do".into()
    } else {
        return None;
    })
}

impl Load<'_> {
    /// What applies the rows that `jobs` connections have staged.
    ///
    /// # Errors
    /// The server's.
    pub(super) async fn applied_by(
        &self,
        found: Circumstances<'_>,
        table: &Table,
        staging: &Staging,
        jobs: usize,
    ) -> Result<AppliedBy, Error> {
        let mode = self.options.target.mode;
        let Some(key) = staging.apply.key().filter(|_| jobs > 1) else {
            return Ok(AppliedBy::OneStatement(None));
        };
        if let Some(why) = self.why_at_once(found) {
            return Ok(AppliedBy::OneStatement(Some(why)));
        }
        let (mut meetings, columns) = look_up(found.connection, table, key, staging).await?;
        let scope = TriggerScope::new(table, mode);
        meetings.has_triggers = !scope.read(found.connection).await?.is_empty();
        Ok(match why_together(mode, table, &meetings) {
            Some(why) => AppliedBy::OneStatement(Some(why)),
            None if columns.is_empty() => AppliedBy::OneStatement(Some(message![
                "no B-tree index of the table has ",
                key.display(),
                " in order"
            ])),
            None => AppliedBy::Ranges(columns),
        })
    }

    /// Why one transaction applies the rows, whatever the table is like.
    fn why_at_once(&self, found: Circumstances<'_>) -> Option<Message> {
        let options = self.options;
        Some(if options.tolerance.on_error == OnError::Ignore {
            message![setting::ON_ERROR.word("ignore"), " tries rows one after the other"]
        } else if !options.target.after.is_empty() {
            message![setting::AFTER, " is part of the load's transaction"]
        } else if found.triggers.is_some() {
            "triggers are disabled and enabled again in the load's transaction".into()
        } else if found.added.is_some() {
            "columns are added in the load's transaction".into()
        } else if !found.inputs.iter().all(Input::is_rewindable) {
            "the input cannot be read again, should one of several commits fail".into()
        } else {
            return None;
        })
    }
}

/// What rows of `table` can meet in, triggers left out; and by which columns of the `key` they can be cut.
async fn look_up(
    connection: &Connection,
    table: &Table,
    key: &MatchKey,
    staging: &Staging,
) -> Result<(Meetings, Vec<OrderedColumn>), Error> {
    let changed = staging.set_columns();
    let rows = connection
        .client()
        .query_typed(
            MEETINGS,
            &[(&table.oid, Type::OID), (&key.columns, Type::TEXT_ARRAY), (&changed, Type::TEXT_ARRAY)],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok((Meetings::default(), Vec::new())) };
    let meetings = Meetings {
        inherited: row.get(0),
        has_rules: row.get(1),
        hands_over: row.get(2),
        cascades: row.get(3),
        compares_otherwise: row.get(4),
        has_triggers: false,
    };
    let (names, operators): (Vec<String>, Vec<String>) = (row.get(5), row.get(6));
    let columns = names.into_iter().zip(operators).map(|(name, less)| OrderedColumn { name, less });
    Ok((meetings, columns.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::table::Hazards;

    fn table() -> Table {
        Table::with_hazards(Hazards { keys: true, ..Hazards::default() })
    }

    const MODES: [Mode; 4] = [Mode::Upsert, Mode::Ignore, Mode::Update, Mode::Delete];

    /// In which modes one statement applies the rows.
    fn together(table: &Table, found: &Meetings) -> Vec<Mode> {
        MODES.into_iter().filter(|mode| why_together(*mode, table, found).is_some()).collect()
    }

    #[test]
    fn rows_of_a_plain_table_with_a_key_are_applied_in_ranges() {
        assert_eq!(together(&table(), &Meetings::default()), []);
        let partitioned = Table { kind: RelationKind::Partitioned, ..table() };
        assert_eq!(together(&partitioned, &Meetings::default()), []);
    }

    #[test]
    fn one_statement_applies_rows_that_can_meet_elsewhere_than_in_their_key() {
        let none = Meetings::default();
        for found in [
            Meetings { inherited: true, ..none.clone() },
            Meetings { has_rules: true, ..none.clone() },
            Meetings { has_triggers: true, ..none.clone() },
        ] {
            assert_eq!(together(&table(), &found), MODES, "{found:?}");
        }
        for other in [
            Table { kind: RelationKind::Foreign, ..table() },
            Table { row_security: true, ..table() },
            Table { hazards: Hazards { refers_to_itself: true, ..Hazards::default() }, ..table() },
        ] {
            assert_eq!(together(&other, &none), MODES, "{other:?}");
        }
    }

    #[test]
    fn what_only_some_modes_do_counts_in_them_alone() {
        let none = Meetings::default();
        let changes = Meetings { hands_over: true, ..none.clone() };
        assert_eq!(together(&table(), &changes), [Mode::Upsert, Mode::Update]);
        let cascades = Meetings { cascades: true, ..none.clone() };
        assert_eq!(together(&table(), &cascades), [Mode::Delete]);
        let compares = Meetings { compares_otherwise: true, ..none.clone() };
        assert_eq!(together(&table(), &compares), [Mode::Upsert, Mode::Ignore]);
        let hazards = Hazards { code: vec!["a default that runs a function"], ..Hazards::default() };
        assert_eq!(together(&Table { hazards, ..table() }, &none), [Mode::Upsert, Mode::Ignore]);
    }
}
