//! MIGRATE blocks as the files have them: in their order, each with the checksum of its text.

use ring::digest;

use super::block_text::about;
use crate::check::Source;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::model::Migration;
use crate::source::{Block, BlockKind, Piece};

/// A MIGRATE, and the block that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct MigrationStep {
    /// What databases and generated code remember.
    pub migration: Migration,
    pub(crate) block: Block,
}

impl MigrationStep {
    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.migration.id
    }

    /// Where its name stands.
    pub(crate) fn place(&self) -> Place {
        self.block.place.clone()
    }

    /// An error about it.
    pub(crate) fn error(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        about(code, self.place(), message, &self.block)
    }
}

/// Whether a block runs outside of a transaction.
pub(crate) fn is_alone(block: &Block) -> bool {
    block.modifiers.iter().any(|modifier| modifier.name == "no_transaction")
}

/// The steps of a group's files. A name that begins with `_` is only checked.
pub(crate) fn of_sources(sources: &[Source]) -> Vec<MigrationStep> {
    let blocks = sources.iter().flat_map(|source| source.blocks.iter().map(move |block| (source, block)));
    blocks
        .filter(|(_, block)| block.kind == BlockKind::Migrate && !block.name.starts_with('_'))
        .map(|(source, block)| {
            let sql = plain(block);
            let migration = Migration {
                id: block.name.clone(),
                checksum: checksum(&sql),
                statements: block.statements().iter().map(|pieces| text(pieces)).collect(),
                sql,
                no_transaction: is_alone(block),
                file: source.file.clone(),
                line: block.place.line,
            };
            MigrationStep { migration, block: block.clone() }
        })
        .collect()
}

/// A step's SQL; it has no variables and no optional lines.
fn plain(block: &Block) -> String {
    text(&block.body)
}

/// The SQL of pieces without variables.
pub(crate) fn text(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Text { text, .. } => text.clone(),
        Piece::Variable { .. } | Piece::Optional { .. } => String::new(),
    };
    pieces.iter().map(text).collect()
}

/// SHA-256 of the text with line ends `\n`: Git may change them.
fn checksum(sql: &str) -> String {
    let text = sql.replace("\r\n", "\n");
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
