//! Leads as many rows of the table as there is time for into one copy, piece by piece: how much longer a row takes among many.

use std::time::Instant;

use howdah::connect::Connection;
use howdah::tokio_postgres::{self, Client};
use howdah::{Error, Target};

use super::question::{answered, number};
use super::sample::{Rows, of_pages, pages};
use super::scratch::{LOG_POSITION, Scratch};
use super::shared::open;
use super::{Limits, decoding};
use crate::sql;
use crate::trials::{GrowthTrial, Piece};

/// The table is locked meanwhile, as by a query: whoever wants to change it waits so many seconds at most.
const MOST_SECONDS: f64 = 5.0;
/// Pieces that are wanted at least.
const PIECES: f64 = 16.0;
/// A piece is at most so many times as large as what goes into a copy that begins empty: a load sorts more rows at once.
const MOST_OF_A_RUN: f64 = 2.0;

/// Measures.
///
/// # Errors
/// The connection is lost. `Ok(Err)`: it cannot be measured.
pub(super) async fn measure(
    target: &Target,
    connection: &Connection,
    scratch: &Scratch<'_>,
    limits: &Limits,
    tell: &mut dyn FnMut(&str),
) -> Result<Result<GrowthTrial, String>, Error> {
    tell("filling a copy of the table, to see how its indexes grow");
    let Some(reader) = open(target, connection, 1).await.pop() else {
        return Ok(Err("the server gives no second connection".to_owned()));
    };
    let client = connection.client();
    // Of a transaction that is not over, a server that decodes its log hands on more than fits its memory.
    let is_decoded = match answered(decoding::room(client).await)? {
        Ok(room) => room.is_some(),
        Err(why) => return Ok(Err(why)),
    };
    answered(pieces(client, reader.client(), scratch, limits, is_decoded).await)
}

async fn pieces(
    client: &Client,
    reader: &Client,
    scratch: &Scratch<'_>,
    limits: &Limits,
    is_decoded: bool,
) -> Result<GrowthTrial, tokio_postgres::Error> {
    let (table, rows) = (scratch.table(), scratch.rows());
    let pages = pages(reader, &sql::relation(&table.schema, &table.name)).await?;
    let of_a_run = pages * rows.bytes as f64 / table.bytes_now().max(1.0);
    let each = (pages / PIECES).min(of_a_run * MOST_OF_A_RUN).floor().max(1.0);
    let fill = async |copy: &str| {
        let (began, mut log) = (Instant::now(), 0.0);
        let mut pieces = Vec::new();
        while began.elapsed().as_secs_f64() < limits.seconds.min(MOST_SECONDS) && log < limits.bytes {
            let first = pieces.len() as f64 * each;
            if first + each > pages {
                break;
            }
            let piece = of_pages(reader, table, first..first + each, scratch.order()).await?;
            let before = number(client, LOG_POSITION).await?.unwrap_or(0.0);
            let seconds = timed(client, scratch, copy, &piece).await?;
            log += number(client, LOG_POSITION).await?.unwrap_or(0.0) - before;
            pieces.push(Piece { rows: piece.count, seconds });
        }
        Ok(pieces)
    };
    Ok(GrowthTrial { pieces: scratch.grow(client, is_decoded, fill).await? })
}

/// Seconds in which `rows` go into `copy`.
async fn timed(
    client: &Client,
    scratch: &Scratch<'_>,
    copy: &str,
    rows: &Rows,
) -> Result<f64, tokio_postgres::Error> {
    let began = Instant::now();
    rows.send(client, copy, 0, 1).await?;
    scratch.settle(client, |_| true).await?;
    Ok(began.elapsed().as_secs_f64())
}
