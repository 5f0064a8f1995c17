//! Programs under the clock: what they took, what the server took meanwhile, and what went to neither.

use std::process::Command;
use std::thread;
use std::time::Duration;

use howdah::Control;

use crate::cpu_time::{ServerCpu, machine_busy_s};
use crate::error::Error;
use crate::measure;
use crate::record::{Evidence, Outcome, Record};

/// How long to wait for backends of the last client to end: their last milliseconds belong to the run.
const BACKENDS_END: Duration = Duration::from_millis(300);

/// Runs `commands` side by side, as [`measure::run`] does, fills in seconds and evidence of `record`, and returns what each
/// wrote. `postmaster` is the server's process, where it can be seen.
pub(crate) fn run(
    commands: Vec<Command>,
    also_fine: Option<i32>,
    postmaster: Option<u32>,
    control: &Control,
    record: &mut Record,
) -> Result<Vec<String>, Error> {
    let server_before = postmaster.and_then(ServerCpu::of);
    let machine_before = machine_busy_s();
    let (client, outputs) = measure::run(commands, also_fine, control)?;
    let server_cpu_s =
        server_before.zip(postmaster).and_then(|(before, pid)| before.spent(pid, BACKENDS_END));
    let busy_s = machine_busy_s().zip(machine_before).map(|(after, before)| after - before);
    let cores = thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    let whole_s = client.wall_s * cores;
    record.seconds = client.wall_s;
    record.phases.push(("ingest".to_owned(), client.wall_s));
    record.evidence = Evidence {
        client_cpu_s: Some(client.cpu_s()),
        server_cpu_s,
        elsewhere: busy_s
            .zip(server_cpu_s)
            .map(|(busy, server)| (busy - server - client.cpu_s()).max(0.0) / whole_s),
        peak_rss_bytes: Some(client.peak_rss_bytes),
        ..Evidence::default()
    };
    Ok(outputs)
}

/// Takes howdah's report from what it wrote into the record's evidence; the rows that it names.
///
/// # Errors
/// It is no report.
pub(crate) fn take_report(outputs: &[String], record: &mut Record) -> Result<u64, Error> {
    let report: serde_json::Value = serde_json::from_str(&outputs.concat())
        .map_err(|error| Error::Wrong(format!("howdah's report is not JSON: {error}")))?;
    let rows = report["rows"].as_u64();
    record.evidence.report = Some(report);
    rows.ok_or_else(|| Error::Wrong("howdah's report names no rows".to_owned()))
}

/// Notes whether what was found is what must be: of each its name, in the plural, what was found, and what is expected.
pub(crate) fn compare(record: &mut Record, found: &[(&str, &str, &str)]) {
    let wrong = found.iter().find(|(_, found, expected)| found != expected);
    (record.outcome, record.reason) = match wrong {
        None => (Outcome::Verified, None),
        Some((what, found, expected)) => {
            (Outcome::Wrong, Some(format!("{what} are {found} instead of {expected}")))
        }
    };
}
