//! The command lines of howdah: the doctor's, and a load's.

use std::path::Path;
use std::process::Command;

use super::amount::Amount;
use super::columns::TABLE;
use super::slowdown::Look;
use crate::process::without_variables;

/// Seconds for which the doctor watches.
const WATCHED: &str = "--watch=5";

/// The doctor, which prints a report as JSON. With a file it looks at the table into which that is to come.
pub(super) fn doctor(
    howdah: &Path,
    conninfo: &str,
    file: Option<&Path>,
    look: Look,
    amount: &Amount,
) -> Command {
    let mut command = Command::new(howdah);
    command.arg("doctor");
    if let Some(file) = file {
        command.arg(file).args(["--table", TABLE]);
    }
    match look {
        Look::Measure => {
            let (seconds, bytes) = (amount.seconds.to_string(), format!("{}MiB", amount.log_mib));
            command.args(["--measure", "--seconds", &seconds, "--bytes", &bytes]);
        }
        Look::Watch => {
            command.arg(WATCHED);
        }
    }
    command.args(["-w", "-q", "--report", "json", "-d", conninfo]);
    without_variables(&mut command);
    command
}

/// A load as the doctor measures it: into the table as it is, over one connection, unless it is told otherwise.
pub(super) fn load(howdah: &Path, conninfo: &str, file: &Path, told: &[&str]) -> Command {
    let mut command = Command::new(howdah);
    command.arg("load").arg(file).args(["--table", TABLE, "--mode", "append", "-d", conninfo]);
    for (option, value) in [("--jobs", "1"), ("--indexes", "keep")] {
        if !told.contains(&option) {
            command.args([option, value]);
        }
    }
    command.args(told).args(["-w", "--quiet", "--report", "json"]);
    without_variables(&mut command);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_load_is_told_stands_for_what_it_is_told_otherwise() {
        let words = |told: &[&str]| {
            let command = load(Path::new("howdah"), "dbname=x", Path::new("a.csv"), told);
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert!(words(&[]).contains(" --jobs 1 --indexes keep -w "));
        let two = words(&["--jobs", "2"]);
        assert!(two.contains(" --indexes keep --jobs 2 ") && !two.contains("--jobs 1"), "{two}");
    }
}
