//! Whether the server really is as a cell says: a factor that was not applied must not become a figure.

use std::time::Instant;

use super::server::{BenchServer, TABLE};
use crate::cell::{Cell, Keys};
use crate::error::Error;

/// What is not as the cell says, if anything.
pub(super) fn missing(server: &BenchServer, cell: &Cell) -> Result<Option<String>, Error> {
    for (name, value) in &cell.settings {
        let sql = format!(
            "SELECT count(*) FROM pg_file_settings WHERE name = '{name}' AND setting = '{value}' AND applied"
        );
        if server.database.row(&sql)?.concat() == "0" {
            return Ok(Some(format!("{name} is not {value}")));
        }
    }
    let found = format!(
        "SELECT relpersistence, (SELECT count(*) FROM pg_index WHERE indrelid = oid),
                (SELECT count(*) FROM pg_attribute
                  WHERE attrelid = oid AND attnum > 0 AND atttypid <> 'text'::regtype)
           FROM pg_class WHERE oid = '{TABLE}'::regclass"
    );
    let [persistence, indexes, typed] = &server.database.row(&found)?[..] else {
        return Ok(Some("the table is missing".to_owned()));
    };
    let table = &cell.table;
    let wrong = [
        ((persistence == "u") != table.unlogged, "the table's persistence"),
        ((indexes == "0") == (table.keys == Keys::Before), "the table's keys"),
        ((typed == "0") != table.all_text, "the table's types"),
    ];
    let wrong = wrong.into_iter().find(|(wrong, _)| *wrong && table.extra.is_empty());
    Ok(wrong.map(|(_, what)| format!("{what} are not as they should be")))
}

/// Measures a round trip over `conninfo`.
///
/// # Errors
/// It takes less than `ms` milliseconds.
pub(super) fn latency(server: &BenchServer, conninfo: &str, ms: f64) -> Result<(), Error> {
    let database = server.connect_through(conninfo)?;
    let clock = Instant::now();
    database.run("SELECT 1")?;
    let took = clock.elapsed().as_secs_f64() * 1e3;
    if took < ms {
        Err(Error::Wrong(format!("a round trip takes {took:.2} ms instead of {ms}")))
    } else {
        Ok(())
    }
}

/// Whether pages of the table are marked as frozen; where the server cannot tell, they are taken to be. The table may have
/// been extended by more pages than its rows fill.
pub(super) fn is_frozen(server: &BenchServer) -> Result<bool, Error> {
    if server.database.run("CREATE EXTENSION IF NOT EXISTS pg_visibility").is_err() {
        return Ok(true);
    }
    let sql = format!("SELECT all_frozen > 0 FROM pg_visibility_map_summary('{TABLE}')");
    Ok(server.database.row(&sql)?.concat() == "t")
}
