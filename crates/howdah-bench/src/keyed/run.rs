//! One run: a copy of the template, the clock around a program, and the truth of what the table holds then.

use std::path::{Path, PathBuf};

use howdah::Control;
use howdah_server::{Settings, Throwaway};

use super::orders::Orders;
use super::section::Trial;
use super::way::{Way, WayTask};
use crate::clocked;
use crate::database::Database;
use crate::error::Error;
use crate::process::without_variables;
use crate::record::{Outcome, Record};

/// The database of runs, and the one that it is copied from.
const RUN: &str = "keyed";
const TEMPLATE: &str = "keyed_template";

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

        let brought = trial.orders.brought;
        let rows = clocked::run(vec![process], None, Some(own.pid()), control, record).and_then(|outputs| {
            if way.reports() { clocked::take_report(&outputs, record) } else { Ok(brought) }
        });
        match rows {
            Ok(rows) => record.rows = rows,
            Err(_) if control.is_cancelled() => return Err(Error::Stopped),
            Err(error @ (Error::Program { .. } | Error::Wrong(_))) => {
                (record.outcome, record.reason) = (Outcome::Failed, Some(error.to_string()));
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        self.verify(brought, record)
    }

    /// Compares what was counted, and rows and keys of the table, with what they must be.
    fn verify(&self, brought: u64, record: &mut Record) -> Result<(), Error> {
        let database = Database::own(&self.server.conninfo(RUN))?;
        let (rows, keys) = (database.row(&Orders::found_sql())?.concat(), keys(&database)?);
        let (counted, brought) = (record.rows.to_string(), brought.to_string());
        clocked::compare(
            record,
            &[
                ("rows that were counted", &counted, &brought),
                ("rows and checksum of the table", &rows, &self.rows),
                ("indexes and constraints of the table", &keys, &self.keys),
            ],
        );
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
