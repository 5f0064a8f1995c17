//! The ways of bringing a file to the table, and the programs that are run for each.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use super::orders::TABLE;

/// A program, and how it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// psql's `\copy` into the table.
    Psql,
    /// psql's `\copy` into a temporary table, and one INSERT … ON CONFLICT from there, in one transaction.
    PsqlStaged,
    /// `howdah load`, with options.
    Howdah {
        /// The program that is measured, or one beside it.
        program: WhichHowdah,
        /// Beside file, table, connection and report.
        options: &'static [&'static str],
    },
}

/// Which howdah.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhichHowdah {
    /// The one that is measured.
    Measured,
    /// Another one, which was named.
    Beside,
}

/// The paths of the programs, the server and the file.
pub(super) struct WayTask<'a> {
    pub(super) howdah: &'a Path,
    pub(super) beside: &'a Path,
    pub(super) psql: &'a Path,
    pub(super) conninfo: &'a str,
    pub(super) file: &'a Path,
}

impl Way {
    /// The command, for people to read.
    pub(super) fn in_words(self) -> String {
        match self {
            Way::Psql => "psql -c '\\copy … (FORMAT csv, HEADER)'".to_owned(),
            Way::PsqlStaged => {
                "psql -1 -c 'CREATE TEMP TABLE …' -c '\\copy …' -c 'INSERT … ON CONFLICT …'".to_owned()
            }
            Way::Howdah { options, .. } => format!("howdah load rows.csv {}", options.join(" ")),
        }
    }

    /// The program's process.
    pub(super) fn process(self, task: &WayTask) -> Command {
        let copy_into = |table: &str| {
            let file = task.file.display().to_string().replace('\'', "''");
            format!("\\copy {table} from '{file}' (FORMAT csv, HEADER)")
        };
        match self {
            Way::Psql => psql(task, &[&copy_into(TABLE)]),
            Way::PsqlStaged => {
                let make = format!("CREATE TEMP TABLE stage (LIKE {TABLE}) ON COMMIT DROP");
                let names = ["customer", "placed", "amount", "status", "note"];
                let set = names.map(|name| format!("{name} = excluded.{name}")).join(", ");
                let apply =
                    format!("INSERT INTO {TABLE} SELECT * FROM stage ON CONFLICT (id) DO UPDATE SET {set}");
                psql(task, &[&make, &copy_into("stage"), &apply])
            }
            Way::Howdah { program, options } => {
                let program = match program {
                    WhichHowdah::Measured => task.howdah,
                    WhichHowdah::Beside => task.beside,
                };
                let mut command = Command::new(program);
                command.arg("load").arg(task.file).args(["--table", TABLE, "-d", task.conninfo]);
                command.args(options).args(["--quiet", "--report", "json"]);
                command
            }
        }
    }

    /// Whether it runs the howdah beside the one that is measured.
    pub(super) fn is_beside(self) -> bool {
        matches!(self, Way::Howdah { program: WhichHowdah::Beside, .. })
    }

    /// Whether it prints a report of howdah's.
    pub(super) fn reports(self) -> bool {
        matches!(self, Way::Howdah { .. })
    }
}

fn psql(task: &WayTask, commands: &[impl AsRef<OsStr>]) -> Command {
    let mut psql = Command::new(task.psql);
    // -X: a user's start-up file is not part of the trial.
    psql.args(["-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-d", task.conninfo]);
    commands.iter().for_each(|command| {
        psql.arg("-c").arg(command);
    });
    psql
}
