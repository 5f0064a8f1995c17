//! One run of one contender: a fresh table, the clock, the CPU of both sides, the count of what arrived.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

use serde::Serialize;

use super::contender::{Contender, Input, Programs};
use super::scale::Scale;
use super::tell;
use crate::database::Database;
use crate::error::Error;
use crate::measure::{self, Usage};
use crate::scratch::Scratch;
use crate::server_cpu::{ServerCpu, machine_busy_s};

/// Everything that the measurements share.
pub(super) struct Bench<'a> {
    pub(super) scale: Scale,
    pub(super) scratch: Scratch,
    pub(super) database: Database,
    pub(super) programs: Programs,
    pub(super) server_pid: Option<u32>,
    pub(super) seed: u64,
    /// Whether the server lets us CHECKPOINT.
    pub(super) checkpoints: bool,
    pub(super) raw: BufWriter<File>,
    pub(super) say: &'a mut dyn Write,
}

/// What one run used. Seconds are wall or CPU seconds, as the names say.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Run {
    #[serde(flatten)]
    pub(super) client: Usage,
    /// None when the server's processes cannot be seen.
    pub(super) server_cpu_s: Option<f64>,
    /// What the machine spent on neither client nor server.
    pub(super) other_cpu_s: Option<f64>,
}

/// Which run it is, for the raw results.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label<'a> {
    pub(super) measurement: &'a str,
    /// 0 is the warm-up, where there is one.
    pub(super) round: usize,
}

/// A line of raw.jsonl.
#[derive(Serialize)]
struct RawRun<'a> {
    measurement: &'a str,
    round: usize,
    contender: &'a str,
    input: String,
    input_bytes: u64,
    rows: u64,
    #[serde(flatten)]
    run: Run,
    /// What howdah says about itself.
    report: Option<serde_json::Value>,
}

/// How long to wait for backends of the last client to end: their last milliseconds belong to the run.
const BACKENDS_END: Duration = Duration::from_millis(300);

impl Bench<'_> {
    /// Drops the table and, unless `create` is None, makes it again; nothing dirty is left for the next run to write.
    pub(super) fn fresh(&mut self, table: &str, create: Option<&str>) -> Result<(), Error> {
        self.database.run(&format!("DROP TABLE IF EXISTS {table}"))?;
        if let Some(create) = create {
            self.database.run(create)?;
        }
        self.checkpoints = self.checkpoints && self.database.checkpoint()?;
        Ok(())
    }

    /// Runs the contender under the clock and checks that `rows` rows arrived.
    pub(super) fn run(
        &mut self,
        contender: Contender,
        input: &Input,
        rows: u64,
        label: Label,
    ) -> Result<Run, Error> {
        let commands = self.programs.commands(contender, input);
        let server_before = self.server_pid.and_then(ServerCpu::of);
        let machine_before = machine_busy_s();
        let (client, outputs) = measure::run(commands, contender.also_fine())?;
        let server_cpu_s = server_before.and_then(|before| before.spent(self.server_pid?, BACKENDS_END));
        let busy_s = machine_busy_s().zip(machine_before).map(|(after, before)| after - before);
        let other_cpu_s =
            busy_s.zip(server_cpu_s).map(|(busy, server)| (busy - server - client.cpu_s()).max(0.0));
        let run = Run { client, server_cpu_s, other_cpu_s };

        let report = contender.is_howdah().then(|| serde_json::from_str(&outputs.concat()));
        let report: Option<serde_json::Value> = report
            .transpose()
            .map_err(|error| Error::Wrong(format!("howdah's report is not JSON: {error}")))?;
        self.write_raw(contender, input, rows, label, run, report.clone())?;
        let arrived = self.database.row(&format!("SELECT count(*) FROM {}", input.table))?.concat();
        let reported = report.map_or_else(|| rows.to_string(), |report| report["rows"].to_string());
        if arrived != rows.to_string() || reported != arrived {
            let who = contender.key();
            return Err(Error::Wrong(format!(
                "{who} was to load {rows} rows, says {reported}, and {arrived} arrived"
            )));
        }
        let Label { measurement, round } = label;
        let server = run.server_cpu_s.unwrap_or(f64::NAN);
        let other = run.other_cpu_s.unwrap_or(f64::NAN);
        tell(
            self.say,
            &format!(
                "{measurement:<9} round {round:>2}  {:<13} {:>8.3} s   CPU: client {:>6.2}, server {server:>6.2}, \
                 other {other:>5.2}   peak {:>5.0} MiB\n",
                contender.key(),
                client.wall_s,
                client.cpu_s(),
                mebibytes(client.peak_rss_bytes),
            ),
        )?;
        Ok(run)
    }

    /// The number of rows and a checksum over all values that does not depend on the order of rows.
    pub(super) fn checksum(&self, table: &str) -> Result<String, Error> {
        let sql = format!("SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM {table} t");
        Ok(self.database.row(&sql)?.join(" rows, checksum "))
    }

    fn write_raw(
        &mut self,
        contender: Contender,
        input: &Input,
        rows: u64,
        label: Label,
        run: Run,
        report: Option<serde_json::Value>,
    ) -> Result<(), Error> {
        let files = if contender.is_floor() { input.parts } else { std::slice::from_ref(input.file) };
        let names = files.iter().filter_map(|file| file.file_name()?.to_str()).collect::<Vec<_>>();
        let sizes = files.iter().filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len());
        let line = RawRun {
            measurement: label.measurement,
            round: label.round,
            contender: contender.key(),
            input: names.join(" "),
            input_bytes: sizes.sum(),
            rows,
            run,
            report,
        };
        let written = serde_json::to_writer(&mut self.raw, &line).map_err(Into::into);
        let written = written.and_then(|()| self.raw.write_all(b"\n")).and_then(|()| self.raw.flush());
        written.map_err(Error::io("could not write raw.jsonl"))
    }
}

pub(super) fn mebibytes(bytes: u64) -> f64 {
    // Exact: memory sizes stay far below 2^53.
    bytes as f64 / 1_048_576.0
}
