//! The facts without which a figure means nothing: the machine, the server and its settings, the program.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::database::Database;
use crate::error::Error;
use crate::table::Table;

/// A table of facts, as markdown; `program` is the measured program and its version.
///
/// # Errors
/// The server did not answer.
pub fn facts(database: &Database, program: &str) -> Result<String, Error> {
    let mut table = Table::new(["fact", "value"]);
    table.row(["cores".to_owned(), thread::available_parallelism().map_or(0, usize::from).to_string()]);
    table.row(["processor", &proc_line("/proc/cpuinfo", "model name").unwrap_or_default()]);
    table.row(["memory", &proc_line("/proc/meminfo", "MemTotal").unwrap_or_default()]);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    table.row(["kernel", kernel.trim()]);
    table.row(["server", &database.row("SELECT version()")?.concat()]);
    table.row(["settings other than the defaults", &settings(database)?]);
    table.row(["program", program]);
    Ok(table.render())
}

/// Returns what a program prints for `--version`; empty where it cannot be run.
#[must_use]
pub fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// The three load averages.
#[must_use]
pub fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Settings that differ from the defaults; those of the locale and of the address say nothing about speed.
fn settings(database: &Database) -> Result<String, Error> {
    let rows = database.rows(
        "SELECT name || ' = ' || current_setting(name) FROM pg_settings
         WHERE source NOT IN ('default', 'override', 'client', 'session') AND setting IS DISTINCT FROM boot_val
           AND name !~ '^(lc_|default_text_search|DateStyle|TimeZone|log_timezone|listen_addresses|port|unix_socket|hba|dynamic_shared)'
         ORDER BY name",
    )?;
    let all = rows.concat().join(", ");
    Ok(if all.is_empty() { "none".to_owned() } else { all })
}

/// The value of the first `key : value` line of a file.
fn proc_line(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
