//! The disk under the data directory, which only a program on the server's own machine can see.

use howdah_connect::Connection;
use howdah_connect::tokio_postgres::Client;
use nix::sys::statvfs::statvfs;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::facts::fact::{self, Fact, Unseen};

/// A disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskFacts {
    /// Bytes that are free.
    pub free: f64,
    /// Bytes in all.
    pub total: f64,
}

/// Where the data directory is. It is asked for the disk's sake and told to nobody.
pub(super) async fn directory(client: &Client) -> Result<Fact<String>, Error> {
    #[derive(Deserialize)]
    struct Directory {
        directory: String,
    }
    let sql = "select current_setting('data_directory') as directory";
    Ok(fact::row::<Directory>(client, sql).await?.map(|found| found.directory))
}

/// The disk of `directory`, if the server is on this machine: by its socket it is, and by a loopback address it may be in a
/// container.
pub(super) fn disk(connection: &Connection, directory: Fact<String>) -> Fact<DiskFacts> {
    // There no right of the role's helps.
    if !connection.peer().starts_with('/') {
        return Fact::Hidden(Unseen::Elsewhere);
    }
    let directory = match directory {
        Fact::Seen(directory) => directory,
        Fact::Hidden(why) => return Fact::Hidden(why),
    };
    match statvfs(directory.as_str()) {
        Ok(found) => {
            let block = found.fragment_size() as f64;
            Fact::Seen(DiskFacts {
                free: found.blocks_available() as f64 * block,
                total: found.blocks() as f64 * block,
            })
        }
        Err(_) => Fact::Hidden(Unseen::Elsewhere),
    }
}
