//! What has to be there before the clock starts: the table, arrays of rows, and the words that tell a worker what to do.

use std::path::PathBuf;

use super::context::RunRows;
use super::server::{BenchServer, TABLE};
use crate::cell::{Cell, Keys, Method, Program};
use crate::error::Error;
use crate::worker::WorkKind;

/// Rows in an array of arrays, as in study 4.
const NESTED: u64 = 50;

/// Makes the table.
pub(super) fn table(server: &BenchServer, cell: &Cell, rows: u64) -> Result<(), Error> {
    let (database, dataset) = (&server.database, cell.dataset);
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
    Ok(())
}

/// The file with the rows: CSV, unless another format is named, whose file stands beside it.
pub(super) fn input(cell: &Cell, rows: RunRows, format: Option<&str>) -> Result<PathBuf, Error> {
    let Some(format) = format else { return Ok(rows.csv.to_owned()) };
    let file = rows.csv.with_extension(format);
    if !file.exists() {
        let generator = cell.dataset.generator(rows.count, rows.seed);
        let made = match format {
            "parquet" => generator.write_parquet_file(&file),
            "ndjson" => generator.write_ndjson_file(&file),
            _ => return Err(Error::Usage(format!("there is no format {format}"))),
        };
        made.map_err(Error::io(format!("could not write {}", file.display())))?;
    }
    Ok(file)
}

/// What a worker does for the cell.
pub(super) fn work(server: &BenchServer, cell: &Cell, rows: RunRows) -> Result<WorkKind, Error> {
    let dataset = cell.dataset;
    let format = if let Method::Load(loading) = &cell.method { loading.format } else { None };
    let input = self::input(cell, rows, format)?.to_string_lossy().into_owned();
    let columns = dataset.header();
    let file = input.replace('\'', "''");
    Ok(match &cell.method {
        Method::Load(loading) => WorkKind::Load {
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
        Method::Writers { shape, connections, rows_per_statement } => WorkKind::Write {
            dataset: dataset.name().to_owned(),
            rows: rows.count,
            seed: rows.seed,
            table: TABLE.to_owned(),
            shape: *shape,
            rows_per_statement: *rows_per_statement,
            connections: *connections,
        },
        Method::Service { program: Program::Writer, buffer, offer } => WorkKind::Continuous {
            dataset: dataset.name().to_owned(),
            rows: rows.count,
            seed: rows.seed,
            table: TABLE.to_owned(),
            buffer: buffer.clone(),
            offer: offer.clone(),
        },
        Method::ServerFile { freeze: false } => {
            WorkKind::Statements(format!("COPY {TABLE} ({columns}) FROM '{file}' (FORMAT csv, HEADER)"))
        }
        Method::ServerFile { freeze: true } => WorkKind::Statements(format!(
            "TRUNCATE {TABLE}; COPY {TABLE} ({columns}) FROM '{file}' (FORMAT csv, HEADER, FREEZE)"
        )),
        Method::NestedUnnest { file } => nested(server, cell, &input, *file)?,
        Method::Command(command) => {
            return Err(Error::Usage(format!("{} is no worker", command.in_words())));
        }
        Method::Contender { name, .. } | Method::Service { program: Program::Contender(name), .. } => {
            return Err(Error::Usage(format!("{name} is no worker")));
        }
    })
}

/// Puts the rows into arrays, and says how they come out again.
fn nested(server: &BenchServer, cell: &Cell, csv: &str, in_file: bool) -> Result<WorkKind, Error> {
    let (database, dataset) = (&server.database, cell.dataset);
    let names: Vec<&str> = dataset.columns().iter().map(|(name, _)| *name).collect();
    let each = |form: &str| names.iter().map(|name| form.replace('#', name)).collect::<Vec<_>>().join(", ");
    let (list, csv) = (names.join(", "), csv.replace('\'', "''"));
    database.run(&dataset.create_table_sql(&format!("{TABLE}_flat")))?;
    database
        .run(&format!("ALTER TABLE {TABLE}_flat ADD COLUMN place bigint GENERATED ALWAYS AS IDENTITY"))?;
    database.run(&format!("COPY {TABLE}_flat ({list}) FROM '{csv}' (FORMAT csv, HEADER)"))?;
    database.run(&format!(
        "CREATE TABLE {TABLE}_arrays AS SELECT {} FROM {TABLE}_flat GROUP BY (place - 1) / {NESTED} ORDER BY min(place)",
        each("array_agg(# ORDER BY place) AS #")
    ))?;
    let mut from = format!("{TABLE}_arrays");
    if in_file {
        let Some(directory) = &server.server_directory else {
            return Err(Error::Usage("the server can only write files of its own machine".to_owned()));
        };
        let file = directory.join("arrays.csv").to_string_lossy().replace('\'', "''");
        database.run(&format!("COPY {from} TO '{file}' (FORMAT csv)"))?;
        let types = format!(
            "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
               FROM pg_attribute WHERE attrelid = '{from}'::regclass AND attnum > 0"
        );
        let columns = database.row(&types)?.concat();
        from = format!("{TABLE}_file");
        database.run(&format!(
            "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
             CREATE FOREIGN TABLE {from} ({columns}) SERVER files
             OPTIONS (filename '{file}', format 'csv')"
        ))?;
    }
    database.run(&format!("DROP TABLE {TABLE}_flat"))?;
    Ok(WorkKind::Statements(format!("INSERT INTO {TABLE} ({list}) SELECT {} FROM {from}", each("unnest(#)"))))
}
