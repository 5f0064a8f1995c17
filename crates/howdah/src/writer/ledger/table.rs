//! The ledger's table: its format, how it is made, and whether one that is there can be relied upon.

use howdah_connect::Connection;
use tokio_postgres::types::Type;

use crate::catalog::name::{display, quote};
use crate::error::Error;

/// The table's name, in the schema of the table that is written.
pub(super) const NAME: &str = "howdah_ledger";

/// The format of its rows. A table whose comment names none has the first. Whoever changes what rows mean, or adds a column,
/// raises it; tables of older formats are read as they are.
const FORMAT: u32 = 1;

/// What the table's comment says before the format's number.
const COMMENT: &str = "howdah ledger, format ";

/// The rows of writers that did not close stay so long: no batch is tried again for as long.
const KEPT: &str = "7 days";

/// Quoted and qualified.
pub(super) fn relation(schema: &str) -> String {
    format!("{}.{}", quote(schema), quote(NAME))
}

/// What makes the table.
fn creation(relation: &str) -> [String; 2] {
    [
        format!(
            "CREATE TABLE IF NOT EXISTS {relation} (load_id text NOT NULL, part bigint NOT NULL, \
             committed_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (load_id, part))"
        ),
        format!("COMMENT ON TABLE {relation} IS '{COMMENT}{FORMAT}'"),
    ]
}

/// A ledger that is there.
struct ExistingLedger {
    comment: String,
    is_unique: bool,
    is_logged: bool,
}

impl ExistingLedger {
    async fn look(connection: &Connection, relation: &str) -> Result<Option<ExistingLedger>, Error> {
        // A key that is deferred, partial or of more columns lets a transaction happen twice.
        let sql = "select coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), ''), c.relpersistence = 'p',
                          exists (select from pg_catalog.pg_index i
                                   where i.indrelid = c.oid and i.indisunique and i.indisvalid and i.indimmediate
                                     and i.indpred is null and i.indnkeyatts = 2
                                     and (select pg_catalog.array_agg(a.attname::text order by a.attname)
                                            from pg_catalog.pg_attribute a
                                           where a.attrelid = c.oid and a.attnum = any (i.indkey[0:1]))
                                         = array['load_id', 'part'])
                     from pg_catalog.pg_class c where c.oid = pg_catalog.to_regclass($1)";
        let rows = connection.client().query_typed(sql, &[(&relation, Type::TEXT)]).await?;
        Ok(rows.first().map(|row| ExistingLedger {
            comment: row.get(0),
            is_logged: row.get(1),
            is_unique: row.get(2),
        }))
    }

    /// That rows in it say what rows of this version say, and that each is there once.
    fn check(&self, relation: &str) -> Result<(), Error> {
        let problem = if self.format() > FORMAT {
            format!(
                "it has format {}, and this version of howdah knows formats up to {FORMAT}",
                self.format()
            )
        } else if !self.is_unique {
            "it has no unique index on exactly (load_id, part), without which a batch could happen twice"
                .to_owned()
        } else if !self.is_logged {
            "it is UNLOGGED or temporary: a crash would empty it, and a batch could happen twice".to_owned()
        } else {
            return Ok(());
        };
        let hint = if self.format() > FORMAT {
            "use the version of howdah that made it, or a later one".to_owned()
        } else {
            format!("while no writer runs: DROP TABLE {relation}; a writer makes it again as it has to be")
        };
        Err(Error::usage(format!("the ledger {relation} cannot be relied upon: {problem}")).with_hint(hint))
    }

    fn format(&self) -> u32 {
        let number = self.comment.strip_prefix(COMMENT).map(|rest| rest.trim().parse());
        // Somebody's own comment says nothing about the format.
        number.map_or(1, |number| number.unwrap_or(u32::MAX))
    }
}

/// Makes the table where it is missing, checks it where it is not, and removes what writers of long ago left.
///
/// # Errors
/// The role may not make it, or not write it; it is none that can be relied upon.
pub(super) async fn open(connection: &Connection, schema: &str) -> Result<(), Error> {
    let relation = relation(schema);
    match ExistingLedger::look(connection, &relation).await? {
        Some(found) => found.check(&relation)?,
        None => make(connection, &relation).await?,
    }
    let old = format!("DELETE FROM {relation} WHERE committed_at < now() - interval '{KEPT}'");
    connection.client().batch_execute(&old).await.map_err(|error| {
        Error::from(error).prefixed("the ledger cannot be written").with_hint(format!(
            "GRANT SELECT, INSERT, DELETE ON {}.{NAME} TO the role; or choose at-least-once delivery",
            display(schema)
        ))
    })
}

async fn make(connection: &Connection, relation: &str) -> Result<(), Error> {
    let [table, comment] = creation(relation);
    let Err(error) = connection.client().batch_execute(&format!("{table}; {comment}")).await else {
        return Ok(());
    };
    // Two that make it at once: one of them finds that it is there, or that its comment was changed just now.
    let meets =
        error.code().is_some_and(|code| ["23505", "42P07", "42710", "XX000", "42501"].contains(&code.code()));
    if meets && ExistingLedger::look(connection, relation).await?.is_some_and(|found| found.is_unique) {
        return Ok(());
    }
    let table = table.replace(" IF NOT EXISTS", "");
    Err(Error::from(error).prefixed("the ledger cannot be made").with_hint(format!(
        "let a role that may do so run: {table}; {comment}; GRANT SELECT, INSERT, DELETE ON {relation} TO …; \
         or choose at-least-once delivery, which needs none"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_of_a_later_format_is_not_written_and_older_ones_are() {
        let of =
            |comment: &str| ExistingLedger { comment: comment.to_owned(), is_unique: true, is_logged: true };
        assert_eq!(of("").format(), 1);
        assert_eq!(of("kept by the data team").format(), 1);
        assert_eq!(of("howdah ledger, format 12").format(), 12);
        assert!(of("howdah ledger, format 1").check("l").is_ok());
        let refused = of("howdah ledger, format 2").check("l").unwrap_err();
        assert!(refused.message().contains("format 2"), "{refused:?}");
        assert!(of("howdah ledger, format two").check("l").is_err());
    }
}
