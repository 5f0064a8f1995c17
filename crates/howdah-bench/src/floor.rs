//! The floor: the least a client can do, which is to pass pre-encoded binary COPY files on to the server.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::thread;

use bytes::BytesMut;
use futures_util::SinkExt;
use tokio::runtime::Builder;
use tokio_postgres::NoTls;

use crate::error::Error;

/// Bytes in one message. Smaller ones cost wakeups, larger ones fall out of the cache.
const MESSAGE: usize = 512 * 1024;

/// Streams each file over a connection of its own into `table`, all at once, one transaction a file. Returns the rows.
///
/// # Errors
/// A file could not be read, or the server refused something.
pub fn stream(conninfo: &str, table: &str, files: &[PathBuf]) -> Result<u64, Error> {
    thread::scope(|scope| {
        let lanes: Vec<_> =
            files.iter().map(|file| scope.spawn(|| stream_file(conninfo, table, file))).collect();
        lanes
            .into_iter()
            .map(|lane| lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .sum()
    })
}

fn stream_file(conninfo: &str, table: &str, path: &Path) -> Result<u64, Error> {
    let doing = || format!("could not stream {}", path.display());
    let mut file = File::open(path).map_err(Error::io(doing()))?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::io(doing()))?;
    runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(conninfo, NoTls).await.map_err(Error::server(doing()))?;
        tokio::spawn(connection);
        let statement = format!("COPY {table} FROM STDIN (FORMAT binary)");
        let mut sink = pin!(client.copy_in(&statement).await.map_err(Error::server(doing()))?);
        loop {
            let mut message = BytesMut::zeroed(MESSAGE);
            let read = file.read(&mut message).map_err(Error::io(doing()))?;
            if read == 0 {
                break;
            }
            message.truncate(read);
            sink.send(message.freeze()).await.map_err(Error::server(doing()))?;
        }
        sink.finish().await.map_err(Error::server(doing()))
    })
}
