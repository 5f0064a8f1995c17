//! What a logical subscriber could be sent of rows that are yet to be rolled back: a server that decodes its log hands on a transaction
//! that is not over once its rows take more memory than the setting allows.

use howdah::tokio_postgres::{self, Client};

use super::question;
use super::scratch::Scratch;

/// Bytes that are decoded before something is sent; NULL where nobody decodes. Whoever decodes may have another setting than this
/// session: hardly a lower one than what PostgreSQL comes with, where that is not set lower for all.
const ROOM: &str = "
    SELECT least(pg_catalog.pg_size_bytes(pg_catalog.current_setting('logical_decoding_work_mem')), 67108864)::float8
     WHERE EXISTS (SELECT FROM pg_catalog.pg_replication_slots
                    WHERE slot_type = 'logical' AND database = pg_catalog.current_database())";
/// Of them, what is ours: others write too.
const OURS: f64 = 0.5;

/// Bytes of decoded rows that no subscriber is sent before their transaction is over; `None`: there is none.
///
/// # Errors
/// The server refuses to say, or the connection is lost.
pub(super) async fn room(client: &Client) -> Result<Option<f64>, tokio_postgres::Error> {
    Ok(question::number(client, ROOM).await?.map(|room| room * OURS))
}

/// Leaves so many rows that they take no more than `room`, with the keys of their parents.
///
/// # Errors
/// One message of rows is too much.
pub(super) fn fit(scratch: &mut Scratch<'_>, room: f64) -> Result<(), String> {
    let rows = scratch.rows().decoded();
    let keys = scratch.decoded() - rows;
    if rows > 0.0 && rows + keys > room {
        // Rows of a message more than the share may be left.
        scratch.shorten(((room - keys) / rows * 0.8).clamp(0.0, 1.0), 1);
    }
    match scratch.decoded() <= room {
        true => Ok(()),
        false => Err("a logical replication slot could be handed rows before they are rolled back: \
                      logical_decoding_work_mem is small"
            .to_owned()),
    }
}
