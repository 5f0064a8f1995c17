//! Steps of `schema:`, BASELINE, MIGRATE and TESTDATA, run where a group is described: what makes the tables that its statements name.
//!
//! A step is a transaction on a throwaway server. On a server of the user's all steps are one transaction that is never
//! committed, unless `:no_transaction` is among them, for which a scratch database is needed.

use tokio_postgres::Client;

use super::block_text::{BlockText, about_of, refused_of, title};
use super::forbidden::refusal;
use super::migration::is_alone;
use super::scratch_database::{ScratchDatabase, ScratchKind};
use super::server_error::ServerError;
use crate::check::Source;
use crate::describe::Error;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::schema::{self, Schema};
use crate::source::{Block, BlockKind, Piece};

/// Changes of this transaction to what all databases share. Functions and DO hide from what is refused by name.
const SHARED: &str = "
select coalesce(pg_catalog.string_agg(relname::text, ', '), '') from pg_catalog.pg_stat_xact_sys_tables
where relname in ('pg_authid', 'pg_auth_members', 'pg_database', 'pg_tablespace', 'pg_db_role_setting',
                  'pg_subscription', 'pg_parameter_acl', 'pg_replication_origin')
and n_tup_ins + n_tup_upd + n_tup_del > 0";

/// Others wait behind a statement that waits for a lock.
const WAIT: &str = "SET LOCAL lock_timeout = '2s'";

/// Takes the settings of a step back, and who it was; not that the server looks whether its client is still there.
const FORGET: &str = "
RESET SESSION AUTHORIZATION;
RESET ROLE;
DO $$
DECLARE kept text := pg_catalog.current_setting('client_connection_check_interval', true);
BEGIN
    RESET ALL;
    IF kept IS NOT NULL THEN
        PERFORM pg_catalog.set_config('client_connection_check_interval', kept, false);
    END IF;
END $$";

/// What is run as one transaction: a block, or a step of another tool's.
struct Transaction {
    title: String,
    place: Place,
    alone: bool,
    statements: Vec<Vec<Piece>>,
}

impl Transaction {
    fn of_block(block: &Block) -> Self {
        Self {
            title: title(block),
            place: block.place.clone(),
            alone: is_alone(block),
            statements: block.statements(),
        }
    }

    fn of_schema(step: &schema::SchemaStep) -> Self {
        let schema::SchemaStep { title, place, alone, statements } = step.clone();
        Self { title, place, alone, statements }
    }

    /// An error about it.
    fn error(&self, place: Place, message: impl Into<String>, help: &str) -> Box<Diagnostic> {
        let error = about_of(Code::NotSupported, place, message, self.title.clone());
        Box::new(error.help(help))
    }

    /// What the server said, of no statement of its own.
    fn unplaced(&self, error: tokio_postgres::Error) -> Box<Diagnostic> {
        Box::new(refused_of(Error::from(error), self.place.clone(), self.title.clone()))
    }
}

/// Runs all steps of a group, those of other tools' first, and leaves the session in a transaction. The inner error is the
/// first step's that failed: what comes behind it builds on it.
pub(super) async fn run(
    scratch: &ScratchDatabase,
    schema: &Schema,
    sources: &[Source],
) -> Result<Result<(), Box<Diagnostic>>, ServerError> {
    begin(scratch).await?;
    for theirs in &schema.steps {
        if let Err(refused) = one(scratch, &Transaction::of_schema(theirs)).await? {
            return Ok(Err(refused));
        }
        // A dump sets the search path to nothing, which is meant for the dump alone.
        scratch.client().batch_execute(FORGET).await?;
        if scratch.is_theirs() {
            scratch.client().batch_execute(WAIT).await?;
        }
    }
    for kind in [BlockKind::Baseline, BlockKind::Migrate, BlockKind::Testdata] {
        let blocks = sources.iter().flat_map(|source| &source.blocks).filter(|block| block.kind == kind);
        for block in blocks {
            if let Err(refused) = one(scratch, &Transaction::of_block(block)).await? {
                return Ok(Err(refused));
            }
        }
    }
    Ok(Ok(()))
}

/// Runs a step, and commits it on a throwaway server.
async fn one(
    scratch: &ScratchDatabase,
    of: &Transaction,
) -> Result<Result<(), Box<Diagnostic>>, ServerError> {
    if let Err(refused) = step(scratch, of).await {
        return Ok(Err(refused));
    }
    if !scratch.is_theirs() {
        scratch.client().batch_execute("COMMIT").await?;
        begin(scratch).await?;
    }
    Ok(Ok(()))
}

async fn begin(scratch: &ScratchDatabase) -> Result<(), ServerError> {
    let wait = if scratch.is_theirs() { WAIT } else { "" };
    Ok(scratch.client().batch_execute(&format!("BEGIN; {wait}")).await?)
}

async fn step(scratch: &ScratchDatabase, step: &Transaction) -> Result<(), Box<Diagnostic>> {
    let client = scratch.client();
    if step.alone {
        if let ScratchKind::Transaction { asked } = scratch.kind {
            let help = if asked {
                "`schema: database` is described in a transaction; leave the step out"
            } else {
                "leave -d out, or give its role CREATEDB, for a scratch database"
            };
            let message = "a step without a transaction cannot be described in one";
            return Err(step.error(step.place.clone(), message, help));
        }
        commit(scratch, step).await?;
    }
    for pieces in &step.statements {
        let text = BlockText::new(pieces, &[]);
        if let Some(refusal) = refusal(&text.sql, scratch.is_theirs(), step.alone) {
            let place = pieces.first().map_or_else(|| step.place.clone(), |piece| piece.place_of(0));
            return Err(step.error(place, refusal.message, refusal.help));
        }
        let done = match &scratch.kind {
            ScratchKind::Throwaway(superuser) if makes_extension(&text.sql) => {
                // The superuser's session sees what is committed.
                if !step.alone {
                    client.batch_execute("COMMIT").await.map_err(|error| step.unplaced(error))?;
                }
                let done = execute(superuser.client(), &text.sql).await;
                if !step.alone {
                    client.batch_execute("BEGIN").await.map_err(|error| step.unplaced(error))?;
                }
                done
            }
            _ => execute(client, &text.sql).await,
        };
        done.map_err(|error| Box::new(text.refused_of(error.into(), &step.place, step.title.clone())))?;
    }
    if step.alone {
        begin(scratch).await.map_err(|error| error.0)?;
    }
    Ok(())
}

/// Commits what a step without a transaction builds on, if it ends with the scratch database.
async fn commit(scratch: &ScratchDatabase, step: &Transaction) -> Result<(), Box<Diagnostic>> {
    let client = scratch.client();
    let refused = |error: tokio_postgres::Error| step.unplaced(error);
    if scratch.is_theirs() {
        let rows = client.query_typed(SHARED, &[]).await.map_err(refused)?;
        let changed: String =
            rows.first().map_or(Ok(String::new()), |row| row.try_get(0)).map_err(refused)?;
        if !changed.is_empty() {
            let message = format!("a step before it changed {changed}, which outlives a database");
            let help = "leave -d out; the throwaway server ends with all that is in it";
            return Err(step.error(step.place.clone(), message, help));
        }
    }
    client.batch_execute("COMMIT").await.map_err(refused)
}

/// Runs one statement: the extended protocol takes no second one.
async fn execute(client: &Client, sql: &str) -> Result<(), tokio_postgres::Error> {
    client.execute(sql, &[]).await.map(drop)
}

fn makes_extension(sql: &str) -> bool {
    let words = sql.split_ascii_whitespace().take(2).collect::<Vec<_>>().join(" ");
    words.eq_ignore_ascii_case("create extension")
}
