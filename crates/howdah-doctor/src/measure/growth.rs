//! Leads as many rows of the table as there is time for into one copy, piece by piece: how much longer a row takes among many.

use std::time::Instant;

use howdah::connect::Connection;
use howdah::facts::sorted_rows;
use howdah::tokio_postgres::{self, Client};
use howdah::{Error, Target};

use super::question::{answered, number};
use super::sample::{Rows, of_pages, pages};
use super::scratch::{LOG_POSITION, Scratch};
use super::shared::open;
use super::{Limits, decoding};
use crate::case::Ask;
use crate::sql;
use crate::trials::{GrowthTrial, Piece};

/// The table is locked meanwhile, as by a query: whoever wants to change it waits so many seconds at most.
const MOST_SECONDS: f64 = 5.0;
/// Pieces that are wanted at least.
const PIECES: f64 = 16.0;
/// The first piece is at most so many times as large as what goes into a copy that begins empty.
const MOST_OF_A_RUN: f64 = 2.0;

/// Measures.
///
/// # Errors
/// The connection is lost. `Ok(Err)`: it cannot be measured.
pub(super) async fn measure(
    target: &Target,
    connection: &Connection,
    scratch: &Scratch<'_>,
    ask: &Ask,
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
    let sorted = sorted_share(scratch, ask);
    answered(pieces(client, reader.client(), scratch, sorted, limits, is_decoded).await)
}

/// What a load sorts together, as a share of what is there when half of it has come; at most 1. How long a row takes depends on how
/// many come to the same page of an index one after the other.
fn sorted_share(scratch: &Scratch<'_>, ask: &Ask) -> f64 {
    if scratch.order().is_empty() {
        return 0.0;
    }
    let (rows, held) = (scratch.rows(), scratch.table().rows.unwrap_or(0.0).max(0.0));
    let there = held + ask.rows_to_come().unwrap_or(0) as f64 / 2.0;
    (sorted_rows(rows.bytes as f64 / rows.count.max(1) as f64) / there.max(1.0)).min(1.0)
}

/// Each piece is the `sorted` share of what is there, if that is more than the first.
async fn pieces(
    client: &Client,
    reader: &Client,
    scratch: &Scratch<'_>,
    sorted: f64,
    limits: &Limits,
    is_decoded: bool,
) -> Result<GrowthTrial, tokio_postgres::Error> {
    let (table, rows) = (scratch.table(), scratch.rows());
    let pages = pages(reader, &sql::relation(&table.schema, &table.name)).await?;
    let of_a_run = pages * rows.bytes as f64 / table.bytes_now().max(1.0);
    let least = (pages / PIECES).min(of_a_run * MOST_OF_A_RUN).floor().max(1.0);
    let fill = async |copy: &str| {
        let began = Instant::now();
        let (mut first, mut log) = (0.0, 0.0);
        let mut pieces = Vec::new();
        loop {
            // What is left, as a part of what was spent.
            let seconds = limits.seconds.min(MOST_SECONDS) / began.elapsed().as_secs_f64() - 1.0;
            let left = seconds.min(limits.bytes / log - 1.0);
            let each = (first * sorted.min(left)).floor().max(least);
            if left <= 0.0 || first + each > pages {
                break;
            }
            let piece = of_pages(reader, table, first..first + each, scratch.order()).await?;
            first += each;
            // The last pages of a table are often made in advance.
            if piece.count == 0 {
                continue;
            }
            let before = number(client, LOG_POSITION).await?.unwrap_or(0.0);
            let seconds = timed(client, scratch, copy, &piece).await?;
            log += number(client, LOG_POSITION).await?.unwrap_or(0.0) - before;
            pieces.push(Piece { rows: piece.count, seconds });
        }
        Ok(pieces)
    };
    Ok(GrowthTrial { pieces: scratch.grow(client, is_decoded, fill).await?, sorted })
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
