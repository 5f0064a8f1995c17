//! Whether the indexes of the table are dropped and built again around the rows.

use howdah_connect::Connection;
use howdah_message::setting;

use crate::catalog::table::Table;
use crate::error::Error;
use crate::load::Load;
use crate::load::decide::straight::{detour, refused};
use crate::options::{Indexes, Mode, OnError};
use crate::publish::rebuild::{Needs, Rebuild};

impl Load<'_> {
    /// What is rebuilt of `table`, which exists; `None`: nothing. What stays although it was asked for is said.
    ///
    /// # Errors
    /// A usage error: rows do not come in one transaction, or not straight into the table; the server's.
    pub(in crate::load) async fn rebuild(
        &self,
        connection: &Connection,
        table: &Table,
    ) -> Result<Option<Rebuild>, Error> {
        let options = self.options;
        // A replacement's indexes are built after its rows anyway.
        if options.writing.indexes == Indexes::Keep || options.target.mode == Mode::Replace {
            return Ok(None);
        }
        let mode = options.target.mode;
        let matches =
            mode.matches_rows().then(|| message![setting::MODE.word(mode.name()), " finds rows by them"]);
        if let Some(why) = matches.or_else(|| detour(options.writing.write_path)) {
            return Err(refused("indexes cannot be rebuilt", why, setting::INDEXES));
        }
        let truncates = options.target.mode == Mode::Truncate;
        let needs = Needs {
            finds_bad_records: options.tolerance.on_error == OnError::Ignore,
            runs: table.hazards.code.first().copied(),
        };
        let rebuild = Rebuild::read(connection, table, truncates, &needs).await?;
        for (name, why) in &rebuild.kept {
            self.control.notice(format!("{name} is not rebuilt: {why}"));
        }
        if rebuild.is_empty() {
            if rebuild.kept.is_empty() {
                self.control.notice(format!("{} has no index that could be rebuilt", table.display()));
            }
            return Ok(None);
        }
        Ok(Some(rebuild))
    }
}
