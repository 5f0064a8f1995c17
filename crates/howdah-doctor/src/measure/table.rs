//! What each part of a table costs: its rows go into copies of it, in turns.

use howdah::Error;
use howdah::facts::{Facts, TableFacts};
use howdah::tokio_postgres::Client;

use super::fitting::{Expense, fit};
use super::question::answered;
use super::sample::{FEWEST_ROWS, FEWEST_SLOW_ROWS, LEAST, MOST, Rows};
use super::scratch::Scratch;
use super::turns::{Budget, FEWEST_IN_ALL, ROUNDS, round, variants};
use super::{Limits, decoding, sample};
use crate::attachment::{Attachment, Variant};
use crate::figures;
use crate::rules::sorted_by;
use crate::trials::{FEWEST_ROUNDS, Run, TableTrial, is_all};

/// Bytes of log for a byte that is sent.
const LOG_PER_BYTE: f64 = 2.5;

/// Reads rows of the table, and plans copies of it. Programs send rows as they come, and loads sort them where that pays.
///
/// # Errors
/// The connection is lost. `Ok(Err)`: it cannot be measured.
pub(super) async fn prepare<'t>(
    client: &Client,
    facts: &Facts,
    table: &'t TableFacts,
    limits: &Limits,
    is_of_programs: bool,
    tell: &mut dyn FnMut(&str),
) -> Result<Result<Scratch<'t>, String>, Error> {
    if !matches!(table.kind.as_str(), "r" | "p") {
        return Ok(Err("it is no table with rows of its own".to_owned()));
    }
    if let Some(why) = unfilled(table) {
        return Ok(Err(why.to_owned()));
    }
    let turns = Attachment::all_of(table).len() as f64 + 6.0;
    let most = (limits.bytes / (ROUNDS * turns * LOG_PER_BYTE)).clamp(LEAST, MOST);
    tell("reading rows of the table");
    let order = if is_of_programs { Vec::new() } else { load_order(table) };
    let sample = match answered(sample::read(client, table, most, &order).await)? {
        Ok(sample) => sample,
        Err(why) => return Ok(Err(why)),
    };
    if let Some(why) = too_few(sample.rows.count, sample.rows.bytes) {
        return Ok(Err(why));
    }
    let mut scratch = match Scratch::plan(client, facts, table, sample, order).await? {
        Ok(scratch) => scratch,
        Err(why) => return Ok(Err(why)),
    };
    let kept = match answered(decoding::room(client).await)? {
        Ok(Some(room)) => decoding::fit(&mut scratch, room),
        Ok(None) => Ok(()),
        Err(why) => Err(why),
    };
    Ok(kept.map(|()| scratch))
}

/// The columns by which a load sorts the rows of a part.
fn load_order(table: &TableFacts) -> Vec<String> {
    let columns = sorted_by(table).into_iter().flat_map(|index| &index.columns);
    columns.map_while(Clone::clone).collect()
}

/// Why no rows of the table can be led into a copy, whatever they are.
fn unfilled(table: &TableFacts) -> Option<&'static str> {
    let columns = table.columns.seen();
    match columns.map(Vec::as_slice) {
        _ if table.schema == "pg_catalog" => {
            Some("it is a catalog of PostgreSQL's own, into which nobody loads")
        }
        Some([]) => Some("it has no columns, so that its rows hold nothing to load"),
        Some(columns) if columns.iter().all(|column| column.is_generated || column.is_virtual) => {
            Some("all its columns are generated, so that its rows hold nothing to load")
        }
        _ => None,
    }
}

/// Why `count` rows of so many `bytes` show nothing, if so.
fn too_few(count: u64, bytes: u64) -> Option<String> {
    let are_large = bytes as f64 >= LEAST;
    let needed = if are_large { FEWEST_SLOW_ROWS } else { FEWEST_ROWS };
    let found = match are_large {
        true => format!("{} hold {count}", figures::bytes(bytes as f64)),
        false => format!("{count} were found"),
    };
    let of = "of its rows, which are to be led into copies,";
    (count < needed).then(|| format!("{of} {found}, and {needed} are needed"))
}

/// A run that takes too long, or too much of the log, for as many rounds of so many `turns` as are wanted gets fewer rows. Returns
/// bytes of log.
///
/// # Errors
/// The connection is lost. `Ok(Err)`: it cannot be measured.
pub(super) async fn shorten(
    client: &Client,
    scratch: &mut Scratch<'_>,
    limits: &Limits,
    turns: f64,
) -> Result<Result<f64, String>, Error> {
    let run = async |rows: &Rows| scratch.run_with(client, &Variant::Whole, rows).await;
    let share = |expense: &Expense| expense.share(limits, turns);
    let fitting = match answered(fit(scratch.rows(), FEWEST_SLOW_ROWS, share, run).await)? {
        Ok(fitting) => fitting,
        Err(why) => return Ok(Err(why)),
    };
    scratch.shorten(fitting.share, FEWEST_SLOW_ROWS);
    Ok(Ok(fitting.log))
}

/// Measures.
///
/// # Errors
/// The connection is lost. `Ok(Err)`: it cannot be measured.
pub(super) async fn measure(
    client: &Client,
    scratch: &mut Scratch<'_>,
    limits: &Limits,
    tell: &mut dyn FnMut(&str),
) -> Result<Result<TableTrial, String>, Error> {
    let mut budget = Budget::new(limits.seconds, limits.bytes);
    let variants = variants(&scratch.attachments, scratch.is_logged(), scratch.forms());
    match shorten(client, scratch, limits, variants.len() as f64 + 2.0).await? {
        Ok(log) => budget.spend(log),
        Err(why) => return Ok(Err(why)),
    }
    let (rows, bytes) = (scratch.rows().count, scratch.rows().bytes);
    let mut trial = TableTrial { rows, bytes, ..TableTrial::default() };
    let measured = rounds(client, scratch, &variants, &mut budget, FEWEST_IN_ALL, &mut trial, tell).await?;
    if let Err(why) = measured {
        return Ok(Err(why));
    }
    if trial.rounds() < FEWEST_ROUNDS {
        let rounds = trial.rounds();
        return Ok(Err(format!(
            "time and log had room for fewer rounds than are needed: {rounds} of {FEWEST_ROUNDS}"
        )));
    }
    Ok(Ok(trial))
}

/// Measures the copy without all of `prescribed`, in rounds that follow those of `trial`.
///
/// # Errors
/// The connection is lost. `Ok(Err)`: it cannot be measured.
pub(super) async fn measure_prescribed(
    client: &Client,
    scratch: &mut Scratch<'_>,
    prescribed: Vec<Attachment>,
    trial: &mut TableTrial,
    limits: &Limits,
    tell: &mut dyn FnMut(&str),
) -> Result<Result<(), String>, Error> {
    trial.prescribed.clone_from(&prescribed);
    // Without any of them, it was measured already.
    if is_all(&scratch.attachments, &prescribed) {
        return Ok(Ok(()));
    }
    scratch.prescribed = prescribed;
    let mut budget = Budget::new(limits.seconds, limits.bytes);
    rounds(client, scratch, &[Variant::Prescribed], &mut budget, FEWEST_IN_ALL - 1, trial, tell).await
}

/// Rounds of the whole table and of `variants`, until the budget is over.
async fn rounds(
    client: &Client,
    scratch: &Scratch<'_>,
    variants: &[Variant],
    budget: &mut Budget,
    fewest: u32,
    trial: &mut TableTrial,
    tell: &mut dyn FnMut(&str),
) -> Result<Result<(), String>, Error> {
    let first = trial.runs.last().map_or(0, |run| run.round + 1);
    let mut done = 0;
    while !budget.is_over(done, fewest) {
        let number = first + done;
        tell(&format!(
            "round {number} of copies of the table, {:.0} of {:.0} s",
            budget.elapsed(),
            budget.seconds()
        ));
        for variant in round(variants) {
            if budget.is_exceeded() {
                return Ok(Ok(()));
            }
            match answered(scratch.run(client, &variant).await)? {
                Ok((seconds, log)) => {
                    budget.spend(log);
                    trial.runs.push(Run { round: number, variant, seconds, log });
                }
                Err(why) => return Ok(Err(why)),
            }
        }
        done += 1;
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_are_enough_where_they_are_large() {
        assert_eq!(too_few(1000, 20_000), None);
        assert_eq!(too_few(908, 6_000_000), None);
        let few = "of its rows, which are to be led into copies, 999 were found, and 1000 are needed";
        assert_eq!(too_few(999, 20_000).as_deref(), Some(few));
        let large = "of its rows, which are to be led into copies, 8.0 MB hold 81, and 100 are needed";
        assert_eq!(too_few(81, 8_000_000).as_deref(), Some(large));
    }
}
