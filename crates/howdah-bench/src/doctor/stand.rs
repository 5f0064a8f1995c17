//! A server into which a state was built, its template of a database, and one run against a copy of that.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use howdah::Control;
use howdah_server::{Settings, Shutdown, Template, Throwaway};

use super::columns::TABLE;
use super::files::RowsToCome;
use super::slowdown::Around;
use crate::clocked;
use crate::database::Database;
use crate::delay_proxy::{DelayProxy, ProxyTarget};
use crate::error::Error;
use crate::record::{Outcome, Record};

/// The database of runs, and the one that it is copied from.
const RUN: &str = "truth";
const TEMPLATE: &str = "truth_template";

/// Between two looks at whether a state is there, and how long it may take.
const POLL: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(30);

/// A server of our own, and its template if there is a table.
pub(super) struct Stand {
    own: Throwaway,
    /// To make databases with, and to change settings.
    outer: Database,
    role: &'static str,
    rows: Option<RowsToCome>,
}

impl Stand {
    /// Starts one. With rows, a table that holds the first of them becomes the template, with what `built` makes of it.
    pub(super) fn start(
        clusters: &Template,
        settings: &[(&str, &str)],
        rows: Option<RowsToCome>,
        built: &[&str],
        role: &'static str,
    ) -> Result<Stand, Error> {
        let settings = settings
            .iter()
            .fold(Settings::new().with("timezone", "UTC"), |all, (name, value)| all.with(*name, *value));
        let own = Throwaway::copy_of(clusters, &settings)?;
        let outer = Database::own(&own.conninfo())?;
        let stand = Stand { own, outer, role, rows };
        if let Some(rows) = &stand.rows {
            stand.outer.run(&format!("CREATE DATABASE {TEMPLATE} TEMPLATE {}", stand.own.dbname()))?;
            // Nobody may be connected to a database that is copied.
            let template = Database::own(&stand.conninfo_of(TEMPLATE))?;
            template.run(&format!("CREATE TABLE {TABLE} ({})", rows.columns.declared()))?;
            let held = rows.columns.rows_sql(0, rows.held);
            template.run(&format!("INSERT INTO {TABLE} ({}) {held}", rows.columns.names()))?;
            built.iter().try_for_each(|sql| template.run(sql))?;
            template.run(&format!("VACUUM ANALYZE {TABLE}"))?;
        } else {
            built.iter().try_for_each(|sql| stand.outer.run(sql))?;
        }
        Ok(stand)
    }

    fn conninfo_of(&self, database: &str) -> String {
        // What comes last holds, as for libpq.
        format!("{} dbname={database}", self.own.conninfo())
    }

    /// How howdah gets to the database of runs.
    pub(super) fn conninfo(&self) -> String {
        let database = self.conninfo_of(self.database());
        match self.role {
            "" => database,
            role => format!("{database} user={role} password={role}"),
        }
    }

    /// The rows that come to the table, if there is one.
    pub(super) fn rows(&self) -> Option<&RowsToCome> {
        self.rows.as_ref()
    }

    fn database(&self) -> &str {
        if self.rows.is_some() { RUN } else { self.own.dbname() }
    }

    /// The postmaster.
    fn pid(&self) -> u32 {
        self.own.pid()
    }

    /// Makes the database of runs anew, if there is one, and writes down what the last run and the copy left dirty.
    pub(super) fn copy(&self) -> Result<(), Error> {
        if self.rows.is_some() {
            self.outer.run(&format!("DROP DATABASE IF EXISTS {RUN} (FORCE)"))?;
            self.outer.run(&format!("CREATE DATABASE {RUN} TEMPLATE {TEMPLATE} STRATEGY file_copy"))?;
        }
        self.outer.run("CHECKPOINT")
    }

    /// Does what is done last, and waits until the state is there.
    pub(super) fn finish(&self, last: &[&str], awaits: &str) -> Result<(), Error> {
        last.iter().try_for_each(|sql| self.outer.run(sql))?;
        let since = Instant::now();
        while !awaits.is_empty() && self.outer.row(awaits)?.concat() != "t" {
            if since.elapsed() > PATIENCE {
                return Err(Error::Wrong(format!("the state does not come about: {awaits}")));
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Runs statements in the database of runs, or of the server, which is started again then if need be.
    pub(super) fn change(&mut self, statements: &[&str], restart: bool) -> Result<(), Error> {
        if !statements.is_empty() {
            let database = Database::own(&self.conninfo_of(self.database()))?;
            statements.iter().try_for_each(|sql| database.run(sql))?;
        }
        if restart {
            self.own.stop(Shutdown::Fast)?;
            self.own.start_again()?;
            self.outer = Database::own(&self.own.conninfo())?;
        }
        Ok(())
    }

    /// Does something while other things go on at the server; it is given the connection that leads there then.
    pub(super) fn amid<T>(
        &self,
        around: Around,
        act: impl FnOnce(&str) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let conninfo = self.conninfo();
        match around {
            Around::Nothing => act(&conninfo),
            Around::Far(round_trip) => {
                let proxy = DelayProxy::start(ProxyTarget::of(&conninfo)?, round_trip)?;
                act(&proxy.conninfo(&conninfo)?)
            }
            Around::Holds(sql) => {
                let holder = Database::own(&self.conninfo_of(self.database()))?;
                holder.run("BEGIN")?;
                holder.run(sql)?;
                let done = act(&conninfo);
                drop(holder);
                done
            }
            Around::Writes(sql) => self.beside_writer(sql, &conninfo, act),
        }
    }

    /// One session writes again and again until `act` is done.
    fn beside_writer<T>(
        &self,
        sql: &str,
        conninfo: &str,
        act: impl FnOnce(&str) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let to_server = self.conninfo_of(self.database());
        let over = Control::new();
        thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let writer = Database::own(&to_server)?;
                while !over.is_cancelled() {
                    writer.run(sql)?;
                }
                Ok::<(), Error>(())
            });
            let done = act(conninfo);
            over.cancel();
            let written = writing.join().map_err(|_| Error::Wrong("the writer ended early".to_owned()))?;
            written.and(done)
        })
    }

    /// Runs a load, fills in what was measured, and compares rows and checksum of the table with what they must be.
    pub(super) fn load(&self, process: Command, control: &Control, record: &mut Record) -> Result<(), Error> {
        let ran = self.time(process, control, record);
        let rows = settled(ran, control, record)?;
        let (Some(rows), Some(to_come)) = (rows, &self.rows) else { return Ok(()) };
        record.rows = rows;
        let found =
            Database::own(&self.conninfo_of(RUN))?.row(&to_come.columns.checksum_sql(TABLE))?.concat();
        clocked::compare(
            record,
            &[
                ("rows that were counted", &rows.to_string(), &to_come.brought.to_string()),
                ("rows and checksum of the table", &found, &to_come.expected),
            ],
        );
        Ok(())
    }

    fn time(&self, process: Command, control: &Control, record: &mut Record) -> Result<u64, Error> {
        let outputs = clocked::run(vec![process], None, Some(self.pid()), control, record)?;
        clocked::take_report(&outputs, record)
    }

    /// Runs the doctor, whose report becomes the record's.
    pub(super) fn look(&self, process: Command, control: &Control, record: &mut Record) -> Result<(), Error> {
        let looked =
            clocked::run(vec![process], None, Some(self.pid()), control, record).and_then(|outputs| {
                let report = serde_json::from_str(&outputs.concat())
                    .map_err(|error| Error::Wrong(format!("the doctor's report is not JSON: {error}")))?;
                record.evidence.report = Some(report);
                Ok(0)
            });
        if settled(looked, control, record)?.is_some() {
            record.outcome = Outcome::Verified;
        }
        Ok(())
    }
}

/// What a program did, or None if it failed by itself, which is written down.
fn settled(ran: Result<u64, Error>, control: &Control, record: &mut Record) -> Result<Option<u64>, Error> {
    match ran {
        Ok(rows) => Ok(Some(rows)),
        Err(_) if control.is_cancelled() => Err(Error::Stopped),
        Err(error @ (Error::Program { .. } | Error::Wrong(_))) => {
            (record.outcome, record.reason) = (Outcome::Failed, Some(error.to_string()));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
