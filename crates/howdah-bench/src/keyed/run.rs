//! One run: a copy of the template, the clock around a program, and the truth of what the table holds then.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use howdah::Control;
use howdah_server::{Settings, Throwaway};

use super::orders::Orders;
use super::section::Trial;
use super::way::{Way, WayTask};
use crate::database::Database;
use crate::error::Error;
use crate::measure;
use crate::process::without_variables;
use crate::record::{Evidence, Outcome, Record};
use crate::server_cpu::{ServerCpu, machine_busy_s};

/// The database of runs, and the one that it is copied from.
const RUN: &str = "keyed";
const TEMPLATE: &str = "keyed_template";

/// How long to wait for backends of the last client to end: their last milliseconds belong to the run.
const BACKENDS_END: Duration = Duration::from_millis(300);

/// What the server is told: room for log, and moments that do not depend on where the machine stands.
pub(super) const SETTINGS: [(&str, &str); 2] = [("max_wal_size", "8GB"), ("timezone", "UTC")];

/// The server that all runs share.
pub(super) struct Server {
    own: Throwaway,
    /// To make databases with.
    outer: Database,
}

/// A trial whose template and file are there.
pub(super) struct Prepared<'a> {
    server: &'a Server,
    file: PathBuf,
    /// Rows and checksum of the table, once the rows are in.
    rows: String,
    /// Its indexes and constraints, which every way must leave as they were.
    keys: String,
}

/// The howdahs that ways run.
pub(super) struct Howdahs<'a> {
    pub(super) howdah: &'a Path,
    pub(super) beside: &'a Path,
}

impl Server {
    /// Starts one of our own.
    pub(super) fn start() -> Result<Server, Error> {
        let settings =
            SETTINGS.iter().fold(Settings::new(), |settings, (name, value)| settings.with(*name, *value));
        let own = Throwaway::start(&settings)?;
        let outer = Database::own(&own.conninfo())?;
        Ok(Server { own, outer })
    }

    fn conninfo(&self, database: &str) -> String {
        // What comes last holds, as for libpq.
        format!("{} dbname={database}", self.own.conninfo())
    }

    /// Makes the template and the file of a trial; those of another one go.
    pub(super) fn prepare(&self, orders: &Orders) -> Result<Prepared<'_>, Error> {
        self.drop_databases()?;
        self.outer.run(&format!("CREATE DATABASE {TEMPLATE}"))?;
        // Nobody may be connected to a database that is copied.
        let template = Database::own(&self.conninfo(TEMPLATE))?;
        orders.create_sql().iter().try_for_each(|sql| template.run(sql))?;
        // The server writes it where it may write, under its own account.
        let file = self.own.data_dir().join("orders.csv");
        let path = file.display().to_string().replace('\'', "''");
        template.run(&format!("COPY ({}) TO '{path}' (FORMAT csv, HEADER)", orders.file_sql()))?;
        let rows = template.row(&orders.expected_sql())?.concat();
        Ok(Prepared { server: self, file, rows, keys: keys(&template)? })
    }

    fn drop_databases(&self) -> Result<(), Error> {
        [RUN, TEMPLATE]
            .iter()
            .try_for_each(|name| self.outer.run(&format!("DROP DATABASE IF EXISTS {name} (FORCE)")))
    }
}

impl Prepared<'_> {
    /// Runs one way, and fills in what was measured.
    pub(super) fn once(
        &self,
        trial: &Trial,
        way: Way,
        howdahs: &Howdahs,
        control: &Control,
        record: &mut Record,
    ) -> Result<(), Error> {
        let Server { own, outer } = self.server;
        let (conninfo, psql) = (self.server.conninfo(RUN), own.bin_dir().join("psql"));
        let task = WayTask {
            howdah: howdahs.howdah,
            beside: howdahs.beside,
            psql: &psql,
            conninfo: &conninfo,
            file: &self.file,
        };
        let mut process = way.process(&task);
        if !psql.is_file() && !way.reports() {
            (record.outcome, record.reason) =
                (Outcome::Skipped, Some("the server's programs have no psql".to_owned()));
            return Ok(());
        }
        outer.run(&format!("DROP DATABASE IF EXISTS {RUN} (FORCE)"))?;
        outer.run(&format!("CREATE DATABASE {RUN} TEMPLATE {TEMPLATE} STRATEGY file_copy"))?;
        // What the last run and the copy left dirty is not for this one to write.
        outer.run("CHECKPOINT")?;
        without_variables(&mut process);

        let server_before = ServerCpu::of(own.pid());
        let machine_before = machine_busy_s();
        let (client, outputs) = match measure::run(vec![process], None, control) {
            Ok(done) => done,
            Err(error @ Error::Program { .. }) if !control.is_cancelled() => {
                (record.outcome, record.reason) = (Outcome::Failed, Some(error.to_string()));
                return Ok(());
            }
            Err(_) if control.is_cancelled() => return Err(Error::Stopped),
            Err(error) => return Err(error),
        };
        let server_cpu_s = server_before.and_then(|before| before.spent(own.pid(), BACKENDS_END));
        let busy_s = machine_busy_s().zip(machine_before).map(|(after, before)| after - before);
        let whole_s = client.wall_s * thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        record.seconds = client.wall_s;
        record.phases.push(("ingest".to_owned(), client.wall_s));
        record.rows = trial.orders.brought;
        record.evidence = Evidence {
            client_cpu_s: Some(client.cpu_s()),
            server_cpu_s,
            elsewhere: busy_s
                .zip(server_cpu_s)
                .map(|(busy, server)| (busy - server - client.cpu_s()).max(0.0) / whole_s),
            peak_rss_bytes: Some(client.peak_rss_bytes),
            report: way.reports().then(|| serde_json::from_str(&outputs.concat()).ok()).flatten(),
            ..Evidence::default()
        };
        self.verify(record)
    }

    /// Compares rows and keys of the table with what they must be.
    fn verify(&self, record: &mut Record) -> Result<(), Error> {
        let database = Database::own(&self.server.conninfo(RUN))?;
        let (rows, keys) = (database.row(&Orders::found_sql())?.concat(), keys(&database)?);
        let wrong =
            [("rows and checksum", &rows, &self.rows), ("indexes and constraints", &keys, &self.keys)]
                .into_iter()
                .find(|(_, found, expected)| found != expected);
        (record.outcome, record.reason) = match wrong {
            None => (Outcome::Verified, None),
            Some((what, found, expected)) => {
                (Outcome::Wrong, Some(format!("{what} of the table are {found} instead of {expected}")))
            }
        };
        Ok(())
    }
}

/// The table's indexes and constraints, and whether each holds.
fn keys(database: &Database) -> Result<String, Error> {
    let sql = "SELECT string_agg(entry, '; ' ORDER BY entry) FROM (
                   SELECT pg_get_indexdef(indexrelid) || ' ' || indisvalid AS entry
                     FROM pg_index WHERE indrelid = 'orders'::regclass
                   UNION ALL
                   SELECT conname || ' ' || pg_get_constraintdef(oid) || ' ' || convalidated
                     FROM pg_constraint WHERE conrelid = 'orders'::regclass) entries";
    Ok(database.row(sql)?.concat())
}
