//! The files that are loaded, each made once and kept until the measurement is over, and what tables must hold with their rows.

use std::collections::HashMap;
use std::path::PathBuf;

use howdah_server::{Settings, Throwaway};

use super::columns::Columns;
use crate::database::Database;
use crate::error::Error;

/// A file, and the table that it makes of one that holds rows already.
#[derive(Debug, Clone)]
pub(super) struct RowsToCome {
    pub(super) columns: Columns,
    /// Rows that the table holds before.
    pub(super) held: u64,
    pub(super) brought: u64,
    pub(super) path: PathBuf,
    /// Number and checksum of all rows afterwards.
    pub(super) expected: String,
}

/// The server that makes files, and those that are there.
pub(super) struct Files {
    own: Throwaway,
    database: Database,
    made: HashMap<(Columns, u64, u64), RowsToCome>,
}

impl Files {
    pub(super) fn start() -> Result<Files, Error> {
        // The same moments as text, wherever the machine stands.
        let own = Throwaway::start(&Settings::fast_and_unsafe().with("timezone", "UTC"))?;
        let database = Database::own(&own.conninfo())?;
        Ok(Files { own, database, made: HashMap::new() })
    }

    /// The file of `brought` rows that come to a table of `held` ones.
    pub(super) fn rows_to_come(
        &mut self,
        columns: Columns,
        held: u64,
        brought: u64,
    ) -> Result<RowsToCome, Error> {
        let key = (columns, held, brought);
        if let Some(made) = self.made.get(&key) {
            return Ok(made.clone());
        }
        // The server writes it where it may write, under its own account.
        let path = self.own.data_dir().join(format!("rows-{}.csv", self.made.len()));
        let name = path.display().to_string().replace('\'', "''");
        let rows = columns.rows_sql(held, brought);
        self.database.run(&format!("COPY ({rows}) TO '{name}' (FORMAT csv, HEADER)"))?;
        let all = format!("({})", columns.rows_sql(0, held + brought));
        let expected = self.database.row(&columns.checksum_sql(&all))?.concat();
        let made = RowsToCome { columns, held, brought, path, expected };
        self.made.insert(key, made.clone());
        Ok(made)
    }
}
