//! One run of one cell: a fresh server, the table, the clock, what the server showed, and the truth of what arrived.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::SEED;
use super::site::{Site, TABLE};
use super::watch::Watch;
use crate::cell::{Cell, Keys, Method};
use crate::dataset::Checksum;
use crate::delay_proxy::{DelayProxy, Target};
use crate::error::Error;
use crate::process::{End, Process};
use crate::record::{Conditions, Evidence, Outcome, Record};
use crate::worker::{Order, Told, VARIABLE, Work};

/// How long a worker may take to be ready: it only connects.
const PATIENCE: Duration = Duration::from_secs(60);
/// Rows in an array of arrays, as in study 4.
const NESTED: u64 = 50;

/// What a run needs besides its cell.
pub(super) struct Context<'a> {
    /// The words that run this program as a worker.
    pub(super) worker: &'a [OsString],
    /// The server to use, if it is not to be our own.
    pub(super) given: Option<&'a str>,
    /// After so long the program is killed.
    pub(super) limit: Duration,
}

/// Runs the cell once over `rows` rows, which stand in `csv` and have the checksum `expected`.
///
/// # Errors
/// The harness itself failed; a method that fails is a record.
pub(super) fn once(
    context: &Context,
    cell: &Cell,
    rows: u64,
    csv: &Path,
    expected: Checksum,
) -> Result<Record, Error> {
    let mut record = blank(cell);
    if let Some(obstacle) = Site::obstacle(context.given, cell) {
        record.reason = Some(obstacle);
        return Ok(record);
    }
    let mut clock = Instant::now();
    let mut lap = |phases: &mut Vec<(String, f64)>, name: &str| {
        phases.push((name.to_owned(), clock.elapsed().as_secs_f64()));
        clock = Instant::now();
    };
    let site = Site::open(context.given, cell)?;
    record.conditions.fresh = site.fresh.to_owned();
    lap(&mut record.phases, "server");
    let prepared = prepare(&site, cell, rows, csv);
    lap(&mut record.phases, "schema");
    let work = match prepared {
        Ok(work) => work,
        Err(error) => return Ok(failed(record, error.to_string())),
    };
    let proxy = match cell.latency_ms {
        0.0 => None,
        ms => Some(DelayProxy::start(Target::of(&site.conninfo)?, Duration::from_secs_f64(ms / 1e3))?),
    };
    let conninfo = proxy.as_ref().map(|proxy| proxy.conninfo(&site.conninfo)).transpose()?;
    let order = Order { conninfo: conninfo.unwrap_or_else(|| site.conninfo.clone()), work };
    let order = serde_json::to_string(&order).map_err(|error| Error::Wrong(error.to_string()))?;
    let mut command = Command::new(&context.worker[0]);
    command.args(&context.worker[1..]).env(VARIABLE, order);
    let process = match Process::start(command, PATIENCE) {
        Ok(process) => process,
        Err(error) => return Ok(failed(record, error.to_string())),
    };
    site.database.checkpoint()?;
    let open = site.other_backends()?;
    if matches!(cell.method, Method::Writers { .. }) && open != cell.connections() {
        let wanted = cell.connections();
        return Ok(failed(record, format!("{wanted} connections were to be open, and {open} are")));
    }
    let watch = Watch::start(&site.conninfo, &site.database, site.pid)?;
    let run = process.go(context.limit);
    let seen = watch.finish(&site.database)?;
    record.evidence = Evidence { client_cpu_s: run.cpu_s, peak_rss_bytes: run.peak_rss_bytes, ..seen };
    let told = Told::find(&run.said).unwrap_or(Told { seconds: run.wall_s, phases: Vec::new() });
    record.phases.extend(told.phases);
    record.phases.push(("ingest".to_owned(), told.seconds));
    record.seconds = told.seconds;
    let counted = match run.end {
        End::Done { rows } => rows,
        End::Failed(reason) => return Ok(failed(record, reason)),
        End::TimedOut => {
            return Ok(failed(record, format!("took longer than {:.0} s", context.limit.as_secs_f64())));
        }
    };
    clock = Instant::now();
    let mut lap = |phases: &mut Vec<(String, f64)>, name: &str| {
        phases.push((name.to_owned(), clock.elapsed().as_secs_f64()));
        clock = Instant::now();
    };
    if cell.table.keys == Keys::After {
        cell.dataset.keys_sql(TABLE).iter().try_for_each(|sql| site.database.run(sql))?;
        lap(&mut record.phases, "index");
        record.seconds += record.phases.last().map_or(0.0, |(_, seconds)| *seconds);
    }
    let arrived = if cell.is_control() { expected.to_string() } else { checksum(&site, cell)? };
    lap(&mut record.phases, "verify");
    record.rows = counted;
    let expected = expected.to_string();
    if arrived == expected && counted == rows {
        record.outcome = if rows == cell.rows { Outcome::Verified } else { Outcome::Prefix };
        record.reason = (rows != cell.rows)
            .then(|| format!("the first {rows} of {} rows: more would have taken too long", cell.rows));
    } else {
        record.outcome = Outcome::Wrong;
        record.reason = Some(format!(
            "counted {counted} of {rows} rows; the table's checksum is {arrived} and should be {expected}"
        ));
    }
    Ok(record)
}

/// Makes the table, and what else has to be there before the clock starts.
fn prepare(site: &Site, cell: &Cell, rows: u64, csv: &Path) -> Result<Work, Error> {
    let (database, dataset) = (&site.database, cell.dataset);
    let create = match cell.table.all_text {
        true => dataset.all_text_table_sql(TABLE),
        false => dataset.create_narrow_table_sql(TABLE, cell.columns().len()),
    };
    let create = match cell.table.unlogged {
        true => create.replacen("CREATE TABLE", "CREATE UNLOGGED TABLE", 1),
        false => create,
    };
    database.run(&create)?;
    if cell.table.keys == Keys::Before {
        dataset.keys_sql(TABLE).iter().try_for_each(|sql| database.run(sql))?;
    }
    for extra in &cell.table.extra {
        let sql = extra.replace("{table}", TABLE).replace("{rows}", &rows.to_string());
        database.run(&sql)?;
    }
    let input = csv.to_string_lossy().into_owned();
    let columns = dataset.header();
    let file = input.replace('\'', "''");
    Ok(match &cell.method {
        Method::Load(loading) => Work::Load {
            input,
            table: TABLE.to_owned(),
            write_path: loading.write_path.to_owned(),
            jobs: loading.jobs,
            rows_per_statement: loading.rows_per_statement,
            freeze: loading.freeze,
            skip_columns: dataset.columns()[cell.columns().len()..]
                .iter()
                .map(|(name, _)| (*name).to_owned())
                .collect(),
            dry_run: loading.dry_run,
        },
        Method::Writers { shape, connections, rows_per_statement } => Work::Write {
            dataset: dataset.name().to_owned(),
            rows,
            seed: SEED,
            table: TABLE.to_owned(),
            shape: *shape,
            rows_per_statement: *rows_per_statement,
            connections: *connections,
        },
        Method::ServerFile { freeze: false } => {
            Work::Statements(format!("COPY {TABLE} ({columns}) FROM '{file}' (FORMAT csv, HEADER)"))
        }
        Method::ServerFile { freeze: true } => Work::Statements(format!(
            "TRUNCATE {TABLE}; COPY {TABLE} ({columns}) FROM '{file}' (FORMAT csv, HEADER, FREEZE)"
        )),
        Method::NestedUnnest { file } => nested(site, cell, &input, *file)?,
    })
}

/// Puts the rows into arrays, and says how they come out again.
fn nested(site: &Site, cell: &Cell, csv: &str, in_file: bool) -> Result<Work, Error> {
    let (database, dataset) = (&site.database, cell.dataset);
    let names: Vec<&str> = dataset.columns().iter().map(|(name, _)| *name).collect();
    let each = |form: &str| names.iter().map(|name| form.replace('#', name)).collect::<Vec<_>>().join(", ");
    let (list, csv) = (names.join(", "), csv.replace('\'', "''"));
    database.run(&dataset.create_table_sql("flat"))?;
    database.run("ALTER TABLE flat ADD COLUMN place bigint GENERATED ALWAYS AS IDENTITY")?;
    database.run(&format!("COPY flat ({list}) FROM '{csv}' (FORMAT csv, HEADER)"))?;
    database.run(&format!(
        "CREATE TABLE arrays AS SELECT {} FROM flat GROUP BY (place - 1) / {NESTED} ORDER BY min(place)",
        each("array_agg(# ORDER BY place) AS #")
    ))?;
    let mut from = "arrays";
    if in_file {
        let directory = site.server_directory.clone().unwrap_or_default();
        let file = directory.join("arrays.csv").to_string_lossy().replace('\'', "''");
        database.run(&format!("COPY arrays TO '{file}' (FORMAT csv)"))?;
        let types =
            "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
                       FROM pg_attribute WHERE attrelid = 'arrays'::regclass AND attnum > 0";
        let columns = database.row(types)?.concat();
        database.run(&format!(
            "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
             CREATE FOREIGN TABLE arrays_file ({columns}) SERVER files
             OPTIONS (filename '{file}', format 'csv')"
        ))?;
        from = "arrays_file";
    }
    database.run("DROP TABLE flat")?;
    Ok(Work::Statements(format!("INSERT INTO {TABLE} ({list}) SELECT {} FROM {from}", each("unnest(#)"))))
}

/// The checksum of the table, whose columns are cast first where they are text.
fn checksum(site: &Site, cell: &Cell) -> Result<String, Error> {
    let table = if cell.table.all_text {
        let typed = cell.columns().iter().map(|(name, r#type)| {
            let r#type = r#type.split(" NOT NULL").next().and_then(|left| left.split(" DEFAULT").next());
            format!("{name}::{} AS {name}", r#type.unwrap_or_default())
        });
        format!("(SELECT {} FROM {TABLE}) typed", typed.collect::<Vec<_>>().join(", "))
    } else {
        TABLE.to_owned()
    };
    let sql = cell.dataset.narrow_checksum_sql(&table, cell.columns().len());
    Ok(site.database.row(&sql)?.concat())
}

/// The record of a run that has not begun.
fn blank(cell: &Cell) -> Record {
    Record {
        scenario: cell.scenario.to_owned(),
        section: cell.section.to_owned(),
        series: cell.series.clone(),
        x: cell.x,
        repetition: 0,
        outcome: Outcome::Skipped,
        reason: None,
        conditions: Conditions {
            dataset: cell.dataset.name().to_owned(),
            rows_asked: cell.rows,
            connections: cell.connections(),
            rows_per_statement: cell.rows_per_statement(),
            table: cell.table_in_words(),
            settings: cell.settings_map(),
            durability: cell.durability(),
            latency_ms: cell.latency_ms,
            fresh: String::new(),
            command: cell.command(),
            version: None,
        },
        rows: 0,
        seconds: 0.0,
        phases: Vec::new(),
        evidence: Evidence::default(),
    }
}

fn failed(record: Record, reason: String) -> Record {
    Record { outcome: Outcome::Failed, reason: Some(reason), ..record }
}
