//! What a server and a table are like, as far as it matters to loads: read from catalogs and counters, within a second, by any
//! role, and without changing anything. What could not be seen is kept apart from what is fine.

mod columns;
mod constraints;
mod fact;
mod index_memory;
mod index_upkeep;
mod indexes;
mod load_overhead;
mod part_size;
mod place;
mod programs;
mod replication;
mod server;
mod session;
mod table;
mod watch;

use howdah_connect::{Connection, Target};
use serde::{Deserialize, Serialize};

use crate::catalog::name::TableName;
use crate::control::Control;
use crate::error::{Error, ErrorKind};

pub use columns::{ColumnFacts, SequenceFacts};
pub use constraints::{CheckFacts, ForeignKeyFacts, TriggerFacts};
pub use fact::{Fact, Unseen};
pub use index_memory::IndexMemory;
pub use index_upkeep::IndexUpkeep;
pub use indexes::IndexFacts;
pub use load_overhead::{FRESH_BYTE_S, load_start_s};
pub use part_size::sorted_rows;
pub(crate) use part_size::{PART_CHUNKS, SORTED_ROWS};
pub use place::DiskFacts;
pub use programs::{
    ConflictAction, DatabaseFacts, ProgramFacts, SentFacts, StatementFacts, StatementKind, StatementText,
    UpdateFacts,
};
pub use replication::{ArchiverFacts, PreparedTransaction, SlotFacts, StandbyFacts};
pub use server::{CheckpointFacts, LogFacts, SettingFacts, TransactionFacts};
pub use session::{Service, SessionFacts};
pub use table::{LockFacts, TableFacts, TableSize};
pub use watch::{WatchFacts, WorkFacts, WriterFacts};

/// The oldest server that is looked at.
const OLDEST: i32 = 150_000;

/// Everything that was looked at. It holds names, settings out of a list, and figures, and of statements at most texts without a
/// literal: no password and no value of a row, so that it can be shown to others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Who looked, and at which server.
    pub session: SessionFacts,
    /// Settings as the session has them.
    pub settings: Fact<Vec<SettingFacts>>,
    /// What was written to the log since its counters were set back.
    pub log: Fact<LogFacts>,
    /// The checkpoints since their counters were set back.
    pub checkpoints: Fact<CheckpointFacts>,
    /// Connections that clients hold.
    pub connections: Fact<u32>,
    /// Transactions of others that began more than a minute ago.
    pub transactions: Fact<Vec<TransactionFacts>>,
    /// Transactions that are prepared and wait for their second phase.
    pub prepared: Fact<Vec<PreparedTransaction>>,
    /// Servers that follow this one.
    pub standbys: Fact<StandbyFacts>,
    /// Places in the log that are kept for others.
    pub slots: Fact<Vec<SlotFacts>>,
    /// The archiver of the log.
    pub archiver: Fact<ArchiverFacts>,
    /// The disk of the data directory.
    pub disk: Fact<DiskFacts>,
    /// The table that was named; `None`: none was, or there is none of that name.
    pub table: Option<TableFacts>,
    /// What was seen while somebody watched; `None`: nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watched: Option<WatchFacts>,
}

impl Facts {
    /// The setting of that name, if it was seen.
    pub fn setting(&self, name: &str) -> Option<&SettingFacts> {
        self.settings.seen()?.iter().find(|setting| setting.name == name)
    }

    /// Looks at the server of `target`, and at `table` there. Blocks until it is over; stop it with [`Control::cancel`].
    ///
    /// # Errors
    /// There is no connection, the server is too old, or somebody said stop. What the role may not see is no error.
    pub fn look(target: &Target, table: Option<&TableName>, control: &Control) -> Result<Facts, Error> {
        control.connected(target, async |connection| gather(connection, table).await)
    }
}

/// Two round trips: who we are and which table is meant, then everything else at once.
async fn gather(connection: &Connection, name: Option<&TableName>) -> Result<Facts, Error> {
    let client = connection.client();
    let (session, oid) = session::read(client, name).await?;
    let version = session.version_num;
    if version < OLDEST {
        let said = format!("the server is PostgreSQL {}", session.version);
        return Err(Error::new(ErrorKind::Connect, said).with_hint("howdah needs PostgreSQL 15 or later"));
    }
    let (
        settings,
        log,
        checkpoints,
        connections,
        transactions,
        prepared,
        standbys,
        slots,
        archiver,
        place,
        table,
    ) = tokio::try_join!(
        server::settings(client),
        server::log(client),
        server::checkpoints(client, version),
        server::connections(client),
        server::transactions(client, session.reads_activity),
        replication::prepared(client),
        replication::standbys(client, session.reads_activity),
        replication::slots(client),
        replication::archiver(client),
        place::directory(client),
        async {
            match oid {
                Some(oid) => table::read(client, oid).await.map(Some),
                None => Ok(None),
            }
        },
    )?;
    let disk = place::disk(connection, place);
    Ok(Facts {
        session,
        settings,
        log,
        checkpoints,
        connections,
        transactions,
        prepared,
        standbys,
        slots,
        archiver,
        disk,
        table,
        watched: None,
    })
}
