//! BASELINE, MIGRATE and TESTDATA, run where a group is described: what makes the tables that its statements name.
//!
//! A step is a transaction on a throwaway server. On a server of the user's all steps are one transaction that is never
//! committed, unless `:no_transaction` is among them, for which a scratch database is needed.

use tokio_postgres::Client;

use super::block_text::{BlockText, about};
use super::host::{Kind, Scratch};
use super::migration::is_alone;
use super::permitted::refusal;
use super::trouble::Trouble;
use crate::check::Source;
use crate::describe::Error;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Block, BlockKind};

/// Changes of this transaction to what all databases share. Functions and DO hide from what is refused by name.
const SHARED: &str = "
select coalesce(pg_catalog.string_agg(relname::text, ', '), '') from pg_catalog.pg_stat_xact_sys_tables
where relname in ('pg_authid', 'pg_auth_members', 'pg_database', 'pg_tablespace', 'pg_db_role_setting',
                  'pg_subscription', 'pg_parameter_acl', 'pg_replication_origin')
and n_tup_ins + n_tup_upd + n_tup_del > 0";

/// Runs all steps of a group and leaves the session in a transaction. The inner error is the first step's that failed: what
/// comes behind it builds on it.
pub(super) async fn run(
    scratch: &Scratch,
    sources: &[Source],
) -> Result<Result<(), Box<Diagnostic>>, Trouble> {
    let client = scratch.client();
    begin(scratch).await?;
    for kind in [BlockKind::Baseline, BlockKind::Migrate, BlockKind::Testdata] {
        let blocks = sources.iter().flat_map(|source| &source.blocks).filter(|block| block.kind == kind);
        for block in blocks {
            if let Err(refused) = step(scratch, block).await {
                return Ok(Err(refused));
            }
            if !scratch.is_theirs() {
                client.batch_execute("COMMIT").await?;
                begin(scratch).await?;
            }
        }
    }
    Ok(Ok(()))
}

async fn begin(scratch: &Scratch) -> Result<(), Trouble> {
    // Others wait behind a statement that waits for a lock.
    let wait = if scratch.is_theirs() { "; SET LOCAL lock_timeout = '2s'" } else { "" };
    Ok(scratch.client().batch_execute(&format!("BEGIN{wait}")).await?)
}

async fn step(scratch: &Scratch, block: &Block) -> Result<(), Box<Diagnostic>> {
    let alone = is_alone(block);
    let client = scratch.client();
    let unplaced = |error: tokio_postgres::Error| {
        Box::new(super::block_text::refused(Error::from(error), block.place.clone(), block))
    };
    if alone {
        if matches!(scratch.kind, Kind::Transaction) {
            let message = "a step without a transaction cannot be described in one";
            let error = about(Code::NotSupported, block.place.clone(), message, block);
            return Err(Box::new(
                error.help("leave -d out, or give its role CREATEDB, for a scratch database"),
            ));
        }
        commit(scratch, block).await?;
    }
    for pieces in block.statements() {
        let text = BlockText::new(&pieces, &[]);
        let place = || pieces.first().map_or_else(|| block.place.clone(), |piece| piece.place_of(0));
        if let Some(refusal) = refusal(&text.sql, scratch.is_theirs(), alone) {
            let error = about(Code::NotSupported, place(), refusal.message, block);
            return Err(Box::new(error.help(refusal.help)));
        }
        let done = match &scratch.kind {
            Kind::Throwaway(superuser) if makes_extension(&text.sql) => {
                // The superuser's session sees what is committed.
                if !alone {
                    client.batch_execute("COMMIT").await.map_err(unplaced)?;
                }
                let done = execute(superuser.client(), &text.sql).await;
                if !alone {
                    client.batch_execute("BEGIN").await.map_err(unplaced)?;
                }
                done
            }
            _ => execute(client, &text.sql).await,
        };
        done.map_err(|error| Box::new(text.refused(error.into(), block)))?;
    }
    if alone {
        begin(scratch).await.map_err(|trouble| trouble.0)?;
    }
    Ok(())
}

/// Commits what a step without a transaction builds on, if it ends with the scratch database.
async fn commit(scratch: &Scratch, block: &Block) -> Result<(), Box<Diagnostic>> {
    let client = scratch.client();
    let refused = |error: tokio_postgres::Error| {
        Box::new(super::block_text::refused(Error::from(error), block.place.clone(), block))
    };
    if scratch.is_theirs() {
        let rows = client.query_typed(SHARED, &[]).await.map_err(refused)?;
        let changed: String =
            rows.first().map_or(Ok(String::new()), |row| row.try_get(0)).map_err(refused)?;
        if !changed.is_empty() {
            let message = format!("a step before it changed {changed}, which outlives a database");
            let error = about(Code::NotSupported, block.place.clone(), message, block);
            return Err(Box::new(
                error.help("leave -d out; the throwaway server ends with all that is in it"),
            ));
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
