//! Whether the table is out of the write-ahead log while the rows come.

use howdah_connect::Connection;
use howdah_message::{Message, message, setting};

use crate::catalog::table::{RelationKind, Table};
use crate::error::Error;
use crate::load::decide::straight::{detour, not_owned};
use crate::load::{Load, OffTheLog};
use crate::options::{Mode, Unlogged};
use crate::publish::off_the_log::{self, Obstacle};

impl Load<'_> {
    /// What is out of the log: `table`, if it exists, or the one that the load makes; `None`: nothing.
    ///
    /// # Errors
    /// A usage error: rows do not come in one transaction, or the table has to stay in the log; the role may not; the server's.
    pub(super) async fn off_the_log(
        &self,
        connection: &Connection,
        table: Option<&Table>,
    ) -> Result<Option<OffTheLog>, Error> {
        let mode = self.options.target.mode;
        if self.options.target.unlogged != Unlogged::ThenLogged {
            return Ok(None);
        }
        let name = table.map_or_else(|| "the table".to_owned(), Table::display);
        if mode.matches_rows() {
            let why = message![setting::MODE.word(mode.name()), " changes rows where they are"];
            return Err(stays(&name, why));
        }
        if let Some(why) = detour(self.options.writing.write_path) {
            return Err(stays(&name, why));
        }
        let Some(table) = table else { return Ok(Some(OffTheLog::New)) };
        let kind = match table.kind {
            RelationKind::Table => None,
            RelationKind::Partitioned => Some("it is partitioned"),
            RelationKind::View => Some("it is a view"),
            RelationKind::Foreign => Some("it is a foreign table"),
        };
        if let Some(kind) = kind {
            return Err(stays(&name, kind.into()));
        }
        if !table.is_logged {
            self.control.notice(format!("{name} is unlogged, and stays so"));
            return Ok(None);
        }
        let replaces = mode == Mode::Replace;
        match off_the_log::obstacle(connection, table).await? {
            Some(Obstacle::ReferredToBy(_) | Obstacle::ForeignOwner(_)) if replaces => {}
            // SQL that runs before the first row may take another role.
            Some(Obstacle::ForeignOwner(_)) if !self.options.target.before.is_empty() => {}
            Some(obstacle) => return Err(because(&name, obstacle)),
            None => {}
        }
        Ok(Some(if replaces { OffTheLog::New } else { OffTheLog::Existing }))
    }

    /// # Errors
    /// A publication has every table of the new one's schema; the server's.
    pub(super) async fn check_published(&self, connection: &Connection, table: &Table) -> Result<(), Error> {
        match off_the_log::obstacle_in(connection, &table.schema).await? {
            Some(obstacle) => Err(because(&table.display(), obstacle)),
            None => Ok(()),
        }
    }
}

/// The error of a table that has to stay in the log.
fn because(table: &str, obstacle: Obstacle) -> Error {
    match obstacle {
        Obstacle::Published(publications) => {
            stays(table, format!("the publication {publications} would miss its rows").into())
        }
        Obstacle::ReferredToBy(other) => {
            stays(table, format!("{other} refers to it, and is in the log").into())
        }
        Obstacle::ForeignOwner(owner) => {
            not_owned(&format!("{table} cannot leave the log"), &owner, setting::UNLOGGED)
        }
    }
}

fn stays(table: &str, why: Message) -> Error {
    Error::usage(message![format!("{table} cannot leave the log: "), why]).with_hint(message![
        "leave ",
        setting::UNLOGGED,
        " out"
    ])
}
