//! Triggers of a table that do not fire for a load's rows: disabled in the load's transaction, and enabled again in it, each as
//! it was.

use howdah_connect::Connection;
use tokio_postgres::types::Type;

use crate::catalog::name::{display, quote};
use crate::catalog::table::{RelationKind, Table};
use crate::error::Error;
use crate::options::Mode;

/// Triggers of table `$1` and its partitions (and, where `$3`, of the tables that inherit from it) that fire in this session on
/// one of the events `$2`. Those that check foreign keys and deferred keys are internal.
const TRIGGERS: &str = "
    with recursive family(oid) as (
        select $1::oid
         union select i.inhrelid from pg_catalog.pg_inherits i join family f on i.inhparent = f.oid
                 join pg_catalog.pg_class c on c.oid = i.inhrelid where c.relispartition or $3)
    select n.nspname::text, c.relname::text, t.tgname::text, t.tgenabled::text, pg_catalog.pg_has_role(c.relowner, 'usage'),
           pg_catalog.pg_get_userbyid(c.relowner)::text
      from pg_catalog.pg_trigger t join family f on f.oid = t.tgrelid
      join pg_catalog.pg_class c on c.oid = t.tgrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where not t.tgisinternal and t.tgtype & $2 <> 0 and t.tgenabled <> 'D'
       and t.tgenabled <> case pg_catalog.current_setting('session_replication_role') when 'replica' then 'O' else 'R' end
     order by c.oid <> $1, n.nspname, c.relname, t.tgname";

/// The bits of `pg_trigger.tgtype`.
const INSERT: i16 = 4;
const DELETE: i16 = 8;
const UPDATE: i16 = 16;
const TRUNCATE: i16 = 32;

/// Which triggers of a table a load disables: a row's and a statement's, on any event that the load brings about.
#[derive(Clone)]
pub(crate) struct TriggerScope {
    oid: u32,
    events: i16,
    /// Statements of the load reach tables that inherit from this one.
    reaches_heirs: bool,
    /// Keeps everybody else from writing to the table; `None`: such a relation takes no lock by itself.
    lock: Option<String>,
    /// For people.
    pub(crate) table: String,
}

/// A trigger that fires.
#[derive(Clone)]
pub(crate) struct Trigger {
    schema: String,
    relation: String,
    name: String,
    /// `O`, `A` or `R`, as `pg_trigger.tgenabled` has it.
    enabled: String,
    /// Whose the table is, where it is not the role's.
    pub(crate) foreign_owner: Option<String>,
}

impl TriggerScope {
    /// What a load by `mode` disables of `table`.
    pub(crate) fn new(table: &Table, mode: Mode) -> TriggerScope {
        // An update that moves a row to another partition deletes and inserts; a foreign key to the table itself passes on both.
        let (events, reaches_heirs) = match mode {
            Mode::Update | Mode::Delete => (INSERT | UPDATE | DELETE, true),
            Mode::Upsert => (INSERT | UPDATE | DELETE, false),
            Mode::Truncate => (INSERT | TRUNCATE, false),
            Mode::Append | Mode::Create | Mode::CreateAppend | Mode::Replace | Mode::Ignore => {
                (INSERT, false)
            }
        };
        let only = if table.kind == RelationKind::Partitioned || reaches_heirs { "" } else { "ONLY " };
        let takes_a_lock = matches!(table.kind, RelationKind::Table | RelationKind::Partitioned);
        let lock =
            takes_a_lock.then(|| format!("LOCK TABLE {only}{} IN SHARE ROW EXCLUSIVE MODE", table.sql()));
        TriggerScope { oid: table.oid, events, reaches_heirs, lock, table: table.display() }
    }

    /// Takes the lock under which triggers can be altered: others read the table meanwhile, and do not write.
    pub(crate) fn lock_sql(&self) -> Option<&String> {
        self.lock.as_ref()
    }

    /// The triggers as they are now.
    ///
    /// # Errors
    /// The server's.
    pub(crate) async fn read(&self, connection: &Connection) -> Result<Vec<Trigger>, Error> {
        let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 3] =
            [(&self.oid, Type::OID), (&self.events, Type::INT2), (&self.reaches_heirs, Type::BOOL)];
        let rows = connection.client().query_typed(TRIGGERS, &parameters).await?;
        let trigger = |row: &tokio_postgres::Row| Trigger {
            schema: row.get(0),
            relation: row.get(1),
            name: row.get(2),
            enabled: row.get(3),
            foreign_owner: (!row.get::<_, bool>(4)).then(|| row.get(5)),
        };
        Ok(rows.iter().map(trigger).collect())
    }
}

impl Trigger {
    /// For people: the table too, where it is not `table` itself.
    fn display(&self, table: &str) -> String {
        match self.relation_display() {
            relation if relation == table => display(&self.name),
            relation => format!("{} of {relation}", display(&self.name)),
        }
    }

    /// The table that has it, for people.
    pub(crate) fn relation_display(&self) -> String {
        format!("{}.{}", display(&self.schema), display(&self.relation))
    }
}

/// Disables `triggers`, which are in the order of their tables.
pub(crate) fn disable_sql(triggers: &[Trigger]) -> Vec<String> {
    alter(triggers, |_| "DISABLE")
}

/// Enables `triggers` again, each as it was.
pub(crate) fn enable_sql(triggers: &[Trigger]) -> Vec<String> {
    alter(triggers, |trigger| match trigger.enabled.as_str() {
        "A" => "ENABLE ALWAYS",
        "R" => "ENABLE REPLICA",
        _ => "ENABLE",
    })
}

/// The names of `triggers` of `table`, and of those that only partitions have.
pub(crate) fn names(triggers: &[Trigger], table: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, trigger) in triggers.iter().enumerate() {
        // A partition has a trigger of the whole under the same name.
        let is_told = triggers[..at]
            .iter()
            .any(|other| other.name == trigger.name && other.relation_display() == table);
        if !is_told {
            names.push(trigger.display(table));
        }
    }
    names
}

/// One statement a table. What a partitioned table's trigger is in its partitions is altered there: it may be otherwise.
fn alter(triggers: &[Trigger], how: impl Fn(&Trigger) -> &'static str) -> Vec<String> {
    let of_one = triggers.chunk_by(|a, b| (&a.schema, &a.relation) == (&b.schema, &b.relation));
    let statement = |of: &[Trigger]| {
        let actions: Vec<String> =
            of.iter().map(|trigger| format!("{} TRIGGER {}", how(trigger), quote(&trigger.name))).collect();
        let (schema, relation) = of.first().map_or(("", ""), |first| (&first.schema, &first.relation));
        format!("ALTER TABLE ONLY {}.{} {}", quote(schema), quote(relation), actions.join(", "))
    };
    of_one.map(statement).collect()
}
