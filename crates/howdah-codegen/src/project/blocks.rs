//! The blocks of a file that become code, described one after the other.

use tokio_postgres::Client;

use super::server_error::ServerError;
use super::{statement, table};
use crate::check::Source;
use crate::diagnostic::Diagnostic;
use crate::model::{Statement, Table};
use crate::source::BlockKind;

/// What was found.
#[derive(Default)]
pub(super) struct DescribedBlocks {
    pub(super) statements: Vec<Statement>,
    pub(super) tables: Vec<Table>,
    /// The types that are mentioned.
    pub(super) oids: Vec<u32>,
}

/// Describes a file's blocks; says what is wrong with them.
pub(super) async fn describe(
    client: &Client,
    source: &Source,
    found: &mut DescribedBlocks,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<(), ServerError> {
    for block in &source.blocks {
        // A name that begins so is described, so that its faults are reported, and generates nothing.
        let kept = !block.name.starts_with('_');
        match block.kind {
            BlockKind::Query | BlockKind::Exec => {
                if let Some((statement, oids)) =
                    statement::describe(client, source, block, diagnostics).await?
                    && kept
                {
                    found.statements.push(statement);
                    found.oids.extend(oids);
                }
            }
            BlockKind::Table => {
                if let Some((table, oids)) = table::describe(client, source, block, diagnostics).await?
                    && kept
                {
                    found.tables.push(table);
                    found.oids.extend(oids);
                }
            }
            BlockKind::Migrate | BlockKind::Baseline | BlockKind::Testdata => {}
        }
    }
    Ok(())
}
