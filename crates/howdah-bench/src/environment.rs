//! What a report says of the machine and the server, as markdown.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::{Duration, Instant};

use howdah_server::{Settings, Throwaway};

use crate::database::Database;
use crate::error::Error;
use crate::machine;
use crate::table::Table;

/// This program and its version.
pub const PROGRAM: &str = concat!("howdah ", env!("CARGO_PKG_VERSION"));

/// How long the disk is asked for its fsync rate.
const ASKING: Duration = Duration::from_millis(500);

/// The machine, the disk, the measured program and the server: the given one, or one of our own as each run gets it.
///
/// # Errors
/// No server came about.
pub fn describe(conninfo: Option<&str>, program: &str) -> Result<String, Error> {
    let facts = match conninfo {
        Some(conninfo) => machine::facts(&Database::connect(conninfo)?, program)?,
        None => {
            let own = Throwaway::start(&Settings::new())?;
            machine::facts(&Database::own(&own.conninfo())?, program)?
        }
    };
    let mut more = Table::new(["of this run", "value"]);
    more.row(["load average before", &machine::load_average()]);
    more.row([
        "fsync of 8 KiB, a second",
        &fsync_rate().map_or_else(|| "not known".to_owned(), |rate| format!("{rate:.0}")),
    ]);
    Ok(format!("# Environment\n\n{facts}\n{}", more.render()))
}

/// How often a second 8 KiB reach the disk that holds temporary files, where servers of our own live.
fn fsync_rate() -> Option<f64> {
    let path = tempfile::NamedTempFile::new().ok()?;
    let mut file: File = OpenOptions::new().write(true).open(path.path()).ok()?;
    let (clock, mut count) = (Instant::now(), 0_u32);
    while clock.elapsed() < ASKING {
        file.write_all(&[1; 8192]).ok()?;
        file.sync_data().ok()?;
        count += 1;
    }
    Some(f64::from(count) / clock.elapsed().as_secs_f64())
}
