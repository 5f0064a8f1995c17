//! What was typed: the commands and options, their help, and nothing about what they mean.

/// A parser of an option whose values are words of the engine.
macro_rules! word {
    ($type:ty) => {
        clap::builder::TypedValueParser::try_map(
            clap::builder::PossibleValuesParser::new(<$type>::ALL.map(<$type>::name)),
            |name| <$type>::from_name(&name).ok_or("it is not known"),
        )
    };
}

#[cfg(feature = "bench")]
mod bench;
mod codegen;
#[cfg(feature = "bench")]
mod dataset;
mod doctor;
mod load;
mod migrate;
mod promote;
mod stream;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

#[cfg(feature = "bench")]
pub(crate) use bench::{Bench, BenchAction, BenchRun};
pub(crate) use codegen::{
    Codegen, CodegenAction, CodegenCheck, CodegenExplain, CodegenGenerate, CodegenInit, DescribingServer,
    ExplainedProject, MessagesArg, Project,
};
#[cfg(feature = "bench")]
pub(crate) use dataset::{Dataset, DatasetFormatArg};
pub(crate) use doctor::{Doctor, FindingsArg};
pub(crate) use load::{
    AllowArg, Columns, Connection, IndexesArg, Input, Load, ModeArg, ReportArg, Tolerance, UnloggedArg,
    WritePathArg,
};
pub(crate) use migrate::{Common, HistoryFiles, Migrate, MigrateAction, MigrateApply};
pub(crate) use promote::Promote;
pub(crate) use stream::{OnConflictArg, Stream};

/// Carry data into PostgreSQL as fast as the server can take it.
#[derive(Debug, Parser)]
#[command(
    name = "howdah",
    version,
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    max_term_width = 110,
    after_help = "A command's options: howdah COMMAND --help"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Show this help
    // Short help in both spellings: one line an option reads better than pages. `-h` is the host, as in psql.
    #[arg(long, short = '?', global = true, action = ArgAction::HelpShort, help_heading = "Help", display_order = 900)]
    help: Option<bool>,

    /// Show the version
    #[arg(long, short = 'V', action = ArgAction::Version, help_heading = "Help", display_order = 901)]
    version: Option<bool>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load files and streams into a table
    Load(Box<Load>),
    /// Write lines into a table as they come
    Stream(Box<Stream>),
    /// Convert a landing table's text to types, into another table
    Promote(Promote),
    /// Find what will fail, hurt or slow down loads
    Doctor(Box<Doctor>),
    /// Generate typed code from annotated SQL
    Codegen(Codegen),
    /// Apply migrations of annotated SQL to a database, each once
    Migrate(Migrate),
    /// Manage howdah's own PostgreSQL servers
    Server(ServerArgs),
    /// Measure every way of writing to PostgreSQL
    #[cfg(feature = "bench")]
    Bench(Bench),
    /// Make test data: the same rows on every machine
    #[cfg(feature = "bench")]
    Dataset(Dataset),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print a manual page
    Man(Man),
}

const SERVER_EXAMPLES: &str = "\
A server listens for this machine only. It keeps its data below $HOWDAH_DATA_DIR, else in
$XDG_DATA_HOME/howdah or ~/.local/share/howdah; root's lie in /var/lib/howdah, whatever HOME is.

Examples:
  howdah server start
  howdah server psql -- -c 'TABLE people LIMIT 5'
  howdah server --name trial start; howdah load people.csv --server trial
  psql \"$(howdah server url)\"";

/// Manage howdah's own PostgreSQL servers.
#[derive(Debug, Args)]
#[command(after_help = SERVER_EXAMPLES, arg_required_else_help = true)]
pub(crate) struct ServerArgs {
    #[command(subcommand)]
    pub(crate) action: ServerAction,

    /// Which server
    #[arg(long, value_name = "NAME", default_value = "default", global = true)]
    pub(crate) name: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServerAction {
    /// Start the server; make it when it is new
    Start,
    /// Stop the server; its data stays
    Stop,
    /// List the servers: name, state, version and port
    List,
    /// Say where the server is and whether it runs (exit code 0) or not (1)
    Status,
    /// Print a connection URI, password included; start the server when needed
    Url,
    /// Run the server's psql
    Psql {
        /// What psql gets, after --
        #[arg(last = true, value_name = "PSQL ARGS")]
        args: Vec<std::ffi::OsString>,
    },
    /// Stop the server and delete all its data
    Delete {
        /// Do not ask
        #[arg(long, short = 'y')]
        yes: bool,
    },
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  howdah completions bash > ~/.local/share/bash-completion/completions/howdah
  howdah completions zsh > ~/.zfunc/_howdah      a directory of your fpath
  howdah completions fish > ~/.config/fish/completions/howdah.fish";

/// Print a script with which a shell completes commands, options, their values and file names.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: ShellArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellArg {
    Bash,
    Zsh,
    Fish,
}

const MAN_EXAMPLES: &str = "\
Examples:
  howdah man load | man -l -                        read it
  howdah man > ~/.local/share/man/man1/howdah.1     keep it";

#[cfg(feature = "bench")]
const COMMANDS: [&str; 11] = [
    "load",
    "stream",
    "promote",
    "doctor",
    "codegen",
    "migrate",
    "server",
    "bench",
    "dataset",
    "completions",
    "man",
];
#[cfg(not(feature = "bench"))]
const COMMANDS: [&str; 9] =
    ["load", "stream", "promote", "doctor", "codegen", "migrate", "server", "completions", "man"];

/// Print a manual page, as man reads it.
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct Man {
    // The commands are listed by the help itself, which so knows which of them were built.
    #[arg(value_name = "COMMAND", hide_possible_values = true, value_parser = COMMANDS,
        help = format!("Of this command: {} [default: of howdah]", COMMANDS.join(", ")))]
    pub(crate) command: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// The help of a command as a person gets it on a terminal of 100 columns.
    fn help(path: &[&str]) -> String {
        let spelled = [&["howdah"], path, &["-?"]].concat();
        Cli::command().term_width(100).try_get_matches_from(spelled).unwrap_err().to_string()
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_a_manual_page() {
        let commands = Cli::command();
        let names: Vec<&str> = commands.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(names, COMMANDS);
    }

    #[test]
    fn help_mentions_every_option_once_with_its_default() {
        for command in ["load", "stream", "doctor"] {
            check_help_of(command);
        }
    }

    fn check_help_of(command: &str) {
        let text = help(&[command]);
        let root = Cli::command();
        let command = root.find_subcommand(command).unwrap();
        let is_shown = |arg: &&clap::Arg| !arg.is_positional() && !arg.is_hide_set();
        for arg in command.get_arguments().filter(is_shown) {
            let flag = format!("--{}", arg.get_long().unwrap());
            // The words before the description.
            let names = |line: &str| line.trim_start().split("  ").next().unwrap_or_default().to_owned();
            let starts = |line: &&str| {
                let names = names(line);
                names.starts_with('-') && names.split([' ', '[', ',']).any(|word| word == flag)
            };
            let lines: Vec<&str> = text.lines().filter(starts).collect();
            assert_eq!(lines.len(), 1, "{flag} in {lines:?}");
            let entry = text.split(lines[0]).nth(1).unwrap().lines().skip(1);
            let entry = entry.take_while(|line| !line.is_empty() && !line.trim_start().starts_with('-'));
            let stated = std::iter::once(lines[0]).chain(entry).any(|line| line.contains("[default:"));
            assert!(stated || !arg.get_action().takes_values(), "{flag} states no default");
        }
    }

    #[test]
    fn h_is_the_host_and_question_mark_the_help() {
        let cli = Cli::try_parse_from(["howdah", "load", "x", "-h", "db", "-p", "1", "-U", "me", "-d", "d"])
            .unwrap();
        let Command::Load(load) = cli.command else { unreachable!() };
        assert_eq!(load.connection.host.as_deref(), Some("db"));
        assert_eq!(load.connection.username.as_deref(), Some("me"));
        for command in [
            &[][..],
            &["load"],
            &["stream"],
            &["promote"],
            &["doctor"],
            &["codegen", "check"],
            &["migrate", "apply"],
            &["server"],
            &["server", "psql"],
            &["man"],
        ] {
            assert!(help(command).contains("Usage: howdah"), "{command:?}");
        }
    }

    #[test]
    fn help_is_plain_in_both_spellings() {
        let long = Cli::command().term_width(100).try_get_matches_from(["howdah", "load", "--help"]);
        assert_eq!(help(&["load"]), long.unwrap_err().to_string());
    }

    #[test]
    fn psqls_arguments_pass_through_untouched() {
        let cli =
            Cli::try_parse_from(["howdah", "server", "psql", "--name", "x", "--", "-c", "--help"]).unwrap();
        let Command::Server(ServerArgs { action: ServerAction::Psql { args }, name }) = cli.command else {
            unreachable!()
        };
        assert_eq!((args, name.as_str()), (vec!["-c".into(), "--help".into()], "x"));
    }

    #[test]
    fn contradictions_are_refused() {
        for line in
            [&["x", "-w", "-W"][..], &["x", "-q", "-v"], &["x", "--jobs", "0"], &["x", "--limit", "-1"], &[]]
        {
            assert!(Cli::try_parse_from([&["howdah", "load"], line].concat()).is_err(), "{line:?}");
        }
    }

    #[test]
    fn the_last_of_analyze_and_no_analyze_wins() {
        let analyze = |line: &[&str]| match Cli::try_parse_from([&["howdah", "load", "x"], line].concat())
            .unwrap()
            .command
        {
            Command::Load(load) => load.writing.analyze,
            _ => unreachable!(),
        };
        assert!(analyze(&["--no-analyze", "--analyze"]));
        assert!(!analyze(&["--analyze", "--no-analyze"]));
        assert!(!analyze(&[]));
    }
}
