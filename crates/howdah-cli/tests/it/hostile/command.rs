//! The built command as a child that is watched: it must end in time, in an orderly way, and within its memory.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use howdah_testkit::Database;
use howdah_testkit::waiting::PATIENCE;
use serde_json::Value;

/// For so many bytes of input there is as much patience again, against hanging only.
const BYTES_OF_PATIENCE: u64 = 32 << 20;

/// What howdah may take of memory, besides three times the largest record.
const MEMORY: u64 = 256 << 20;

/// A run of the command that came to an end.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) report: Value,
    pub(crate) stderr: String,
}

/// Runs the command with these arguments, against the test's database.
pub(crate) fn howdah(database: &Database, args: &[String]) -> Outcome {
    howdah_on(database, args, Stdio::null(), 0)
}

/// The same with something on standard input; `input_bytes` of it, for the patience.
pub(crate) fn howdah_on(database: &Database, args: &[String], stdin: Stdio, input_bytes: u64) -> Outcome {
    let (out, err) = (database.path("stdout"), database.path("stderr"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
        command.env_remove(name);
    }
    command.args(args).args(["-w", "-d", &database.conninfo(), "--report", "json"]);
    command.stdin(stdin).stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
    let start = Instant::now();
    let patience = PATIENCE * u32::try_from(1 + input_bytes / BYTES_OF_PATIENCE).unwrap();
    let mut child = command.spawn().unwrap();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if start.elapsed() > patience {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Outcome {
        code: status.map(|status| status.code()),
        stdout: std::fs::read(out).unwrap(),
        stderr: String::from_utf8_lossy(&std::fs::read(err).unwrap()).into_owned(),
    }
}

/// A run, before anything was asked of it.
pub(crate) struct Outcome {
    /// None: it did not end in time; then none: a signal ended it.
    code: Option<Option<i32>>,
    stdout: Vec<u8>,
    stderr: String,
}

impl Outcome {
    /// What holds of every run, whatever its input: it ends, by itself, says no control characters, keeps to its
    /// memory, and reports.
    ///
    /// # Errors
    /// What does not.
    pub(crate) fn check(self, input: &[u8]) -> Result<Run, String> {
        // The largest record is at most the input; for small inputs that is exact enough.
        self.check_memory(input.len() as u64)
    }

    /// The same, for an input whose largest record is known.
    pub(crate) fn check_memory(self, largest_record: u64) -> Result<Run, String> {
        let Outcome { code, stdout, stderr } = self;
        let Some(code) = code else { return Err(format!("it hangs: {stderr}")) };
        let Some(code) = code else { return Err(format!("a signal ended it: {stderr}")) };
        if stderr.contains("panicked at") || code > 5 {
            return Err(format!("exit code {code}: {stderr}"));
        }
        if let Some(control) = stderr.chars().find(|c| c.is_control() && *c != '\n') {
            return Err(format!("it says the control character {control:?}: {stderr:?}"));
        }
        let report: Value = serde_json::from_slice(&stdout)
            .map_err(|error| format!("no report ({error}): {} {stderr}", String::from_utf8_lossy(&stdout)))?;
        let peak = report["peak_rss_bytes"].as_u64().unwrap_or(u64::MAX);
        if code != 2 && peak > MEMORY + 3 * largest_record {
            return Err(format!("{peak} bytes of memory for a record of {largest_record}"));
        }
        Ok(Run { code, report, stderr })
    }
}

impl Run {
    /// What it said, on one line.
    pub(crate) fn said(&self) -> String {
        format!("exit code {}, {} {:?}", self.code, self.report["error"], self.stderr)
    }
}
