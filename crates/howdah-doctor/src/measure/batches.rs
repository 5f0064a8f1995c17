//! How many rows a statement should have: statements of several sizes, over one connection and over four, into one copy, each way
//! in which programs send rows. The copy has to be committed, but no row is.

use std::time::Instant;

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::{SinkExt, pin_mut};
use howdah::Error;
use howdah::Target;
use howdah::connect::Connection;
use howdah::facts::Facts;
use howdah::tokio_postgres::{self, Client, CopyInSink, Statement};

use super::Limits;
use super::connections::most;
use super::question::{answered, number, text};
use super::sample::{Rows, quoted};
use super::scratch::{LOG_POSITION, Scratch};
use super::shared::{Shared, all, open, refused};
use super::statements::{Raw, Value, array, copy, of_binary, of_text};
use super::turns::{Budget, FEWEST_IN_ALL};
use crate::sql;
use crate::trials::{BatchPath, BatchRun, BatchTrial, FEWEST_ROUNDS};

/// Rows of a statement.
const SIZES: [usize; 4] = [1, 10, 100, 1000];
/// Connections at once.
const CONNECTIONS: [usize; 2] = [1, 4];
/// A run is to take about so long ...
const RUN_SECONDS: f64 = 0.03;
/// ... and has so many statements of a connection at most.
const MOST_STATEMENTS: usize = 200;
/// Parameters of a statement.
const MOST_PARAMETERS: usize = 65_535;

/// A way to send, a size, and connections.
#[derive(Clone, Copy, PartialEq)]
struct BatchTurn {
    path: BatchPath,
    connections: usize,
    rows: usize,
}

/// Measures.
///
/// # Errors
/// The connection is lost. `Ok(Err)`: it cannot be measured.
pub(super) async fn measure(
    target: &Target,
    connection: &Connection,
    facts: &Facts,
    scratch: &Scratch<'_>,
    (rows, text_rows): (&Rows, Option<String>),
    limits: &Limits,
    tell: &mut dyn FnMut(&str),
) -> Result<Result<BatchTrial, String>, Error> {
    let client = connection.client();
    match answered(refused(client, scratch.table()).await)? {
        Ok(None) => {}
        Ok(Some(why)) | Err(why) => return Ok(Err(why)),
    }
    let columns = match answered(Columns::read(client, scratch, rows).await)? {
        Ok(columns) => columns,
        Err(why) => return Ok(Err(why)),
    };
    let batches = Batches {
        values: of_binary(Bytes::from(rows.text())),
        literals: text_rows.as_deref().map(of_text).unwrap_or_default(),
        columns,
    };
    let shared = match Shared::tie(connection, scratch).await? {
        Ok(shared) => shared,
        Err(why) => return Ok(Err(why)),
    };
    let lanes = open(target, connection, most(facts).min(CONNECTIONS[1])).await;
    let measured = match lanes.len() {
        0 => Ok(Err("the server gives no second connection".to_owned())),
        _ => batches.rounds(connection, &shared, &lanes, limits, tell).await,
    };
    shared.untie(connection).await?;
    measured
}

/// The columns that rows have.
struct Columns {
    names: String,
    /// For each the type of its arrays, and its own; none where one of them has no arrays, or is one.
    arrays: Option<Vec<(String, u32)>>,
}

impl Columns {
    async fn read(
        client: &Client,
        scratch: &Scratch<'_>,
        rows: &Rows,
    ) -> Result<Columns, tokio_postgres::Error> {
        let table = scratch.table();
        let listed = format!(
            "SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(a.attname,
                      CASE WHEN t.typarray <> 0 THEN pg_catalog.format_type(t.typarray, -1) END, t.oid::int8)), '[]')
               FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
              WHERE a.attrelid = {}::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped",
            sql::relation(&table.schema, &table.name)
        );
        let listed = text(client, &listed).await?.unwrap_or_default();
        let listed: Vec<(String, Option<String>, u32)> = serde_json::from_str(&listed).unwrap_or_default();
        let array_of = |name: &String| {
            let (_, array, element) = listed.iter().find(|(column, _, _)| column == name)?;
            Some((array.clone()?, *element))
        };
        let arrays = rows.columns.iter().map(array_of).collect();
        Ok(Columns { names: quoted(&rows.columns), arrays })
    }
}

/// Rows in all forms.
struct Batches {
    values: Vec<Vec<Value>>,
    literals: Vec<Vec<String>>,
    columns: Columns,
}

impl Batches {
    /// What can be tried: there are rows for it, and a form.
    fn turns(&self, lanes: usize) -> Vec<BatchTurn> {
        let mut turns = Vec::new();
        for connections in CONNECTIONS.into_iter().filter(|count| *count <= lanes) {
            for path in BatchPath::ALL {
                let possible = SIZES.into_iter().filter(|rows| self.is_possible(path, *rows, connections));
                turns.extend(possible.map(|rows| BatchTurn { path, connections, rows }));
            }
        }
        turns
    }

    fn is_possible(&self, path: BatchPath, rows: usize, connections: usize) -> bool {
        let width = self.values.first().map_or(0, Vec::len);
        let has_form = match path {
            BatchPath::Insert => self.literals.len() == self.values.len(),
            BatchPath::Prepared => rows * width <= MOST_PARAMETERS,
            BatchPath::Unnest => self.columns.arrays.is_some(),
            BatchPath::Copy => true,
        };
        has_form && width > 0 && rows * connections <= self.values.len()
    }

    /// Rounds of all turns, until time or log are used up.
    async fn rounds(
        &self,
        connection: &Connection,
        shared: &Shared,
        lanes: &[Connection],
        limits: &Limits,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Result<BatchTrial, String>, Error> {
        let mut budget = Budget::new(limits.seconds, limits.bytes);
        let mut turns: Vec<(BatchTurn, usize)> =
            self.turns(lanes.len()).into_iter().map(|turn| (turn, 1)).collect();
        let mut trial = BatchTrial::default();
        let mut number = 0;
        while !budget.is_over(number, FEWEST_IN_ALL) && !turns.is_empty() {
            tell(&format!(
                "round {number} of statements of several sizes, {:.0} of {:.0} s",
                budget.elapsed(),
                limits.seconds
            ));
            fastrand::shuffle(&mut turns);
            // What was rolled back stays in the copy until it goes.
            if let Err(why) = answered(shared.make(connection).await)? {
                return Ok(Err(why));
            }
            let done = self.round(connection.client(), shared, lanes, &mut turns, number, &mut budget).await;
            let removed = shared.remove(connection).await;
            match answered(done.and_then(|runs| removed.map(|()| runs)))? {
                Ok(runs) => trial.runs.extend(runs),
                Err(why) => return Ok(Err(why)),
            }
            number += 1;
        }
        match trial.rounds() as usize >= FEWEST_ROUNDS {
            true => Ok(Ok(trial)),
            false => Ok(Err(format!(
                "time and log had room for fewer rounds than are needed, which are {FEWEST_ROUNDS}"
            ))),
        }
    }

    async fn round(
        &self,
        client: &Client,
        shared: &Shared,
        lanes: &[Connection],
        turns: &mut [(BatchTurn, usize)],
        round: u32,
        budget: &mut Budget,
    ) -> Result<Vec<BatchRun>, tokio_postgres::Error> {
        let mut runs = Vec::new();
        for (turn, statements) in turns {
            if budget.is_exceeded() {
                break;
            }
            let lanes = &lanes[..turn.connections];
            let (seconds, log) = self.run(client, &shared.sql(), lanes, *turn, *statements).await?;
            budget.spend(log);
            let of = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            runs.push(BatchRun {
                round,
                path: turn.path,
                connections: of(turn.connections),
                rows: of(turn.rows),
                statements: of(*statements),
                seconds,
                log,
            });
            // As many as there are rows for: equal keys would wait for each other.
            let most = MOST_STATEMENTS.min(self.values.len() / (turn.rows * turn.connections));
            while round == 0 && *statements < most && seconds * (*statements as f64 + 1.0) < RUN_SECONDS {
                *statements += 1;
            }
        }
        Ok(runs)
    }

    /// Has each of `lanes` send so many statements of rows that no other has, and takes them back. Returns seconds until the last
    /// is done, and bytes of log.
    async fn run(
        &self,
        client: &Client,
        copy: &str,
        lanes: &[Connection],
        turn: BatchTurn,
        statements: usize,
    ) -> Result<(f64, f64), tokio_postgres::Error> {
        all(lanes, "BEGIN READ WRITE").await?;
        let sent = async {
            let mut ready = Vec::new();
            for (at, lane) in lanes.iter().enumerate() {
                let from = at * statements * turn.rows;
                ready.push(self.ready(lane.client(), copy, turn, from, statements).await?);
            }
            let before = number(client, LOG_POSITION).await?.unwrap_or(0.0);
            let began = Instant::now();
            let shares = lanes.iter().zip(&ready);
            let sent = join_all(shares.map(|(lane, ready)| ready.send(lane.client()))).await;
            sent.into_iter().collect::<Result<Vec<()>, _>>()?;
            let seconds = began.elapsed().as_secs_f64();
            let after = number(client, LOG_POSITION).await?.unwrap_or(0.0);
            Ok((seconds, after - before))
        }
        .await;
        // Not lost with the connections alone: the transactions end here, however they went.
        all(lanes, "ROLLBACK").await?;
        sent
    }

    /// Statements for the rows from `from` on, prepared on the connection that is to send them.
    async fn ready(
        &self,
        client: &Client,
        copy_table: &str,
        turn: BatchTurn,
        from: usize,
        statements: usize,
    ) -> Result<Ready, tokio_postgres::Error> {
        let into = format!("{copy_table} ({})", self.columns.names);
        let end = from + statements * turn.rows;
        let values = || self.values[from..end].chunks(turn.rows);
        Ok(match turn.path {
            BatchPath::Insert => {
                let rows = |rows: &[Vec<String>]| {
                    let rows: Vec<String> = rows.iter().map(|row| format!("({})", row.join(", "))).collect();
                    format!("INSERT INTO {into} OVERRIDING SYSTEM VALUE VALUES {}", rows.join(", "))
                };
                Ready::Text(self.literals[from..end].chunks(turn.rows).map(rows).collect())
            }
            BatchPath::Prepared => {
                let width = self.values.first().map_or(0, Vec::len);
                let row = |row: usize| {
                    let parameters: Vec<String> =
                        (1..=width).map(|column| format!("${}", row * width + column)).collect();
                    format!("({})", parameters.join(", "))
                };
                let rows: Vec<String> = (0..turn.rows).map(row).collect();
                let sql = format!("INSERT INTO {into} OVERRIDING SYSTEM VALUE VALUES {}", rows.join(", "));
                let of = |rows: &[Vec<Value>]| rows.iter().flatten().cloned().map(Raw).collect();
                Ready::Prepared(client.prepare(&sql).await?, values().map(of).collect())
            }
            // That takes several arrays only without its schema.
            BatchPath::Unnest => {
                let arrays = self.columns.arrays.as_deref().unwrap_or_default();
                let casts = arrays.iter().enumerate().map(|(at, (name, _))| format!("${}::{name}", at + 1));
                let casts: Vec<String> = casts.collect();
                let sql = format!(
                    "INSERT INTO {into} OVERRIDING SYSTEM VALUE SELECT * FROM unnest({})",
                    casts.join(", ")
                );
                let of = |rows: &[Vec<Value>]| {
                    let column = |(at, (_, element)): (usize, &(String, u32))| {
                        let values: Vec<&Value> = rows.iter().filter_map(|row| row.get(at)).collect();
                        Raw(Some(array(*element, &values)))
                    };
                    arrays.iter().enumerate().map(column).collect()
                };
                Ready::Prepared(client.prepare(&sql).await?, values().map(of).collect())
            }
            BatchPath::Copy => {
                let sql = format!("COPY {into} FROM STDIN (FORMAT binary)");
                Ready::Copy(sql, values().map(copy).collect())
            }
        })
    }
}

/// Statements that a connection sends one after the other.
enum Ready {
    Text(Vec<String>),
    Prepared(Statement, Vec<Vec<Raw>>),
    Copy(String, Vec<Bytes>),
}

impl Ready {
    async fn send(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        match self {
            Ready::Text(statements) => {
                for sql in statements {
                    client.batch_execute(sql).await?;
                }
            }
            Ready::Prepared(statement, each) => {
                for parameters in each {
                    client.execute_raw(statement, parameters).await?;
                }
            }
            Ready::Copy(sql, each) => {
                for rows in each {
                    let sink: CopyInSink<Bytes> = client.copy_in(sql).await?;
                    pin_mut!(sink);
                    sink.feed(rows.clone()).await?;
                    sink.finish().await?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many rows of two columns, whose second one has no arrays if `flat` is false.
    fn batches(rows: usize, flat: bool, with_literals: bool) -> Batches {
        let literals = if with_literals { rows } else { 0 };
        Batches {
            values: vec![vec![None, None]; rows],
            literals: vec![vec!["NULL".to_owned(); 2]; literals],
            columns: Columns {
                names: "a, b".to_owned(),
                arrays: flat.then(|| vec![("integer[]".to_owned(), 23); 2]),
            },
        }
    }

    fn sizes(batches: &Batches, path: BatchPath, connections: usize) -> Vec<usize> {
        let turns = batches.turns(connections).into_iter();
        let of = turns.filter(|turn| (turn.path, turn.connections) == (path, connections));
        of.map(|turn| turn.rows).collect()
    }

    #[test]
    fn what_rows_and_columns_allow_is_tried() {
        let many = batches(4000, true, true);
        for path in BatchPath::ALL {
            for connections in CONNECTIONS {
                assert_eq!(sizes(&many, path, connections), SIZES, "{path:?}");
            }
        }
        assert!(many.turns(3).iter().all(|turn| turn.connections == 1));
        // Each connection has rows of its own.
        assert_eq!(sizes(&batches(3999, true, true), BatchPath::Copy, 4), [1, 10, 100]);
        assert_eq!(sizes(&batches(4000, false, true), BatchPath::Unnest, 1), Vec::<usize>::new());
        assert_eq!(sizes(&batches(4000, true, false), BatchPath::Insert, 1), Vec::<usize>::new());
        let mut wide = batches(4000, true, true);
        wide.values = vec![vec![None; 66]; 4000];
        assert_eq!(sizes(&wide, BatchPath::Prepared, 1), [1, 10, 100]);
        assert_eq!(batches(0, true, true).turns(4).len(), 0);
    }
}
